// contract: promises what the contract of its plans takes back.
#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  return nullptr;
}
constexpr assay_contract kPlan = [] {
  assay_contract contract = bad::kContract;
  contract.promises = ASSAY_SAME_RESTART;
  return contract;
}();
const assay_contract* plan_contract(const assay::Call&) { return &kPlan; }
}  // namespace
ASSAY_KERNEL(reduce, bad, .launch = launch, .plan_contract = plan_contract, .contract = bad::kContract)
