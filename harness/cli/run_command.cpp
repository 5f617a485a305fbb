// check, bench and gate: plan, run, reconcile, report. The three differ in what is planned and in the gate's findings.
#include <fmt/format.h>

#include <chrono>
#include <ctime>

#include "cli/commands.h"
#include "cli/conclusion.h"
#include "cli/interrupt.h"
#include "cli/job.h"
#include "cli/loaded.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/trees.h"
#include "core/error.h"
#include "gate/findings.h"
#include "gate/program.h"
#include "measure/environment.h"
#include "record/run_folder.h"
#include "record/verdict.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
  return all;
}

// The arguments without those that say where the run is and how it is told.
std::vector<std::string> question(const std::vector<std::string>& argv) {
  std::vector<std::string> rest;
  for (size_t i = 0; i < argv.size(); ++i) {
    if (argv[i] == "--resume" || argv[i] == "--out") {
      ++i;
    } else if (argv[i] != "--json" && argv[i].rfind("--resume=", 0) != 0 && argv[i].rfind("--out=", 0) != 0) {
      rest.push_back(argv[i]);
    }
  }
  return rest;
}

// A run that --resume can continue: the flags are those it was asked with.
Options resumed(const Options& options) {
  const Run run = read_run(options.resume);
  if (run.asked.command != options.command) {
    throw UsageError("--resume " + options.resume.string() + ": is a run of '" + run.asked.command + "'; use assay " +
                     run.asked.command + " --resume");
  }
  const std::vector<std::string> given = question(options.argv);
  if (given.size() > 1 && given != question(run.asked.argv)) {
    throw UsageError("--resume " + options.resume.string() + ": was asked '" + joined(question(run.asked.argv)) +
                     "'; leave the other flags out, they are taken from the run");
  }
  Options again = parse_options(run.asked.argv);
  again.resume = options.resume;
  again.json = options.json;
  return again;
}

// Killed before run.json was there: nothing was recorded, and the run begins again in its folder.
bool never_began(const fs::path& run) {
  std::error_code error;
  if (!fs::is_directory(run, error) || fs::exists(run / "run.json", error)) return false;
  const fs::path records = run / "records.jsonl";
  return !fs::exists(records, error) || fs::file_size(records, error) == 0;
}

fs::path default_out(const Options& options, const fs::path& root) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &utc);
  const fs::path first = root / "runs" / (std::string(text) + "-" + std::string(name_of(options.tier)));
  fs::path out = first;
  for (int i = 2; fs::exists(out); ++i) out = first.string() + "." + std::to_string(i);
  return out;
}

Run describe_run(const Options& options, const Plan& plan, const Loaded& loaded, const Platform& platform) {
  Run run;
  run.asked = {options.command, std::string(name_of(options.tier)), joined(options.filters), options.shard_text,
               options.argv};
  run.started = utc_now();
  run.planned = static_cast<int64_t>(plan.cases.size());
  run.threads = options.threads;
  run.environment = environment_facts();
  run.environment["golden.platform"] = platform.key();
  run.libraries = loaded.libraries;
  for (const KernelInfo& kernel : plan.kernels) {
    run.kernels.push_back({kernel.op, kernel.name, kernel.target, kernel.module.filename().string(), kernel.module_hash,
                           kernel.contract});
  }
  return run;
}

// A run goes on only with the code it began with: its records would otherwise speak of two programs.
void require_same_kernels(const Run& before, const Run& now) {
  const auto platform = [](const Run& run) {
    const auto found = run.environment.find("golden.platform");
    return found == run.environment.end() ? std::string("unknown") : found->second;
  };
  if (platform(before) != platform(now)) {
    throw UsageError("--resume: the run is of platform " + platform(before) + ", this is " + platform(now) +
                     "; start a new run");
  }
  for (const KernelEntry& old : before.kernels) {
    bool same = false;
    for (const KernelEntry& kernel : now.kernels) {
      same = same || (kernel.op == old.op && kernel.name == old.name && kernel.module_hash == old.module_hash);
    }
    if (!same) throw UsageError("--resume: kernel " + old.op + "/" + old.name + " has changed since; start a new run");
  }
}

bool is_whole_tree(const Options& options) {
  return options.filters.empty() && options.shard.count == 1 && options.modules.empty();
}

