// contract: declares a summation tree deeper than the op allows, which would buy it a bound that nothing breaks.
#include "base.h"
namespace {
constexpr assay_contract greedy() {
  assay_contract contract = bad::kContract;
  contract.arithmetic.depth_divisor = 1;
  return contract;
}
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  return nullptr;
}
}  // namespace
ASSAY_KERNEL(reduce, bad, .launch = launch, .contract = greedy())
