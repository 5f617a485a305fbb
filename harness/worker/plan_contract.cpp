#include "worker/plan_contract.h"

#include "core/contract_change.h"

namespace assay {

std::string plan_contract_violation(const Op& op, const Contract& kernel, const Contract& plan) {
  const std::string begin(kPlansContract);
  if (const std::string what = taken_back(kernel, plan); !what.empty()) {
    return begin + "takes back what the kernel's says: " + what;
  }
  const std::string why = op.cap_violation(plan);
  return why.empty() ? "" : begin + "is not allowed by the op: " + why;
}

std::string looser_arithmetic(const Contract& kernel, const Contract& plan) {
  Contract with_arithmetic = kernel;
  with_arithmetic.arithmetic = plan.arithmetic;
  std::string looser;
  for (const std::string& line : weakened(kernel, with_arithmetic)) looser += (looser.empty() ? "" : "; ") + line;
  return looser.empty() ? "" : std::string(kPlansContract) + "may allow more error than the kernel's: " + looser;
}

std::string taken_back(const Contract& kernel, const Contract& plan) {
  std::string promises;
  for (const std::string& name : promise_names(kernel.promises & ~plan.promises)) {
    promises += (promises.empty() ? "" : ", ") + name;
  }
  if (!promises.empty()) return promises;
  if (kernel.nan_policy == ASSAY_NAN_PROPAGATES && plan.nan_policy != ASSAY_NAN_PROPAGATES) {
    return "that NaN propagates";
  }
  if (plan.workspace_limit > kernel.workspace_limit) {
    return "the workspace limit of " + std::to_string(kernel.workspace_limit) + " bytes";
  }
  if (plan.may_allocate && !kernel.may_allocate) return "that launch does not allocate";
  if (plan.may_fall_back && !kernel.may_fall_back) return "that it does not fall back";
  return {};
}

}  // namespace assay
