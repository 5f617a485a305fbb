// What check, bench, gate and repro have in common: limits from the policy, goldens, known issues, repro lines.
#pragma once

#include "cli/options.h"
#include "cli/trees.h"
#include "gate/coordinator.h"

namespace assay {

JudgeSettings limited(JudgeSettings settings, const Policy& policy);

// All but what differs: recorded, start_judge, append, stop_asked, observer. Keeps references to its arguments.
RunJob make_job(const Options& options, const Trees& trees, const Policy& policy, const Plan& plan,
                const OpRegistry& ops);

}  // namespace assay
