// A right answer to the op reduce (kind=sum, f32), one term after the other, for modules whose fingerprints a test
// takes
// (../cli_fingerprint_test.cpp).
#pragma once

#include "base.h"

namespace bad {

inline constexpr assay_contract kSumContract = [] {
  assay_contract contract = kContract;
  contract.domain = "kind in sum; dtype in f32";
  contract.arithmetic = {.accumulator = ASSAY_ACC_F32};
  return contract;
}();

// From the first term to the last, or from the last to the first.
inline void sum(const assay::Call& c, bool last_first = false) {
  const auto x = c.in<float>("x");
  const auto y = c.out<float>("y");
  for (int64_t o = 0; o < x.dim(0); ++o) {
    for (int64_t i = 0; i < x.dim(2); ++i) {
      float total = 0;
      for (int64_t j = 0; j < x.dim(1); ++j) {
        const int64_t at = last_first ? x.dim(1) - 1 - j : j;
        total += x.data()[o * x.stride(0) + at * x.stride(1) + i * x.stride(2)];
      }
      y.data()[o * y.stride(0) + i * y.stride(1)] = total;
    }
  }
}

}  // namespace bad

#define BAD_SUM(launch_) ASSAY_KERNEL(reduce, bad, .launch = (launch_), .contract = bad::kSumContract)
