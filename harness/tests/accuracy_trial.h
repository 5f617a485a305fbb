// One output under judgement, for tests of check/accuracy.h.
#pragma once

#include <vector>

#include "check/accuracy.h"

namespace assay {

// One output tensor with its oracle, bounds and contract, as a judge holds them.
struct AccuracyTrial {
  TensorSpec spec;
  Reference reference;
  Bounds bounds;
  Contract contract;
  std::vector<std::byte> got;

  AccuracyTrial(DType t, size_t n) {
    spec = {.name = "y", .dtype = t, .shape = {static_cast<int64_t>(n)}, .strides = {1}, .role = Role::output};
    reference = {.tensor = "y", .dtype = t};
    reference.hi.assign(n, 0);
    reference.lo.assign(n, 0);
    reference.e_ref.assign(n, 0);
    bounds.e_alg.assign(n, 0);
    bounds.evidence.assign(n, Evidence::rigorous);
    got.resize(n * size_of(t));
  }
  void set(size_t i, double value) { set_bits(i, encode(spec.dtype, value)); }
  void set_bits(size_t i, uint64_t bits) { store_bits(spec.dtype, got.data(), static_cast<int64_t>(i), bits); }
  ErrorSummary judge() const { return judge_accuracy(spec, got.data(), reference, bounds, contract); }
  Outcome outcome() const {
    const ErrorSummary s = judge();
    return accuracy_check({&s, 1}).outcome;
  }
};

}  // namespace assay
