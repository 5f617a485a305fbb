#include "cli/canary_side.h"

#include <algorithm>
#include <set>
#include <utility>

#include "cli/interrupt.h"
#include "cli/paths.h"
#include "cli/resume.h"
#include "core/error.h"
#include "gate/fingerprints.h"
#include "gate/pin.h"
#include "gate/program.h"
#include "golden/stored_cases.h"

namespace assay {

namespace fs = std::filesystem;

CanarySetting canary_setting(const Options& options) {
  if (options.library.empty())
    throw UsageError("canary: which library? name a recipe of ci/libraries, such as openblas");
  Trees trees = find_trees(options);
  find_recipe(trees.root, options.library);
  if (options.candidate.empty())
    throw UsageError("--candidate: is missing; give a version of 'assay canary " + options.library + " --list'");
  Policy policy = read_policy(trees.policy());
  if (!policy.canary || !policy.latency) {
    throw UsageError((policy.folder / "policy.toml").string() + ": canary: is missing; give the table [canary]");
  }
  policy.known_issues.clear();
  OpRegistry ops = make_op_registry();
  std::vector<BenchCase> bench = read_bench(trees.policy(), ops);
  return {options, std::move(trees), std::move(policy), std::move(ops), std::move(bench)};
}

CanarySide::CanarySide(const CanarySetting& setting, std::string name, LibrarySet set,
                       const std::vector<fs::path>& modules, const LibraryRecipe& recipe)
    : setting_(&setting), name_(std::move(name)), set_(std::move(set)) {
  try {
    loaded_ = load_modules(judge_process(settings()), modules, setting.ops);
  } catch (const UsageError& e) {
    broken_ = name_ + ": cannot be loaded: " + e.what();
    return;
  }
  loaded_.start_judge = judge_process(settings());  // this one ends with the thread that loads a side
  run_.libraries = loaded_.libraries;
  if (!loaded_.broken.empty()) {
    const size_t more = loaded_.broken.size() - 1;
    broken_ = name_ + ": cannot be loaded: " + loaded_.broken.front() +
              (more == 0 ? "" : ", and " + std::to_string(more) + " more modules");
    return;
  }
  if (const std::string why = violation(set_, loaded_.libraries); !why.empty()) {
    broken_ = name_ + ": " + why;
    return;
  }
  std::erase_if(loaded_.kernels, [&](const KernelInfo& kernel) { return !recipe.concerns(kernel.op, kernel.name); });
  if (loaded_.kernels.empty()) {
    throw UsageError("ci/libraries/" + recipe.name +
                     ".toml: kernels: none that its modules have is meant; 'assay list' " + "names them as op/kernel");
  }
  const Options& options = setting.options;
  platforms_ = platforms_of(options, loaded_);
  // Nothing was approved of a library that was told what to choose.
  for (auto& [unused, platform] : platforms_) {
    for (const auto& [name, value] : set_.environment) platform.isa += " " + name + "=" + value;
  }
  goldens_ = std::make_unique<Goldens>(setting.trees.golden(), setting.ops, platforms_);
  PlanRequest request = plan_request(options, setting.policy.lighter);
  if (options.no_latency) request.timing = Timing::none;
  request.stored = without_why(read_stored_cases(setting.trees.golden() / "cases", setting.ops));
  plan_ = make_plan(setting.ops, loaded_.kernels, setting.bench, request);
  goldens_->require_truth(setting.trees.ops_with_truth(plan_));
  run_ = run_here(options, loaded_, platforms_);
  run_.asked.command = options.command;
  run_.asked.tier = name_of(options.tier);
  for (const std::string& one : options.filters) run_.asked.filter += (run_.asked.filter.empty() ? "" : " ") + one;
  run_.asked.argv = lasting_arguments(options.argv);
  run_.asked.every_module = false;
  run_.commit = commit_of(setting.trees.root);
  run_.started = utc_now();
  run_.planned = static_cast<int64_t>(plan_.cases.size());
  run_.left_out = plan_.left_out;
  run_.judged_by = setting.trees.judged_by();
}

JudgeSettings CanarySide::settings() const {
  JudgeSettings settings = limited(judge_settings(setting_->options), setting_->policy);
  settings.library_set = set_;
  return settings;
}

void CanarySide::open(const fs::path& folder, bool timed) {
  folder_ = folder;
  for (PlannedCase& planned : plan_.cases) planned.timed = planned.timed && timed;
  records_.emplace(open_run_folder(setting_->options, folder));
  if (!is_there(folder / "run.json") && !records_->recorded().empty()) {
    throw UsageError((folder / "run.json").string() +
                     ": is missing, so that nobody knows under what its records were judged; start a new canary");
  }
  if (is_there(folder / "run.json")) {
    const Run before = read_run(folder);
    require_same(before, run_);
    run_.started = before.started;
    if (run_.commit != before.commit) run_.commit.clear();      // its records are of two trees with the same modules
    run_.libraries = merged(before.libraries, run_.libraries);  // whose bytes were judged first
  }
  write();
}

RunJob CanarySide::job() {
  RunJob job = make_job(setting_->options, setting_->policy, plan_, *goldens_);
  job.jobs = setting_->options.jobs.value_or(jobs_on(setting_->options.device));
  job.recorded = records_->recorded();
  job.libraries = loaded_.libraries;
  job.sampling.samples_folder = fs::absolute(records_->samples());
  job.start_judge = loaded_.start_judge;
  job.append = [this](const Record& record) { records_->append(record); };
  job.stop_asked = [] { return interrupt_signal() != 0; };
  job.repro_arguments = [this](const KernelInfo& kernel) {
    std::string arguments = repro_arguments(setting_->options, kernel);
    const std::string& words = set_.words.empty() ? set_.version : set_.words;
    if (!words.empty()) arguments += " --library " + shell_quoted(set_.library + "=" + words);
    if (!setting_->options.coretype.empty()) arguments += " --coretype " + shell_quoted(setting_->options.coretype);
    return arguments;
  };
  return job;
}

void CanarySide::end(const RunEnding& ending) {
  see(ending.libraries);
  write();
}

void CanarySide::see(const std::vector<LoadedLibrary>& loaded) { run_.libraries = merged(run_.libraries, loaded); }

bool CanarySide::take_fingerprints() {
  std::vector<Fingerprint> all = read_fingerprints(folder_);
  std::set<std::string> taken;
  for (const Fingerprint& fingerprint : all) taken.insert(fingerprint.id());
  FingerprintJob job;
  job.kernels = planned_kernels(plan_);
  job.ops = &setting_->ops;
  job.start_judge = loaded_.start_judge;
  job.stop_asked = [] { return interrupt_signal() != 0; };
  job.seen = [&](const std::vector<LoadedLibrary>& loaded) { see(loaded); };
  job.wanted = [&](const KernelInfo& kernel, const ProbeSet& set) {
    return !taken.contains(kernel.op + "/" + kernel.name + ":" + set.variant);
  };
  job.each = [&](Fingerprint fingerprint) {
    all.push_back(std::move(fingerprint));
    write_fingerprints(folder_, all);
  };
  return assay::take_fingerprints(job);
}

void CanarySide::write() {
  run_.recorded = static_cast<int64_t>(records_->recorded().size());
  add_checksums(run_);
  records_->write_run(run_);
}

}  // namespace assay
