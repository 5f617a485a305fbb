// What is tried of reduce at each tier.
#pragma once

#include <vector>

#include "core/op.h"

namespace assay::reduce {

std::vector<Case> cases(const Op& op, Tier tier);
std::vector<ProbeSet> probes(const Op& op);

}  // namespace assay::reduce
