// What is tried of blas_gemm at each tier.
#pragma once

#include <vector>

#include "core/op.h"

namespace assay::blas_gemm {

std::vector<Case> cases(const Op& op, Tier tier);

}  // namespace assay::blas_gemm
