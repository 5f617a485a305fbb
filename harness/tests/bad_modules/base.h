// A right answer to the op reduce (kind=max, f32), for the bad modules beside this file to deviate from: each does one
// thing wrong and says in its first line which verdict it has earned. To add one: a file here, a line in
// CMakeLists.txt, a row in ../judge_test.cpp.
#pragma once

#include <assay/kernel.h>

#include <cmath>
#include <limits>

namespace bad {

// y[o, i] = max over j of x[o, j, i]; NaN where one is NaN.
inline void reduce(const assay::Call& c) {
  const auto x = c.in<float>("x");
  const auto y = c.out<float>("y");
  for (int64_t o = 0; o < x.dim(0); ++o) {
    for (int64_t i = 0; i < x.dim(2); ++i) {
      float best = -std::numeric_limits<float>::infinity();
      for (int64_t j = 0; j < x.dim(1); ++j) {
        const float value = x.data()[o * x.stride(0) + j * x.stride(1) + i * x.stride(2)];
        if (!(value <= best)) best = value;
        if (std::isnan(best)) break;
      }
      y.data()[o * y.stride(0) + i * y.stride(1)] = best;
    }
  }
}

// The same answer in other bytes, where it begins with a zero: what the modules do whose answers are not reproducible.
inline void negate_first_zero(const assay::Call& c) {
  const auto y = c.out<float>("y");
  if (y.size() > 0 && y.data()[0] == 0) y.data()[0] = -y.data()[0];
}

// Address one past the last element of the packed output.
inline float* end_of(const assay::Tensor<float>& y) { return y.data() + y.size(); }

inline constexpr assay_contract kContract{
    .interface_version = 1,
    .owner = "bad-modules@assay.example",
    .domain = "kind in max; dtype in f32",
    .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART | ASSAY_SAME_THREADS | ASSAY_SAME_ALIGNMENT,
    .arithmetic = {.accumulator = ASSAY_ACC_F32, .depth_divisor = 32, .depth_constant = 8}};

constexpr assay_contract promising_also(uint32_t promises) {
  assay_contract contract = kContract;
  contract.promises |= promises;
  return contract;
}

inline constexpr assay_contract kContractWithWorkspace = [] {
  assay_contract contract = kContract;
  contract.workspace_limit = 4096;
  return contract;
}();

}  // namespace bad

// The whole kernel but for what `launch` does: the same name in every module, so that only the module differs.
#define BAD_KERNEL(launch_) ASSAY_KERNEL(reduce, bad, .launch = (launch_), .contract = bad::kContract)
#define BAD_KERNEL_WITH_WORKSPACE(workspace_, launch_) \
  ASSAY_KERNEL(reduce, bad, .workspace = (workspace_), .launch = (launch_), .contract = bad::kContractWithWorkspace)
