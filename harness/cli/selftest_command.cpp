// selftest: what the checks are worth. Judges every seeded fault, each module without a fault as its control, and all
// kernels of the build on fresh inputs, and says what was caught and how often an innocent kernel was blamed. Each is a
// run of `assay check` in a process and folder of its own below --out, so that one that was interrupted goes on. Of
// several GPUs each of the --jobs, by default as many, has one.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "cli/trees.h"
#include "core/error.h"
#include "gate/pin.h"
#include "gate/program.h"
#include "gate/selftest_result.h"
#include "golden/stored_cases.h"
#include "measure/gpu.h"
#include "record/json_text.h"
#include "record/run_folder.h"
#include "record/verdict.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr double kKeptByLeastSuite = 0.98;
constexpr const char* kAlone = "-alone";  // ends the name of an errand that was given the machine to itself
constexpr int64_t kSeedsApart = 1000;     // the inputs of one round of innocent cases and the next

struct Errand {
  std::string name;                    // of its folder
  std::vector<std::string> arguments;  // of `assay check`
  fs::path module;                     // empty: the build's own
};

// How an errand ended, when not with a verdict: empty, or one line.
using Problem = std::string;

class Errands {
 public:
  // As many at a time as there are `gpus` where nobody asked for other `jobs`: several on one wait for each other more
  // than they gain.
  Errands(const Options& options, fs::path out)
      : options_(options),
        out_(std::move(out)),
        judged_by_(find_trees(options).judged_by()),
        gpus_(options.device == "cuda" ? visible_gpus() : std::vector<std::string>{}),
        jobs_(options.jobs.value_or(std::max(1, static_cast<int>(gpus_.size())))) {
    fs::create_directories(out_);
  }

  // Each in a process of its own, `jobs` at a time. What went wrong, by name.
  std::map<std::string, Problem> run(const std::vector<Errand>& errands, int jobs) {
    std::atomic<size_t> next = 0, done = 0;
    std::map<std::string, Problem> problems;
    std::mutex mutex;
    const auto work = [&](int job) {
      const std::map<std::string, std::string> gpu = gpu_of_job(gpus_, job, jobs);
      for (size_t i = next++; i < errands.size() && interrupt_signal() == 0; i = next++) {
        const Problem problem = try_to(errands[i], gpu);
        const std::lock_guard lock(mutex);
        if (!problem.empty()) problems[errands[i].name] = problem;
        const std::string line = fmt::format("{}/{} {}{}{}\n", ++done, errands.size(), errands[i].name,
                                             problem.empty() ? "" : ": ", problem);
        std::fputs(line.c_str(), stderr);  // nobody may read it: that ends no thread
      }
    };
    std::vector<std::thread> threads;
    for (int i = 1; i < jobs; ++i) threads.emplace_back(work, i);
    work(0);
    for (std::thread& thread : threads) thread.join();
    return problems;
  }

  fs::path folder(const std::string& name) const { return out_ / name; }
  int jobs() const { return jobs_; }
  bool share_devices() const { return jobs_ > std::max(1, static_cast<int>(gpus_.size())); }

 private:
  Problem try_to(const Errand& errand, const std::map<std::string, std::string>& gpu) const {
    try {
      return carry_out(errand, gpu);
    } catch (const std::exception& e) {
      return e.what();
    }
  }

  Problem carry_out(const Errand& errand, const std::map<std::string, std::string>& gpu) const {
    const fs::path folder = out_ / errand.name;
    std::vector<std::string> asked = errand.arguments;
    asked.insert(asked.end(), {"--out", folder.string(), "--json"});
    if (is_answered(folder, asked) && is_of_today(errand, folder)) return {};
    fs::remove_all(folder);
    std::vector<std::string> command = asked;
    command.insert(command.begin(), program("assay"));
    const ProgramEnd end = run_program(command, gpu, [] { return interrupt_signal() != 0; });
    if (is_answered(folder, asked)) return {};
    const size_t line = end.output.find("assay: ");
    return line == std::string::npos ? "exit " + std::to_string(end.status)
                                     : end.output.substr(line, end.output.find('\n', line) - line);
  }

  static bool is_answered(const fs::path& folder, const std::vector<std::string>& asked) {
    if (!is_there(folder / "run.json")) return false;
    const Run run = read_run(folder);
    return run.exit_code && run.asked.argv == asked;
  }

