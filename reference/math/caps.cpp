#include "reference/math/caps.h"

namespace assay {

std::string common_cap_violation(const Contract& contract) {
  const assay_arithmetic& a = contract.arithmetic;
  if (contract.interface_version < 1) return "interface_version is 0; the first version is 1";
  if (contract.owner.empty()) return "owner is empty; name who is asked when the kernel fails";
  if (contract.domain.empty()) return "domain is empty; say what is claimed, such as \"dtype in f32\"";
  if (contract.alignment > kLargestAlignment || (contract.alignment & (contract.alignment - 1)) != 0) {
    return "alignment " + std::to_string(contract.alignment) + " is not a power of two up to " +
           std::to_string(kLargestAlignment);
  }
  if (contract.workspace_limit > kLargestWorkspace) {
    return "workspace_limit " + std::to_string(contract.workspace_limit) + " is above " +
           std::to_string(kLargestWorkspace);
  }
  if (a.exp_kind < ASSAY_EXP_NONE || a.exp_kind > ASSAY_EXP_BASE2) {
    return "exp_kind " + std::to_string(a.exp_kind) + " is not an ASSAY_EXP_* value";
  }
  if (a.accumulator < ASSAY_ACC_NONE || a.accumulator > ASSAY_ACC_TENSOR) {
    return "accumulator " + std::to_string(a.accumulator) + " is not an ASSAY_ACC_* value";
  }
  const bool declares_unit =
      a.tensor_terms != 0 || a.tensor_fraction != 0 || a.tensor_precision != 0 || a.tensor_promotion != 0;
  if (declares_unit && a.accumulator != ASSAY_ACC_TENSOR) return "tensor_* describe ASSAY_ACC_TENSOR alone";
  if (contract.nan_policy != ASSAY_NAN_PROPAGATES && contract.nan_policy != ASSAY_NAN_UNSPECIFIED) {
    return "nan_policy " + std::to_string(contract.nan_policy) + " is not an ASSAY_NAN_* value";
  }
  return "";
}

std::string elementwise_cap_violation(const Contract& contract) {
  const assay_arithmetic& a = contract.arithmetic;
  const auto is_wide = [](int32_t type) { return type == ASSAY_ACC_F32 || type == ASSAY_ACC_F64; };
  if (a.accumulator != ASSAY_ACC_NONE && !is_wide(a.accumulator)) return "arithmetic must be done in f32 or f64";
  if (a.intermediate != ASSAY_ACC_NONE && !is_wide(a.intermediate)) return "the intermediate type must be f32 or f64";
  return "";
}

std::string summation_cap_violation(const Contract& contract) {
  const assay_arithmetic& a = contract.arithmetic;
  if (std::string why = elementwise_cap_violation(contract); !why.empty()) return why;
  if (a.accumulator == ASSAY_ACC_NONE) return "the accumulator must be f32 or f64";
  const int32_t least = a.accumulator == ASSAY_ACC_F32 ? kLeastDepthDivisorF32 : kLeastDepthDivisorF64;
  if (a.depth_divisor != 0 && a.depth_divisor < least) {
    return "depth_divisor " + std::to_string(a.depth_divisor) + " is below " + std::to_string(least) +
           "; sum in more partial sums, or declare 0 (unknown) and be judged weakly";
  }
  if (a.depth_constant < 0 || a.depth_constant > kLargestDepthConstant) {
    return "depth_constant " + std::to_string(a.depth_constant) + " is not within 0 and " +
           std::to_string(kLargestDepthConstant);
  }
  return "";
}

}  // namespace assay
