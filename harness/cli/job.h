// What check, bench, gate and repro have in common: limits from the policy, goldens, known issues, repro lines.
#pragma once

#include "cli/loaded.h"
#include "cli/options.h"
#include "gate/coordinator.h"
#include "gate/goldens.h"

namespace assay {

JudgeSettings limited(JudgeSettings settings, const Policy& policy);

// All but what differs: recorded, start_judge, append, stop_asked, observer. Keeps references to its arguments.
RunJob make_job(const Options& options, const Policy& policy, const Plan& plan, const Goldens& goldens);

KernelPlatforms platforms_of(const Options& options, const Loaded& loaded);

}  // namespace assay