  // What was answered is of these programs, policy and goldens, and of these modules.
  bool is_of_today(const Errand& errand, const fs::path& folder) const {
    if (read_run(folder).judged_by != judged_by_) return false;
    const fs::file_time_type when = fs::last_write_time(folder / "run.json");
    const auto is_older = [&](const fs::path& module) { return fs::last_write_time(module) <= when; };
    return errand.module.empty() ? std::ranges::all_of(module_files(options_), is_older) : is_older(errand.module);
  }

  const Options& options_;
  fs::path out_;
  std::map<std::string, std::string> judged_by_;
  std::vector<std::string> gpus_;  // as CUDA_VISIBLE_DEVICES names them; none on a CPU
  int jobs_;
};

std::string folder_name(Tier tier, const std::string& module) { return std::string(name_of(tier)) + "-" + module; }

std::vector<std::string> common_arguments(const Options& options, Tier tier) {
  return {"check",        "--root",    source_root(options).string(),  "--tier", std::string(name_of(tier)), "--device",
          options.device, "--threads", std::to_string(options.threads)};
}

enum class Company { others, none };

Errand errand_of(const Options& options, Tier tier, const std::string& module, const std::set<std::string>& filters,
                 Company company) {
  Errand errand{folder_name(tier, module), common_arguments(options, tier),
                fs::absolute(options.faults / (module + ".so"))};
  errand.arguments.insert(errand.arguments.end(), {"--jobs", "1", "--module", errand.module.string()});
  if (company == Company::others) errand.arguments.emplace_back("--beside-others");
  for (const std::string& filter : filters) errand.arguments.insert(errand.arguments.end(), {"--filter", filter});
  return errand;
}

// A witness that is too large, say: nothing is known of the kernel.
bool is_beyond_this_machine(const Record& record) { return record.verdict == Verdict::error; }

const Record* record_of(const std::vector<Record>& records, const std::string& id) {
  const auto found =
      std::find_if(records.begin(), records.end(), [&](const Record& one) { return one.kernel_id == id; });
  return found == records.end() ? nullptr : &*found;
}

std::string without_the_fault(const Record& record) {
  return std::string(word_of(record.verdict)) + " without the fault: " + record.reason;
}

std::set<std::string> cases_of(const OpRegistry& ops, const std::vector<Case>& stored, Tier tier, bool on_host) {
  std::set<std::string> ids;
  for (const auto& op : ops.all()) {
    for (const Case& c : op->cases(tier)) ids.insert(c.id());
    if (on_host) continue;
    for (const Case& c : op->device_cases(tier)) ids.insert(c.id());
  }
  if (tier == Tier::smoke) return ids;
  for (const Case& c : stored) ids.insert(c.id());
  return ids;
}

// The faults of one tier, each beside the module it was put into.
class Trials {
 public:
  Trials(const Options& options, Errands& errands, SelftestResult& found)
      : options_(options), errands_(errands), found_(found) {}

  // Those that no case of the tier kills. Nothing is known of any after an interruption.
  std::vector<SeededFault> judge(Tier tier, const std::vector<SeededFault>& faults, bool is_last) {
    std::vector<SeededFault> alive;
    judge_modules(tier, faults);
    if (interrupt_signal() == 0 && errands_.jobs() > 1) judge_alone(tier, faults);
    if (interrupt_signal() != 0) return alive;
    for (const auto& [module, name] : controls_) note_control(module, name);
    for (const SeededFault& fault : faults) {
      const std::string name = folder_name(tier, fault.name);
      if (problems_.contains(name)) {
        found_.not_judged[fault.name] = problems_.at(name);
        continue;
      }
      const std::vector<std::string> changes = changes_beside_control(fault, name);
      if (!changes.empty()) {
        found_.not_judged[fault.name] =
            "judged in another environment than its module without the fault: " + changes.front() + "; remove " +
            errands_.folder(name).string() + " and " + errands_.folder(controls_[fault.module]).string();
        continue;
      }
      FaultTrial trial = trial_of(fault, name);
      const bool survives = outcome_of(trial, found_.cases).checks.empty();
      if (survives && !is_last) {
        alive.push_back(fault);
      } else if (trial.kills.empty() && !passes(fault)) {
        const Record* witness = record_of(records_[controls_[fault.module]], fault.witness);
        found_.beyond[fault.name] =
            fault.witness + " is " + (witness == nullptr ? "missing" : without_the_fault(*witness));
      } else {
        found_.trials.push_back(std::move(trial));
      }
    }
    return alive;
  }

