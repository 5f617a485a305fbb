// check, bench and gate: plan, run, reconcile, report. The three differ in what is planned and in the gate's findings;
// check --fuzz plans as it goes.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "cli/canary_sets.h"
#include "cli/commands.h"
#include "cli/conclusion.h"
#include "cli/fuzz_run.h"
#include "cli/interrupt.h"
#include "cli/job.h"
#include "cli/latency.h"
#include "cli/loaded.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/resume.h"
#include "cli/trees.h"
#include "core/clock.h"
#include "core/error.h"
#include "gate/findings.h"
#include "gate/fingerprints.h"
#include "gate/found.h"
#include "gate/growth.h"
#include "gate/pin.h"
#include "gate/program.h"
#include "gate/stale.h"
#include "golden/contracts.h"
#include "golden/update.h"
#include "measure/gpu.h"
#include "record/run_folder.h"
#include "record/verdict.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// runs/latest points to the run that began last with the default --out; replaced whole, so that it always points.
void point_latest_to(const fs::path& run) {
  const fs::path link = run.parent_path() / "latest", fresh = run.string() + ".latest";
  std::error_code error;
  fs::create_symlink(run.filename(), fresh, error);
  if (!error) fs::rename(fresh, link, error);
  if (!error) return;
  fmt::print(stderr, "assay: {} is not set to this run: {}\n", link.string(), error.message());
  fs::remove(fresh, error);
}

std::string tier_word(const Options& options) {
  return options.fuzz.empty() ? std::string(name_of(options.tier)) : kFuzzTier;
}

bool is_whole_tree(const Options& options) {
  return options.filters.empty() && options.shard.count == 1 && options.modules.empty() && options.fuzz.empty();
}

// What a run is made of, all of it fixed before the first case, but for the plan of drawn cases.
struct Setting {
  Options options;
  Trees trees;
  Policy policy;
  OpRegistry ops;
  std::vector<BenchCase> bench;
  Loaded loaded;
  Plan plan;
  LibrarySet library_set;  // of --library
};

Setting set_up(const Options& options) {
  Trees trees = find_trees(options);
  Policy policy = read_policy(trees.policy());
  OpRegistry ops = make_op_registry();
  std::vector<BenchCase> bench = read_bench(trees.policy(), ops);
  const JudgeSettings settings = limited(judge_settings(options), policy);
  const StartJudge start = judge_process(settings);
  Loaded loaded = load_modules(start, module_files(options), ops);
  PlanRequest request = plan_request(options, policy.lighter);
  request.stored = without_why(read_stored_cases(trees.golden() / "cases", ops));
  Plan plan = among(loaded, [&] {
    return options.fuzz.empty() ? make_plan(ops, loaded.kernels, bench, request)
                                : plan_without_cases(ops, loaded.kernels, request);
  });
  return {options,          std::move(trees),  std::move(policy), std::move(ops),
          std::move(bench), std::move(loaded), std::move(plan),   settings.library_set};
}

Run describe_run(const Setting& setting, const KernelPlatforms& platforms) {
  const Options& options = setting.options;
  Run run = run_here(options, setting.loaded, platforms);
  for (const std::string& one : options.filters) run.asked.filter += (run.asked.filter.empty() ? "" : " ") + one;
  run.asked.command = options.command;
  run.asked.tier = tier_word(options);
  run.asked.shard = options.shard_text;
  run.asked.argv = lasting_arguments(options.argv);
  run.commit = commit_of(setting.trees.root);
  run.started = utc_now();
  run.planned = static_cast<int64_t>(setting.plan.cases.size());
  run.left_out = setting.plan.left_out;
  run.judged_by = setting.trees.judged_by();
  run.pin = label_of(environment_of(run), setting.trees.pins());
  return run;
}

// Earlier runs: those of this tree, unless it is a change that is judged, whose tree is not to be believed.
fs::path history_of(const Setting& setting) {
  if (!setting.options.history.empty()) return setting.options.history;
  return setting.trees.base ? fs::path() : setting.trees.root / "runs";
}

struct Fingerprints {
  std::vector<Fingerprint> taken;
  std::vector<std::string> approved;  // ids, of the kernels they were taken of
};

