// What is tried of matmul at each tier.
#pragma once

#include <vector>

#include "core/op.h"

namespace assay::matmul {

std::vector<Case> cases(const Op& op, Tier tier);

}  // namespace assay::matmul
