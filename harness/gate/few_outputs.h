// Cases of few outputs near some that fail, drawn: for shrink(), where one field at a time leaves many.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/draw.h"
#include "core/op.h"
#include "gate/case_draw.h"

namespace assay {

// Elements that a case's tensors span, with their padding, which takes as much memory.
int64_t elements_of(const Op& op, const Case& c);
// Elements that a case's outputs have, what is updated in place included.
int64_t output_elements(const Op& op, const Case& c);
// The product of a case's lengths: of sums, the terms of all.
double work_of(const Op& op, const Case& c);
// Few enough of them to go through one by one.
inline constexpr int64_t kFewOutputs = 64;

inline constexpr uint64_t kShrinkSeed = 1;  // of the draws: the same for the same case and answers

// Lengths are drawn anew or left as they are, those that are summed over also longer, as far as a case takes no more
// work and memory than the first, or little, and at times one that makes it take nearly as much; another seed, at times
// another fill and other attributes: a path may be for transposed or padded operands too.
class FewOutputs {
 public:
  FewOutputs(const Op& op, std::vector<Case> failing);

  // Of some the one that shows most outputs, with as many seeds of at most `most_seeds` as take some tenths of a second
  // on a CPU, for a fault that is in few of them. Nothing where there seems to be none.
  struct Drawn {
    Case c;
    int64_t seeds;
  };
  std::optional<Drawn> next(int64_t most_seeds);

 private:
  std::optional<Case> one();

  const Op& op_;
  std::vector<Case> failing_;
  CaseDraw attribute_values_;
  std::vector<FieldSpec> lengths_, attributes_;
  FieldSpec fill_;
  int64_t most_elements_;
  double most_work_;
  Draw draw_{kShrinkSeed};
};

}  // namespace assay