 private:
  void judge_modules(Tier tier, const std::vector<SeededFault>& faults) {
    std::map<std::string, std::set<std::string>> filters;  // by module
    const Company company = errands_.share_devices() ? Company::others : Company::none;
    std::vector<Errand> all;
    for (const SeededFault& fault : faults) {
      all.push_back(errand_of(options_, tier, fault.name, {fault.kernel(), fault.witness}, company));
      filters[fault.module].insert({fault.kernel(), fault.witness});
    }
    controls_.clear();
    for (const auto& [module, asked] : filters) {
      all.push_back(errand_of(options_, tier, module, asked, company));
      controls_[module] = all.back().name;
    }
    problems_ = errands_.run(all, errands_.jobs());
    records_.clear();
    if (interrupt_signal() != 0) return;
    for (const Errand& errand : all) {
      if (!problems_.contains(errand.name)) records_[errand.name] = read_records(errands_.folder(errand.name));
    }
  }

  // Beside others a case may lack memory, say, and nothing is known of it. Where no other case kills the fault it is
  // asked of the fault and of the module without it once more, with the machine to themselves.
  void judge_alone(Tier tier, const std::vector<SeededFault>& faults) {
    std::map<std::string, std::set<std::string>> open;  // cases, by module
    for (const SeededFault& fault : faults) {
      const std::string name = folder_name(tier, fault.name), control = controls_[fault.module];
      if (problems_.contains(name) || problems_.contains(control)) continue;
      if (!outcome_of(trial_of(fault, name), found_.cases).checks.empty()) continue;
      for (const std::string& one : {name, control}) {
        for (const Record& record : records_[one]) {
          if (is_beyond_this_machine(record)) open[fault.name].insert(record.kernel_id);
        }
      }
      if (open.contains(fault.name)) open[fault.module].insert(open[fault.name].begin(), open[fault.name].end());
    }
    std::vector<Errand> all;
    for (const auto& [module, cases] : open) {
      all.push_back(errand_of(options_, tier, module, cases, Company::none));
      all.back().name += kAlone;
    }
    const std::map<std::string, Problem> problems = errands_.run(all, 1);
    if (interrupt_signal() != 0) return;
    for (const auto& [module, unused] : open) {
      const std::string name = folder_name(tier, module), alone = name + kAlone;
      if (problems.contains(alone)) {
        problems_[name] = problems.at(alone);
        continue;
      }
      for (Record& record : read_records(errands_.folder(alone))) {
        std::ranges::replace_if(
            records_[name], [&](const Record& one) { return one.kernel_id == record.kernel_id; }, record);
      }
    }
  }

  FaultTrial trial_of(const SeededFault& fault, const std::string& name) {
    return {fault, kills_between(records_[controls_[fault.module]], records_[name])};
  }

  // Errands that were done before are not repeated, and the machine may have changed since.
  std::vector<std::string> changes_beside_control(const SeededFault& fault, const std::string& name) const {
    const std::string& control = controls_.at(fault.module);
    if (problems_.contains(control)) return {};
    return environment_changes(read_run(errands_.folder(control)), read_run(errands_.folder(name)));
  }

  void note_control(const std::string& module, const std::string& name) {
    if (problems_.contains(name)) {
      found_.bad_controls.push_back(module + ": " + problems_.at(name));
      return;
    }
    const Run run = read_run(errands_.folder(name));
    found_.environment = run.environment;
    found_.libraries.merge(builds_of(run));
    for (const Record& record : records_[name]) {
      if (is_alarm(record.verdict) && !is_beyond_this_machine(record)) {
        found_.bad_controls.push_back(record.kernel_id + ": " + record.reason);
      }
    }
  }

  bool passes(const SeededFault& fault) {
    const Record* witness = record_of(records_[controls_[fault.module]], fault.witness);
    return witness != nullptr && witness->verdict == Verdict::pass;
  }

  const Options& options_;
  Errands& errands_;
  SelftestResult& found_;
  // Of the last tier. An errand is named by its folder.
  std::map<std::string, Problem> problems_;
  std::map<std::string, std::vector<Record>> records_;
  std::map<std::string, std::string> controls_;  // errand of a module without a fault, by module
};

void judge_faults(const Options& options, std::vector<SeededFault> faults, Errands& errands, SelftestResult& found) {
  Trials trials(options, errands, found);
  if (found.smoke_first) faults = trials.judge(Tier::smoke, faults, false);
  if (interrupt_signal() == 0) trials.judge(options.tier, faults, true);
}