std::vector<Finding> findings_of(const Setting& setting, const Goldens& goldens, const Run& run,
                                 const std::vector<Record>& records, const Fingerprints& fingerprints) {
  const Options& options = setting.options;
  std::vector<Finding> findings = expired_known_issues(setting.policy, today());
  const auto add = [&](std::vector<Finding> more) { findings.insert(findings.end(), more.begin(), more.end()); };
  for (const std::string& missing : missing_checks(setting.policy)) add({{"removed", missing}});
  const Approvals approvals = [&](const Record& record) { return goldens.approval_of(record); };
  add(judged_nothing(records, is_whole_tree(options), setting.policy.not_everywhere));
  add(no_longer_judged(records, approvals));
  add(no_longer_compared(records, approvals));
  if (setting.library_set.library.empty()) add(other_libraries(records, goldens.approved_with()));
  if (options.shard.count == 1 && options.fuzz.empty()) {
    add(ops_left_out(setting.plan, options.device, setting.policy.no_kernel));
  }
  if (options.command != "gate") return findings;
  add(stale_known_issues(setting.policy, history_of(setting), run, records));
  for (std::vector<Finding> more :
       {grown(records, approvals), fingerprint_findings(fingerprints.taken, fingerprints.approved)}) {
    // Of what was approved no more is kept than its platform.
    const std::string unpinned = unpinned_text(run.pin);
    for (Finding& finding : more)
      finding.text += unpinned.empty() ? "" : "; the environment is not pinned: " + unpinned;
    add(std::move(more));
  }
  if (is_whole_tree(options)) add(too_few_cases(setting.policy, options.tier, setting.plan.cases.size()));
  if (!setting.trees.base) return findings;
  const fs::path& base = setting.trees.base->path();
  add(no_longer_promised(records, approvals, read_contracts(base / "golden")));
  // Foreign modules say nothing about which kernels the tree has.
  add(options.modules.empty() ? findings_against_base(base, setting.trees.root, ASSAY_SOURCE_DIR, setting.plan.kernels,
                                                      setting.ops, setting.bench)
                              : edited_files(base, setting.trees.root));
  return findings;
}

// The run's folder with run.json in it.
RunFolder open_folder(const Options& options, const fs::path& out, bool goes_on, Run& run) {
  RunFolder folder = open_run_folder(options, out);
  if (goes_on) {
    const Run before = read_run(out);
    require_same(before, run);
    run.started = before.started;
    if (run.commit != before.commit) run.commit.clear();  // its records are of two trees with the same modules
  }
  run.recorded = static_cast<int64_t>(folder.recorded().size());
  folder.write_run(run);
  return folder;
}

RunEnding carry_out(const Setting& setting, const Goldens& goldens, RunFolder& folder, FuzzRun* fuzz) {
  const Options& options = setting.options;
  RunJob job = make_job(options, setting.policy, setting.plan, goldens);
  job.jobs = options.jobs.value_or(jobs_on(options.device));
  job.beside_others = options.beside_others;
  job.recorded = folder.recorded();
  job.libraries = setting.loaded.libraries;
  job.sampling.samples_folder = fs::absolute(folder.samples());
  job.start_judge = setting.loaded.start_judge;
  job.append = [&](const Record& record) {
    folder.append(record);
    if (fuzz != nullptr) fuzz->learn(record);
  };
  if (fuzz != nullptr) job.more = [fuzz] { return fuzz->more(); };
  job.stop_asked = [] { return interrupt_signal() != 0; };
  std::unique_ptr<RunObserver> progress;
  if (!options.json || is_terminal(stderr)) {
    progress = make_progress(options.json ? stderr : stdout, setting.plan.cases.size(), job.recorded.size());
  }
  job.observer = progress.get();
  return run_plan(job);
}

// Of every kernel that a gate from tier ci on judges, in the run's folder as soon as a kernel's are taken. One that the
// policy spares the tier's cases, because each costs it seconds, is spared this too: judged by those of the smoke tier,
// it has none. Those that a run which was interrupted has taken stay. Nothing when stopped.
std::optional<Fingerprints> fingerprints_of(const Setting& setting, const KernelPlatforms& platforms,
                                            const fs::path& out, bool goes_on) {
  const Options& options = setting.options;
  Fingerprints found;
  std::vector<Fingerprint>& all = found.taken;
  if (options.command != "gate" || options.tier == Tier::smoke || !options.sanitizer.empty()) return found;
  if (goes_on) all = read_fingerprints(out);
  const FingerprintGoldens goldens = FingerprintGoldens::load(setting.trees.golden() / "fingerprint", platforms);
  std::set<std::string> taken;
  for (const Fingerprint& fingerprint : all) taken.insert(fingerprint.id());
  FingerprintJob job;
  job.kernels = planned_kernels(setting.plan);
  std::erase_if(job.kernels, [&](const KernelInfo& kernel) {
    const auto is_it = [&](const LeftOut& one) { return one.kernel == kernel.op + "/" + kernel.name; };
    return std::any_of(setting.plan.left_out.begin(), setting.plan.left_out.end(), is_it);
  });
  for (const KernelInfo& kernel : job.kernels) {
    const std::vector<std::string> ids = goldens.approved_of(kernel.op + "/" + kernel.name);
    found.approved.insert(found.approved.end(), ids.begin(), ids.end());
  }
  job.ops = &setting.ops;
  job.start_judge = setting.loaded.start_judge;
  job.stop_asked = [] { return interrupt_signal() != 0; };
  job.wanted = [&](const KernelInfo& kernel, const ProbeSet& set) {
    return !taken.contains(kernel.op + "/" + kernel.name + ":" + set.variant);
  };
  job.each = [&](Fingerprint fingerprint) {
    goldens.compare(fingerprint);
    all.push_back(std::move(fingerprint));
    write_fingerprints(out, all);
  };
  if (!take_fingerprints(job)) return std::nullopt;
  return found;
}

