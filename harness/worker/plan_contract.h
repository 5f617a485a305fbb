// What the contract of a plan may say beside that of its kernel.
#pragma once

#include <string>
#include <string_view>

#include "core/op.h"

namespace assay {

// How every reason begins.
inline constexpr std::string_view kPlansContract = "this plan's contract ";

// Why a plan of a kernel may not have `plan` as its contract, or empty: it takes back what `kernel` says, or the op
// does not allow it. Arithmetic is the plan's own.
std::string plan_contract_violation(const Op& op, const Contract& kernel, const Contract& plan);

// In what the error of a plan's arithmetic is not known to be as small as by the kernel's contract, or empty. It is
// allowed (fp8 is summed otherwise than f16), but what readers and the base's contracts know is the kernel's.
std::string looser_arithmetic(const Contract& kernel, const Contract& plan);

// What `plan` takes back, or empty.
std::string taken_back(const Contract& kernel, const Contract& plan);

}  // namespace assay
