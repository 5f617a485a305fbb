// What is tried of blas_gemv at each tier.
#pragma once

#include <vector>

#include "core/op.h"

namespace assay::blas_gemv {

std::vector<Case> cases(const Op& op, Tier tier);

}  // namespace assay::blas_gemv
