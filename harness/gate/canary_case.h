// One case of a canary: its record under the candidate beside that under the pin.
#pragma once

#include "gate/canary_verdict.h"

namespace assay {

struct JudgedCase {
  CanaryCase seen;
  std::vector<CanaryReason> reasons;
};

// Either record may be null: there is none. `level` is the chance of a false `statistics` that one case may take.
JudgedCase judge_canary_case(const std::string& kernel_id, const Record* pin, const Record* candidate, double level);

// How the kernel says that it planned otherwise under the candidate; empty: it does not. What it says of the library's
// version is what a canary moves.
std::string plan_changes(const Record& pin, const Record& candidate);

// The root mean square of a record's errors in bounds, over its outputs; NaN where no element has a bound.
double rms_error(const Record& record);

}  // namespace assay
