// The cases of the op softmax and the inputs its fills stand for. To add a fill: one row of kFills, and its word in a
// list of cases.cpp.
#pragma once

#include <vector>

#include "core/op.h"

namespace assay::softmax {

struct Fill {
  std::string_view name;
  const char* x_generator;
  double x_scale, x_shift;
  const char* mask_generator;  // when mask = additive
  double mask_scale;
  FillSpec x() const { return {x_generator, x_scale, x_shift}; }
  FillSpec mask() const { return {mask_generator, mask_scale, 0}; }
};

inline constexpr Fill kFills[] = {
    {"normal", "normal", 2, 0, "normal", 1},
    {"uniform", "uniform", 1, 0, "uniform", 1},
    {"large", "normal", 3, 1000, "normal", 1},            // without max subtraction exp overflows, in f64 too
    {"negative", "negative", 3, -1000, "negative", 1},    // a maximum that starts from 0 is wrong
    {"ascending", "ascending", 0.125, -5, "normal", 1},   // every column raises the maximum
    {"descending", "ascending", -0.125, 5, "normal", 1},  // none does
    {"peaked", "onehot", 30, 0, "zeros", 1},
    {"constant", "constant", 4, 0, "zeros", 1},
    {"scaled", "scaled", 16, 0, "normal", 1},
    {"integers", "integers", 1, 0, "integers", 1},
    {"signed_zeros", "signed_zeros", 1, 0, "signed_zeros", 1},
    {"subnormal", "subnormal", 1, 0, "subnormal", 1},
    {"huge", "huge", 1, 0, "zeros", 1},
    {"special", "special", 1, 0, "mask_random", 1},
    {"nan_one", "nan_one", 1, 0, "zeros", 1},
    {"masked", "normal", 2, 0, "mask_random", 1},
    {"causal", "normal", 2, 0, "mask_causal", 1},
    {"full_rows", "normal", 2, 0, "mask_full_rows", 1},
    {"finite_mask", "normal", 2, 0, "onehot", -10000},  // a large negative number in place of -inf
};

std::vector<Case> cases(const Op& op, Tier tier);
std::vector<ProbeSet> probes(const Op& op);

}  // namespace assay::softmax
