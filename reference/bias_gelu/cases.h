// The cases of the op bias_gelu and the inputs its fills stand for. To add a fill: one row of kFills, and its word in a
// list of cases.cpp.
#pragma once

#include <vector>

#include "core/op.h"

namespace assay::gelu {

struct Fill {
  std::string_view name;
  FillSpec x, bias;
};

inline const std::vector<Fill>& fills() {
  static const std::vector<Fill> kFills{
      {"normal", {"normal", 2}, {"normal"}},
      {"uniform", {"uniform"}, {"uniform"}},
      {"negative", {"negative", 3}, {"negative"}},         // the left tail, where 1 + erf cancels
      {"tails", {"normal", 8}, {"normal"}},                // both saturated sides
      {"ascending", {"ascending", 0.125, -8}, {"zeros"}},  // through zero
      {"opposite", {"ones", 64}, {"normal", 2, -64}},      // x + bias cancels, and bf16 still tells them apart
      {"scaled", {"scaled", 0x1p-8}, {"normal", 0x1p-12}},
      {"integers", {"integers"}, {"integers"}},
      {"bias_onehot", {"zeros"}, {"onehot", 2}},
      {"index", {"index", 0.0625}, {"zeros"}},
      {"zeros", {"signed_zeros"}, {"signed_zeros"}},
      {"subnormal", {"subnormal"}, {"subnormal"}},
      {"huge", {"huge"}, {"huge"}},
      {"special", {"special"}, {"normal"}},
      {"nan_one", {"normal"}, {"nan_one"}},
      {"every", {"every"}, {"zeros", -1}},  // a function of one number: x + -0 is x, for -0 too
  };
  return kFills;
}

std::vector<Case> cases(const Op& op, Tier tier);
std::vector<ProbeSet> probes(const Op& op);

}  // namespace assay::gelu
