// pass, and said: what a plan declares of its sums is less than what the kernel's contract tells.
#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  return nullptr;
}
constexpr assay_contract kPlan = [] {
  assay_contract contract = bad::kContract;
  contract.arithmetic.depth_divisor = 0;
  contract.arithmetic.flushes_subnormals = 1;
  return contract;
}();
const assay_contract* plan_contract(const assay::Call&) { return &kPlan; }
}  // namespace
ASSAY_KERNEL(reduce, bad, .launch = launch, .plan_contract = plan_contract, .contract = bad::kContract)
