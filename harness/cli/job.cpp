#include "cli/job.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "cli/interrupt.h"
#include "cli/paths.h"
#include "core/error.h"
#include "gate/pin.h"
#include "gate/program.h"
#include "measure/gpu.h"

namespace assay {
namespace {

Timing timing_of(const std::string& command) {
  return command == "bench" ? Timing::only : command == "gate" || command == "canary" ? Timing::also : Timing::none;
}

}  // namespace

std::string repro_arguments(const Options& options, const KernelInfo& kernel) {
  std::string arguments;
  if (!judges_own_modules(options)) arguments += " --module " + shell_quoted(kernel.module.string());
  if (options.device != Options{}.device) arguments += " --device " + options.device;
  if (!options.sanitizer.empty()) arguments += " --sanitizer " + options.sanitizer;
  if (options.threads != Options{}.threads) arguments += " --threads " + std::to_string(options.threads);
  if (!options.library_version.empty()) {
    arguments += " --library " + shell_quoted(options.library_version);
    if (!options.coretype.empty()) arguments += " --coretype " + shell_quoted(options.coretype);
  }
  arguments += root_argument(options);
  if (!options.base.empty()) arguments += " --base " + shell_quoted(options.base);
  if (options.approve_findings) arguments += " --approve-findings";
  return arguments;
}

PlanRequest plan_request(const Options& options, std::vector<Lighter> lighter) {
  return {.tier = options.tier,
          .timing = timing_of(options.command),
          .filters = options.command == "repro" ? std::vector<std::string>{options.id} : options.filters,
          .shard = options.shard,
          .device = options.device,
          .lighter = std::move(lighter),
          .reseed = options.reseed};
}

JudgeSettings limited(JudgeSettings settings, const Policy& policy) {
  constexpr double kSanitizedAreSlower = 20;
  settings.deadline_seconds = policy.launch_seconds * (settings.sanitizer ? kSanitizedAreSlower : 1);
  settings.memory_limit_bytes = policy.worker_bytes;
  return settings;
}

RunJob make_job(const Options& options, const Policy& policy, const Plan& plan, const Goldens& goldens) {
  RunJob job;
  job.plan = &plan;
  job.policy = &policy;
  job.today = today();
  job.environment = facts_of(options);
  const TierPolicy& tier = policy.tiers.at(options.tier);
  job.sampling.warm_samples = tier.warm_samples;
  job.sampling.cold_samples = tier.cold_samples;
  job.sampling.seconds_at_most = tier.sampling_seconds;
  job.program = options.program;
  job.repro_arguments = [options](const KernelInfo& kernel) { return repro_arguments(options, kernel); };
  job.apply_goldens = [&goldens, program = options.program, root = root_argument(options)](const KernelInfo& kernel,
                                                                                           Record& record) {
    goldens.apply(kernel, record);
    for (CheckResult& result : record.checks) {
      if (result.check == "truth") result.detail = with_program_named(result.detail, program, root);
    }
  };
  return job;
}

int jobs_on(const std::string& device) {
  constexpr unsigned kCoresAJob = 4, kMostJobs = 4;
  if (device == "cpu") return 1;
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency() / kCoresAJob, 1u, kMostJobs));
}

Record judge_one(const Options& options, const Policy& policy, const Plan& plan, const Goldens& goldens,
                 const Loaded& loaded, const StartJudge& start, const std::function<bool()>& stop_asked) {
  std::vector<Record> records;
  RunJob job = make_job(options, policy, plan, goldens);
  job.libraries = loaded.libraries;
  job.start_judge = start;
  job.append = [&](const Record& record) { records.push_back(record); };
  job.stop_asked = stop_asked;
  if (run_plan(job).stopped) return {};
  if (records.size() != 1) throw Error(std::to_string(records.size()) + " records of one case");
  return std::move(records[0]);
}

Facts facts_of(const Options& options) {
  Facts facts = environment_facts();
  const Facts gpu = gpu_facts();
  if (options.device == "cpu") {
    facts["gpu.model"] = gpu.at("gpu.model");  // platforms of kernels that are not run are named too
  } else {
    facts.insert(gpu.begin(), gpu.end());
  }
  return facts;
}

KernelPlatforms platforms_of(const Options& options, const Loaded& loaded) {
  const Facts facts = facts_of(options);
  KernelPlatforms platforms;
  for (const KernelInfo& kernel : loaded.kernels) {
    platforms[kernel.op + "/" + kernel.name] = {
        facts.at(isa_fact(kernel.target)), options.threads,
        computing_libraries(loaded.libraries, kernel.module.filename().string())};
  }
  return platforms;
}

Run run_here(const Options& options, const Loaded& loaded, const KernelPlatforms& platforms) {
  Run run;
  run.asked.own_modules = judges_own_modules(options);
  run.asked.device = options.device;
  run.asked.every_module = options.modules.empty();
  run.threads = options.threads;
  run.environment = facts_of(options);
  run.libraries = loaded.libraries;
  for (const KernelInfo& kernel : loaded.kernels) {
    run.kernels.push_back({kernel.op, kernel.name, kernel.target, kernel.module.filename().string(), kernel.module_hash,
                           kernel.contract, platforms.at(kernel.op + "/" + kernel.name).key()});
  }
  add_checksums(run);
  return run;
}

bool in_ci() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && *ci != '\0';
}

}  // namespace assay