// Cases to be stored, written into the run's folder as they will stand in golden/cases. How many.
int64_t keep_found(const Setting& setting, const Goldens& goldens, const fs::path& out,
                   const std::vector<Record>& records) {
  const Options& options = setting.options;
  const StartJudge start = lending(setting.loaded.start_judge);
  const FoundJob job{.ops = &setting.ops,
                     .plan = &setting.plan,
                     .seed = options.seed.value(),
                     .judge =
                         [&](const PlannedCase& one) {
                           const Plan plan{setting.plan.kernels, {one}, {}};
                           return judge_one(options, setting.policy, plan, goldens, setting.loaded, start,
                                            [] { return interrupt_signal() != 0; });
                         },
                     .stop_asked = [] { return interrupt_signal() != 0; }};
  const std::map<std::string, std::string> found = found_cases(job, records);
  for (const auto& [op, file] : stored_case_files(found)) write_golden_file(out / kFoundFolder / (op + ".txt"), file);
  return static_cast<int64_t>(found.size());
}

// False when it was stopped. Where they cannot be had, the run says so and keeps what it judged.
bool add_own_blocks(const JudgedRun& judged, Conclusion& conclusion) {
  try {
    return record_own_blocks(judged);
  } catch (const std::exception& e) {
    if (interrupt_signal() != 0) return false;
    conclusion.findings.push_back({"blocks", e.what()});
    conclusion.exit_code = combine_exit_codes(conclusion.exit_code, exit_code_of(Verdict::error));
    return true;
  }
}

// Of a gate that will compare latencies here, as far as that can be told before the first case.
std::optional<ArmKernels> arms_to_compare(const Setting& setting, const PinLabel& pin) {
  const Options& options = setting.options;
  const bool is_allowed = pin.state == PinState::pinned || options.unpinned;
  if (!compares_latencies(options) || !is_allowed) return std::nullopt;
  return load_arms(options, setting.trees, setting.policy);
}

// Blocks of latency, where the run is asked for any. False when it was stopped.
bool add_latencies(const Setting& setting, std::optional<ArmKernels> arms, Conclusion& conclusion) {
  const JudgedRun judged{&setting.options, &setting.trees,      &setting.policy, &setting.plan,
                         &setting.loaded,  &conclusion.records, &conclusion.pin, conclusion.run};
  if (setting.options.blocks > 0) return add_own_blocks(judged, conclusion);
  if (!compares_latencies(setting.options)) return true;
  conclusion.comparison = compare_with_base(judged, std::move(arms));
  if (!conclusion.comparison) return false;
  conclusion.exit_code = combine_exit_codes(conclusion.exit_code, conclusion.comparison->result.exit_code);
  return true;
}

// Nothing was asked of another version than the one that was loaded, whatever it answered.
void add_library(const Setting& setting, const Run& run, Conclusion& conclusion) {
  for (const std::string& line :
       library_contradictions(setting.options, setting.library_set, run.libraries, conclusion.records)) {
    conclusion.findings.push_back({"library", line});
    conclusion.exit_code = combine_exit_codes(conclusion.exit_code, exit_code_of(Verdict::invalid));
  }
}

void add_report(const Setting& setting, Conclusion& conclusion) {
  const Report report = write_report(setting.trees.root, conclusion.run);
  conclusion.report = report.page;
  if (report.why.empty()) return;
  fmt::print(stderr, "assay: {}\n", report.why);
  conclusion.exit_code = combine_exit_codes(conclusion.exit_code, 4);
}

}  // namespace

