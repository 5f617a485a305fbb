// What check, bench, gate and repro have in common: what is planned, limits from the policy, goldens, known issues,
// repro lines.
#pragma once

#include "cli/loaded.h"
#include "cli/options.h"
#include "gate/coordinator.h"
#include "gate/goldens.h"
#include "gate/plan.h"
#include "measure/environment.h"
#include "record/run_json.h"

namespace assay {

// What a command asks of the plan. `lighter` is the policy's, where it counts: what has a whole id is judged all the
// same.
PlanRequest plan_request(const Options& options, std::vector<Lighter> lighter = {});

// Arguments without which the same id would mean another kernel or another judgement: what follows it in a repro line.
std::string repro_arguments(const Options& options, const KernelInfo& kernel);

JudgeSettings limited(JudgeSettings settings, const Policy& policy);

// All but what differs: recorded, start_judge, append, stop_asked, observer. Keeps references to its arguments.
RunJob make_job(const Options& options, const Policy& policy, const Plan& plan, const Goldens& goldens);

// Cases to judge at once unless somebody says: on a CPU, whose cores kernels share, one.
int jobs_on(const std::string& device);

// The record of the one case that `plan` has; of no meaning where `stop_asked` says that it was cut short.
Record judge_one(const Options& options, const Policy& policy, const Plan& plan, const Goldens& goldens,
                 const Loaded& loaded, const StartJudge& start, const std::function<bool()>& stop_asked);

// Of this machine, and of the GPU where that is the run's device.
Facts facts_of(const Options& options);

KernelPlatforms platforms_of(const Options& options, const Loaded& loaded);

// A run that begins here: what was asked of devices and modules, the machine, the libraries that the modules brought,
// and their kernels. The rest is for the command to fill in.
Run run_here(const Options& options, const Loaded& loaded, const KernelPlatforms& platforms);

// Whether continuous integration runs this: what a person has to approve is then not written.
bool in_ci();

}  // namespace assay
