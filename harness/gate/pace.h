// How long a case will take, by those that were asked before.
#pragma once

#include <algorithm>

#include "core/op.h"
#include "gate/few_outputs.h"

namespace assay {

// A case is as large as the elements that its tensors span or as the product of its lengths, whichever are more, and
// takes as long for each as the slowest large case so far; what it costs whatever its size, which the quickest case so
// far bounds, is not counted.
class Pace {
 public:
  explicit Pace(const Op& op) : op_(op) {}

  void note(const Case& c, double seconds) {
    constexpr double kLarge = 1 << 16;  // below, a case costs what it costs whatever its size
    if (const double size = size_of(c); size >= kLarge) each_ = std::max(each_, (seconds - least_) / size);
    least_ = least_ == 0 ? seconds : std::min(least_, seconds);
  }
  double expected(const Case& c) const { return each_ * size_of(c); }  // seconds; 0 before there was a large one

 private:
  double size_of(const Case& c) const {
    return c.real("seeds") * std::max(static_cast<double>(elements_of(op_, c)), work_of(op_, c));
  }

  const Op& op_;
  double each_ = 0, least_ = 0;  // seconds
};

}  // namespace assay
