// nondeterministic: sums end with a whole block, so that further terms, zeros too, move the ends of all blocks.
#include "sum_base.h"

namespace {
constexpr int64_t kBlock = 8;

const char* launch(const assay::Call& c) {
  const auto x = c.in<float>("x");
  const auto y = c.out<float>("y");
  for (int64_t o = 0; o < x.dim(0); ++o) {
    for (int64_t i = 0; i < x.dim(2); ++i) {
      float total = 0, block = 0;
      for (int64_t j = 0; j < x.dim(1); ++j) {
        block += x.data()[o * x.stride(0) + j * x.stride(1) + i * x.stride(2)];
        if ((x.dim(1) - 1 - j) % kBlock != 0) continue;
        total += block;
        block = 0;
      }
      y.data()[o * y.stride(0) + i * y.stride(1)] = total;
    }
  }
  return nullptr;
}

constexpr assay_contract kContract = [] {
  assay_contract contract = bad::kSumContract;
  contract.promises |= ASSAY_SAME_ZEROS;
  return contract;
}();
}  // namespace
ASSAY_KERNEL(reduce, bad, .launch = launch, .contract = kContract)
