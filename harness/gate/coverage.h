// What the drawn cases of one kernel have reached: keys of (dispatch decision, two boundary classes of the case). Two
// together, because a fault seldom needs more than two of a case's properties to show (Kuhn, Wallace and Gallo,
// Software fault interactions and implications for software testing, 2004).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/op.h"
#include "record/record.h"

namespace assay {

// On which side of which boundary each field of a case lies, as words. For example:
// - "m:edge-1": a length beside a power of two; 0, 1, edge-1, edge, edge+1, else tile (of 16), prime, odd or even;
// - "m:~4096": the same length's size, rounded up to a power of sixteen;
// - "long:k": k is at least 32 times as long as every other length;
// - "empty": one of the lengths is 0;
// - "pad:odd": an integer attribute; 0, lowest, highest, negative, tile (of 16), odd or even;
// - "alpha:other": a real; 0, 1, negative or other;
// - "fill:huge": a word is its own class.
// Seeds and supports have none.
std::vector<std::string> boundary_classes(const std::vector<FieldSpec>& fields, const Case& c);

// What describe() said of the path that the kernel took, and how large its workspace was by factors of sixteen. Without
// reasons, versions and candidates, which say more than the path. "refused" for a case it does not take.
std::string decision_of(const Record& record);

class Coverage {
 public:
  // Pairs of these classes that no case so far has, whatever the decision.
  int64_t unseen(const std::vector<std::string>& classes);
  // The classes of a case that is judged anyway: its pairs are seen, and count for no key.
  void add_listed(const std::vector<std::string>& classes);
  // The keys that are new.
  int64_t add(const std::string& decision, const std::vector<std::string>& classes);

  int64_t keys() const { return static_cast<int64_t>(keys_.size()); }
  int64_t keys_beyond_listed() const { return beyond_; }  // of pairs that no listed case has

 private:
  using Pairs = std::unordered_set<uint64_t>;
  std::vector<uint64_t> pairs_of(const std::vector<std::string>& classes);

  std::map<std::string, uint64_t> classes_, decisions_;  // by number, in the order they came
  Pairs seen_, listed_, keys_;
  int64_t beyond_ = 0;
};

}  // namespace assay
