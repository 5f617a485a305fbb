// Which elements of a case's inputs keep their value while every other is zero: the field `support`, which shows what a
// failure needs. Its text:
//
//   support = "all" | "none" | part { "+" part }
//   part    = tensor [ "." range { "." range } ]     without a range: the whole tensor
//   range   = index [ "-" index ]                    logical row-major indices, both ends included
//
// a.0.5-7+b: elements 0, 5, 6 and 7 of a, all of b, nothing of any other tensor.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct TensorSpec;

struct IndexRange {
  int64_t first = 0;
  int64_t last = std::numeric_limits<int64_t>::max();  // included; the default is a whole tensor, however long

  bool operator==(const IndexRange&) const = default;
};
// In ascending order, with an index between neighbours that belongs to neither.
using IndexRanges = std::vector<IndexRange>;

struct Support {
  bool all = true;
  std::map<std::string, IndexRanges, std::less<>> kept{};  // by tensor; of no meaning where `all`

  // Throws UsageError that says what is wrong with the text.
  static Support parse(std::string_view text);
  // Canonical: tensors by name, ranges in order and as long as they get. Reads back.
  std::string text() const;
  // What it keeps of a tensor.
  IndexRanges kept_of(std::string_view tensor) const;
};

// Sorted, with those that meet made one.
IndexRanges merged(IndexRanges ranges);

// Throws UsageError where `support` names what is no input of these tensors that is read, or an element beyond one.
void require_within(const Support& support, const std::vector<TensorSpec>& tensors);

}  // namespace assay