// Rounds of every kernel of the build on the tier's cases, each with other seeds, until there are enough.
void judge_innocents(const Options& options, Errands& errands, SelftestResult& found) {
  for (int64_t round = 0; found.innocent < options.innocent && interrupt_signal() == 0; ++round) {
    Errand errand{"innocent-" + std::to_string(round), common_arguments(options, options.tier), {}};
    if (options.jobs) errand.arguments.insert(errand.arguments.end(), {"--jobs", std::to_string(*options.jobs)});
    if (round > 0) errand.arguments.insert(errand.arguments.end(), {"--reseed", std::to_string(round * kSeedsApart)});
    const std::map<std::string, Problem> problems = errands.run({errand}, 1);
    if (interrupt_signal() != 0) return;
    if (!problems.empty()) throw Error(errand.name + ": " + problems.begin()->second);
    const std::vector<Record> records = read_records(errands.folder(errand.name));
    for (const Record& record : records) {
      if (!may_alarm(record.verdict)) continue;
      ++found.innocent;
      if (is_alarm(record.verdict)) {
        found.alarms.push_back(record.kernel_id + ": " + std::string(word_of(record.verdict)) + ", " + record.reason);
      }
      if (round > 0) continue;
      double& seconds = found.seconds[case_of_kernel_id(record.kernel_id)];
      for (const auto& [phase, spent] : record.seconds) seconds += spent;
    }
  }
}

std::string suites_text(const SelftestResult& found) {
  const Suite smoke = suite_of(found.trials, found.seconds, found.cases.smoke);
  const Suite least = least_suite(found.trials, found.seconds, kKeptByLeastSuite);
  std::string text = fmt::format("\nsmoke tier: {} cases, {:.1f} s, {} faults killed\n", smoke.cases.size(),
                                 smoke.seconds, smoke.kills);
  text += fmt::format("least suite that keeps {:.0f} %: {} cases, {:.1f} s, {} faults killed\n",
                      100 * kKeptByLeastSuite, least.cases.size(), least.seconds, least.kills);
  for (const std::string& c : least.cases) {
    text += fmt::format("  {}{}\n", c, found.cases.smoke.contains(c) ? "" : "  (not in smoke)");
  }
  return text;
}

SeededFaults faults_asked_for(const Options& options) {
  SeededFaults all = read_faults(options.faults);
  std::vector<SeededFault>& faults = all.faults;
  std::erase_if(faults, [&](const SeededFault& fault) { return fault.target != options.device; });
  if (faults.empty()) {
    throw UsageError("selftest: " + (options.faults / "faults.json").string() + " has no fault of target " +
                     options.device + "; harness/tests/mutants/build.py makes them");
  }
  return all;
}

}  // namespace

int selftest_command(const Options& given) {
  note_interrupts();
  Options options = given;
  if (options.smoke_first && options.minimise) {
    throw UsageError("selftest: --minimise needs every case's kills; leave out --smoke-first");
  }
  if (options.faults.empty()) options.faults = build_folder() / "mutants";
  const auto [whole, faults] = faults_asked_for(options);
  const fs::path out =
      fs::absolute(options.out.empty() ? source_root(options) / "runs" / ("selftest-" + options.device) : options.out);
  Errands errands(options, out);
  SelftestResult found;
  found.device = options.device;
  found.tier = options.tier;
  found.whole = whole;
  found.smoke_first = options.smoke_first && options.tier != Tier::smoke;
  const OpRegistry ops = make_op_registry();
  const std::vector<Case> stored = without_why(read_stored_cases(source_root(options) / "golden" / "cases", ops));
  const bool on_host = options.device == "cpu";
  found.cases = {cases_of(ops, stored, options.tier, on_host), cases_of(ops, stored, Tier::smoke, on_host)};
  judge_faults(options, faults, errands, found);
  judge_innocents(options, errands, found);
  if (interrupt_signal() != 0) {
    fmt::print(stderr, "assay: stopped; the same command goes on from {}\n", out.string());
    return 128 + interrupt_signal();
  }
  found.finished = utc_now();
  const std::string text = markdown(found);
  const std::string document = print_json(to_json(found), 1) + "\n";
  write_file_atomically(out / "selftest.md", text);
  write_file_atomically(out / "selftest.json", document);
  fmt::print("{}", options.json ? document : text + (options.minimise ? suites_text(found) : ""));
  return exit_code_of(found);
}

}  // namespace assay
