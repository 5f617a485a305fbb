// Launches that take more than what was approved for this platform: registers, local and shared memory, workspace.
#pragma once

#include <vector>

#include "golden/observed.h"
#include "record/run_json.h"

namespace assay {

// One finding a kernel and quantity: its steepest growth, in which case, and how many cases grew. A case nobody
// approved, and one approved before these facts were kept, says nothing.
std::vector<Finding> grown(const std::vector<Record>& records, const Approvals& approvals);

}  // namespace assay
