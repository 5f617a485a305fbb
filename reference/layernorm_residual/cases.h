// The cases of the op layernorm_residual and the inputs its fills stand for. To add a fill: one row of kFills, and its
// word in a list of cases.cpp.
#pragma once

#include <vector>

#include "core/op.h"

namespace assay::layernorm {

struct Fill {
  std::string_view name;
  FillSpec x, residual;
};

inline const std::vector<Fill>& fills() {
  static const std::vector<Fill> kFills{
      {"normal", {"normal", 2}, {"normal", 1, 0.5}},
      {"uniform", {"uniform"}, {"uniform"}},
      {"shifted", {"shifted"}, {"normal", 0.25}},         // mean 1000 deviations away: a one-pass variance fails
      {"tiny", {"normal", 0.002}, {"normal", 0.002}},     // variance near epsilon
      {"constant", {"constant", 3}, {"zeros"}},           // variance 0
      {"level", {"ones", 1000}, {"onehot", 1}},           // one element differs, 1000 away from zero
      {"cancelling", {"cancelling", 8}, {"cancelling"}},  // mean 0
      {"ascending", {"ascending", 0.25}, {"zeros"}},
      {"negative", {"negative", 4}, {"normal"}},
      {"scaled", {"scaled"}, {"scaled"}},
      {"integers", {"integers"}, {"integers"}},
      {"onehot", {"onehot"}, {"zeros"}},
      {"zeros", {"zeros"}, {"signed_zeros"}},
      {"subnormal", {"subnormal"}, {"subnormal"}},
      {"huge", {"huge"}, {"zeros"}},
      {"special", {"special"}, {"normal"}},
      {"nan_one", {"normal"}, {"nan_one"}},
  };
  return kFills;
}

std::vector<Case> cases(const Op& op, Tier tier);
std::vector<ProbeSet> probes(const Op& op);

}  // namespace assay::layernorm