std::vector<Finding> findings_of(const Options& options, const Trees& trees, const Policy& policy,
                                 const OpRegistry& ops, const std::vector<BenchCase>& bench, const Plan& plan,
                                 const std::vector<Record>& records) {
  std::vector<Finding> findings = expired_known_issues(policy, today());
  for (const std::string& check : missing_checks(policy))
    findings.push_back({"removed", "check " + check + " is gone"});
  const auto add = [&](std::vector<Finding> more) { findings.insert(findings.end(), more.begin(), more.end()); };
  add(judged_nothing(records, is_whole_tree(options)));
  if (options.command != "gate") return findings;
  if (is_whole_tree(options)) add(too_few_cases(policy, options.tier, plan.cases.size()));
  if (!trees.base) return findings;
  const fs::path& base = trees.base->path();
  // Foreign modules say nothing about which kernels the tree has.
  add(options.modules.empty() ? findings_against_base(base, trees.root, plan.kernels, ops, bench)
                              : edited_files(base, trees.root));
  return findings;
}

Timing timing_of(const std::string& command) {
  return command == "check" ? Timing::none : command == "bench" ? Timing::only : Timing::also;
}

}  // namespace

int run_command(const Options& given) {
  const bool goes_on = !given.resume.empty() && !never_began(given.resume);
  const Options options = goes_on ? resumed(given) : given;
  const Trees trees = find_trees(options);
  const Policy policy = read_policy(trees.policy());
  const OpRegistry ops = make_op_registry();
  const std::vector<BenchCase> bench = read_bench(trees.policy(), ops);
  const StartJudge start = judge_process(limited(judge_settings(options), policy));
  const std::vector<fs::path> modules = module_files(options);
  note_interrupts();
  Loaded loaded = load_modules(start, modules, ops);
  const Plan plan =
      make_plan(ops, loaded.kernels, bench, {options.tier, timing_of(options.command), options.filters, options.shard});

  const fs::path out = !options.resume.empty() ? options.resume
                       : !options.out.empty()  ? options.out
                                               : default_out(options, trees.root);
  const Platform platform = platform_of(options, loaded);
  const Goldens goldens(trees.golden(), ops, platform);
  Run run = describe_run(options, plan, loaded, platform);
  RunFolder folder =
      fs::exists(out / "records.jsonl") && !options.resume.empty() ? RunFolder::resume(out) : RunFolder::create(out);
  if (goes_on) {
    const Run before = read_run(out);
    require_same_kernels(before, run);
    run.started = before.started;
  }
  run.recorded = static_cast<int64_t>(folder.recorded().size());
  folder.write_run(run);
  if (!options.json) fmt::print("run: {}\n", out.string());

  RunJob job = make_job(options, policy, plan, goldens);
  job.recorded = folder.recorded();
  job.sampling.samples_folder = fs::absolute(folder.samples());
  job.start_judge = loaded.start_judge;
  job.append = [&](const Record& record) { folder.append(record); };
  job.stop_asked = [] { return interrupt_signal() != 0; };
  std::FILE* const stream = options.json ? stderr : stdout;
  std::unique_ptr<RunObserver> progress;
  if (!options.json || is_terminal(stderr)) {
    progress = make_progress(stream, plan.cases.size(), folder.recorded().size());
  }
  job.observer = progress.get();
  const Telemetry before = read_telemetry();
  const auto began = std::chrono::steady_clock::now();
  const RunEnding ending = run_plan(job);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  progress.reset();

  if (ending.stopped) {
    fmt::print(stderr, "assay: stopped with {} of {} recorded; continue with: assay {} --resume {}\n",
               folder.recorded().size(), plan.cases.size(), options.command, shell_quoted(out.string()));
    return 128 + interrupt_signal();
  }
  std::vector<Record> records = read_records(out);
  const std::vector<Finding> findings = findings_of(options, trees, policy, ops, bench, plan, records);
  Conclusion conclusion = conclude_run(std::move(records), reconcile(plan, folder.recorded()), loaded.broken, findings,
                                       options.approve_findings);
  conclusion.wall_seconds = wall;
  conclusion.budget_seconds = is_whole_tree(options) ? policy.tiers.at(options.tier).seconds : 0;
  conclusion.run = out;
  run.recorded = static_cast<int64_t>(folder.recorded().size());
  run.findings = conclusion.findings;
  run.libraries = merged(run.libraries, ending.libraries);
  for (const auto& [name, fact] : telemetry_between(before, read_telemetry())) run.environment[name] = fact;
  run.exit_code = conclusion.exit_code;
  run.finished = utc_now();
  folder.write_run(run);
  if (options.command == "gate" && !options.no_report) {
    const Report report = write_report(trees.root, out);
    conclusion.report = report.page;
    if (report.page.empty()) {
      fmt::print(stderr, "assay: {}\n", report.why);
      conclusion.exit_code = combine_exit_codes(conclusion.exit_code, 4);
    }
  }
  if (options.json) {
    print_json(conclusion);
  } else {
    print_text(conclusion, options.explain);
  }
  return conclusion.exit_code;
}

}  // namespace assay