int run_command(const Options& given) {
  note_interrupts();
  const bool goes_on = !given.resume.empty() && !never_began(given.resume);
  Setting setting = set_up(with_seed(goes_on ? resumed(given) : given));
  const Options& options = setting.options;
  const OutFolder out_folder(options.resume.empty() ? options.out : options.resume, setting.trees.root, "",
                             "-" + tier_word(options));
  const fs::path& out = out_folder.path();
  const KernelPlatforms platforms = platforms_of(options, setting.loaded);
  const Goldens goldens(setting.trees.golden(), setting.ops, platforms);
  goldens.require_truth(setting.trees.ops_with_truth(setting.plan));
  Run run = describe_run(setting, platforms);
  std::optional<ArmKernels> arms = arms_to_compare(setting, run.pin);
  std::optional<FuzzRun> fuzz;
  if (!options.fuzz.empty()) {
    const std::vector<Record> earlier = goes_on ? read_records(out) : std::vector<Record>{};
    const Run before = goes_on ? read_run(out) : Run{};
    if (!before.finished.empty() && before.recorded > std::ssize(earlier)) {
      throw UsageError((out / "records.jsonl").string() + ": holds " + std::to_string(earlier.size()) +
                       " records of the " + std::to_string(before.recorded) +
                       " that run.json tells of; start a new run");
    }
    fuzz.emplace(options, setting.ops, setting.plan, earlier, !before.finished.empty());
  }
  RunFolder folder = open_folder(options, out, goes_on, run);
  if (options.resume.empty() && options.out.empty()) point_latest_to(out);
  if (!options.json) fmt::print("run: {}\n", out.string());
  if (fuzz && !options.json) fmt::print("fuzz: seed {}, for {}\n", *options.seed, options.fuzz);
  const std::string left_out = other_device_text(setting.plan, options.device);
  if (!left_out.empty()) fmt::print(stderr, "assay: {}\n", left_out);

  const Telemetry before = read_telemetry();
  const GpuTelemetry gpu_before = read_gpu_telemetry();
  const auto began = Clock::now();
  const RunEnding ending = carry_out(setting, goldens, folder, fuzz ? &*fuzz : nullptr);
  const auto fingerprints = ending.stopped ? std::nullopt : fingerprints_of(setting, platforms, out, goes_on);
  const double wall = seconds_since(began);
  const auto recorded = static_cast<int64_t>(folder.recorded().size());
  if (!fingerprints) {
    const std::string of = fuzz ? "" : fmt::format(" of {}", setting.plan.cases.size());
    fmt::print(stderr, "assay: stopped with {}{} recorded; continue with: {} {} --resume {}\n", recorded, of,
               shell_word(options.program), options.command, shell_quoted(out.string()));
    return 128 + interrupt_signal();
  }

  run.libraries = merged(run.libraries, ending.libraries);
  add_checksums(run);
  run.pin = label_of(environment_of(run), setting.trees.pins());
  Conclusion conclusion;
  conclusion.run = out;
  conclusion.program = options.program;
  conclusion.root_argument = root_argument(options);
  conclusion.records = read_records(out);
  conclusion.records_before = run.recorded;
  conclusion.wall_seconds = wall;
  conclusion.left_out = setting.plan.left_out;
  conclusion.budget_seconds = is_whole_tree(options) ? setting.policy.tiers.at(options.tier).seconds : 0;
  std::vector<std::string> mismatches = reconcile(setting.plan, folder.recorded());
  if (fuzz) std::ranges::move(fuzz->not_drawn(), std::back_inserter(mismatches));
  conclude(conclusion, mismatches, setting.loaded.broken,
           findings_of(setting, goldens, run, conclusion.records, *fingerprints), options.approve_findings);
  add_library(setting, run, conclusion);
  conclusion.pin = run.pin;
  conclusion.fingerprints = fingerprints->taken;
  if (fuzz) {
    conclusion.fuzz = fuzz->summary();
    conclusion.found = keep_found(setting, goldens, out, conclusion.records);
  }
  if (!add_latencies(setting, std::move(arms), conclusion)) {
    fmt::print(stderr, "assay: stopped with all cases judged and latencies in part; continue with: {} {} --resume {}\n",
               shell_word(options.program), options.command, shell_quoted(out.string()));
    return 128 + interrupt_signal();
  }
  run.planned = static_cast<int64_t>(setting.plan.cases.size());
  run.recorded = recorded;
  run.findings = conclusion.findings;
  run.environment.merge(telemetry_between(before, read_telemetry()));
  if (options.device != "cpu") run.environment.merge(gpu_telemetry_between(gpu_before, read_gpu_telemetry()));
  run.exit_code = conclusion.exit_code;
  run.finished = utc_now();
  folder.write_run(run);
  keep_invariances(out, conclusion.records);
  if (options.command == "gate" && !options.no_report) add_report(setting, conclusion);
  if (options.json) {
    print_json(conclusion);
  } else {
    print_text(conclusion, options.explain);
  }
  return conclusion.exit_code;
}

}  // namespace assay
