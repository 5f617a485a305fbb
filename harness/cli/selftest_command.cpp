// selftest: what the checks are worth. Judges every seeded fault, each module without a fault as its control, and all
// kernels of the build on fresh inputs, and says what was caught and how often an innocent kernel was blamed. Each is a
// run of `assay check` in a process and folder of its own below --out, so that one that was interrupted goes on.
#include <fmt/format.h>

#include <atomic>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "core/error.h"
#include "gate/kill_table.h"
#include "gate/program.h"
#include "record/json_text.h"
#include "record/run_folder.h"
#include "record/verdict.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// What a selftest has to show: of the faults that the tier's cases should kill, and of innocent kernel-cases.
constexpr double kKilled = 0.99, kPrecisionKilled = 0.95, kKilledInSmoke = 0.90;
constexpr double kKeptByLeastSuite = 0.98;
constexpr int64_t kSeedsApart = 1000;  // the inputs of one round of innocent cases and the next

struct Errand {
  std::string name;                    // of its folder
  std::vector<std::string> arguments;  // of `assay check`
  fs::path module;                     // empty: the build's own
};

// How an errand ended, when not with a verdict: empty, or one line.
using Problem = std::string;

class Errands {
 public:
  Errands(const Options& options, fs::path out) : options_(options), out_(std::move(out)) {}

  // Each in a process of its own, `jobs` at a time. What went wrong, by name.
  std::map<std::string, Problem> run(const std::vector<Errand>& errands) {
    std::atomic<size_t> next = 0, done = 0;
    std::map<std::string, Problem> problems;
    std::mutex mutex;
    const auto work = [&] {
      for (size_t i = next++; i < errands.size() && interrupt_signal() == 0; i = next++) {
        const Problem problem = carry_out(errands[i]);
        const std::lock_guard lock(mutex);
        if (!problem.empty()) problems[errands[i].name] = problem;
        fmt::print(stderr, "{}/{} {}{}{}\n", ++done, errands.size(), errands[i].name, problem.empty() ? "" : ": ",
                   problem);
      }
    };
    std::vector<std::thread> threads;
    for (int i = 1; i < options_.jobs; ++i) threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
    return problems;
  }

  fs::path folder(const std::string& name) const { return out_ / name; }

 private:
  Problem carry_out(const Errand& errand) const {
    const fs::path folder = out_ / errand.name;
    std::vector<std::string> asked = errand.arguments;
    asked.insert(asked.end(), {"--out", folder.string(), "--json"});
    if (is_done(errand, folder, asked)) return {};
    fs::remove_all(folder);
    std::vector<std::string> command = asked;
    command.insert(command.begin(), program("assay"));
    const ProgramEnd end = run_program(command);
    if (is_done(errand, folder, asked)) return {};
    const size_t line = end.output.find("assay: ");
    return line == std::string::npos ? "exit " + std::to_string(end.status)
                                     : end.output.substr(line, end.output.find('\n', line) - line);
  }

  // The same was asked before, of this program and this module, and answered.
  static bool is_done(const Errand& errand, const fs::path& folder, const std::vector<std::string>& asked) {
    const fs::path file = folder / "run.json";
    std::error_code error;
    if (!fs::exists(file, error)) return false;
    const fs::file_time_type when = fs::last_write_time(file);
    for (const char* name : {"assay", "assay-judge", "assay-worker"}) {
      if (fs::last_write_time(program(name)) > when) return false;
    }
    if (!errand.module.empty() && fs::last_write_time(errand.module) > when) return false;
    const Run run = read_run(folder);
    return run.exit_code && run.asked.argv == asked;
  }

  const Options& options_;
  fs::path out_;
};

// Everything the tables are made from.
struct Findings {
  bool whole = false;  // of all faults there are
  std::vector<FaultTrial> trials;
  std::map<std::string, Problem> problems;    // faults whose judgement failed
  std::map<std::string, std::string> beyond;  // faults whose witness this machine cannot judge, and that no case killed
  std::vector<std::string> bad_controls;      // innocent modules, made as the spoilt ones are, that failed
  TierCases cases;
  CaseSeconds seconds;
  int64_t innocent = 0;  // kernel-cases
  std::vector<std::string> alarms;
};

std::vector<std::string> common_arguments(const Options& options) {
  return {"check",
          "--root",
          source_root(options).string(),
          "--tier",
          std::string(name_of(options.tier)),
          "--device",
          options.device,
          "--threads",
          std::to_string(options.threads)};
}

Errand errand_of(const Options& options, const std::string& name, const std::set<std::string>& filters) {
  Errand errand{name, common_arguments(options), fs::absolute(options.faults / (name + ".so"))};
  errand.arguments.insert(errand.arguments.end(), {"--module", errand.module.string()});
  for (const std::string& filter : filters) errand.arguments.insert(errand.arguments.end(), {"--filter", filter});
  return errand;
}

bool is_alarm(const Record& record) { return exit_code_of(record.verdict) == 1 || record.verdict == Verdict::error; }

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

TierCases cases_of(const OpRegistry& ops, Tier tier, const std::string& device) {
  TierCases cases;
  const auto ids = [&](Tier of, std::set<std::string>& into) {
    for (const auto& op : ops.all()) {
      for (const Case& c : op->cases(of)) into.insert(c.id());
      if (device == "cpu") continue;
      for (const Case& c : op->device_cases(of)) into.insert(c.id());
    }
  };
  ids(tier, cases.tier);
  ids(Tier::smoke, cases.smoke);
  return cases;
}

void judge_faults(const Options& options, const std::vector<SeededFault>& faults, Errands& errands, Findings& found) {
  std::map<std::string, std::set<std::string>> filters;  // by module
  std::vector<Errand> all;
  for (const SeededFault& fault : faults) {
    all.push_back(errand_of(options, fault.name, {fault.kernel(), fault.witness}));
    filters[fault.module].insert({fault.kernel(), fault.witness});
  }
  for (const auto& [module, asked] : filters) all.push_back(errand_of(options, module, asked));
  const std::map<std::string, Problem> problems = errands.run(all);
  if (interrupt_signal() != 0) return;
  std::map<std::string, std::vector<Record>> controls;
  for (const auto& [module, asked] : filters) {
    if (problems.contains(module)) {
      found.bad_controls.push_back(module + ": " + problems.at(module));
      continue;
    }
    controls[module] = read_records(errands.folder(module));
    for (const Record& record : controls[module]) {
      if (is_alarm(record) && !is_beyond_this_machine(record)) {
        found.bad_controls.push_back(record.kernel_id + ": " + record.reason);
      }
    }
  }
  for (const SeededFault& fault : faults) {
    if (problems.contains(fault.name)) {
      found.problems[fault.name] = problems.at(fault.name);
      continue;
    }
    FaultTrial trial{fault, kills_between(controls[fault.module], read_records(errands.folder(fault.name)))};
    const Record* witness = record_of(controls[fault.module], fault.witness);
    if (trial.kills.empty() && (witness == nullptr || witness->verdict != Verdict::pass)) {
      found.beyond[fault.name] =
          fault.witness + " is " + (witness == nullptr ? "missing" : without_the_fault(*witness));
    } else {
      found.trials.push_back(std::move(trial));
    }
  }
}

// Rounds of every kernel of the build on the tier's cases, each with other seeds, until there are enough.
void judge_innocents(const Options& options, Errands& errands, Findings& found) {
  for (int64_t round = 0; found.innocent < options.innocent && interrupt_signal() == 0; ++round) {
    Errand errand{"innocent-" + std::to_string(round), common_arguments(options), {}};
    if (round > 0) errand.arguments.insert(errand.arguments.end(), {"--reseed", std::to_string(round * kSeedsApart)});
    const std::map<std::string, Problem> problems = errands.run({errand});
    if (interrupt_signal() != 0) return;
    if (!problems.empty()) throw Error(errand.name + ": " + problems.begin()->second);
    const std::vector<Record> records = read_records(errands.folder(errand.name));
    for (const Record& record : records) {
      if (record.verdict == Verdict::unsupported) continue;
      ++found.innocent;
      if (is_alarm(record)) {
        found.alarms.push_back(record.kernel_id + ": " + std::string(word_of(record.verdict)) + ", " + record.reason);
      }
      if (round > 0) continue;
      double& seconds = found.seconds[case_of_kernel_id(record.kernel_id)];
      for (const auto& [phase, spent] : record.seconds) seconds += spent;
    }
  }
}

std::string share(int64_t part, int64_t whole) {
  if (whole == 0) return "none";
  return fmt::format("{} of {} ({:.1f} %)", part, whole,
                     100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

// What is wrong with the checks by this selftest; empty: nothing. Of a sample the rates say little: there it is enough
// that no fault survives but those that are known to.
std::vector<std::string> shortfalls(const Findings& found, const KillTable& table) {
  std::vector<std::string> lines;
  const auto require = [&](const char* what, int64_t part, int64_t whole, double least) {
    if (found.whole && static_cast<double>(part) < least * static_cast<double>(whole)) {
      lines.push_back(fmt::format("{}: {}, of which {:.0f} % should be", what, share(part, whole), 100 * least));
    }
  };
  require("killed", table.all.killed, table.all.faults, kKilled);
  require("of precision", table.precision.killed, table.precision.faults, kPrecisionKilled);
  require("killed by the smoke tier", table.all.in_smoke, table.all.faults, kKilledInSmoke);
  for (const SeededFault& fault : table.survivors) {
    if (fault.survives.empty()) lines.push_back(fault.name + " survives, and nobody said why");
  }
  if (!found.alarms.empty()) lines.push_back("false alarms");
  if (!found.bad_controls.empty()) lines.push_back("modules without a fault that failed");
  return lines;
}

std::string markdown(const Options& options, const Findings& found, const KillTable& table) {
  const std::string tier(name_of(options.tier));
  std::string text = fmt::format("| family | faults | killed, {} tier | smoke tier | without goldens |\n", tier);
  text += "| --- | --- | --- | --- | --- |\n";
  const auto line = [&](const std::string& name, const KillTable::Row& row) {
    text +=
        fmt::format("| {} | {} | {} | {} | {} |\n", name, row.faults, row.killed, row.in_smoke, row.without_goldens);
  };
  for (const auto& [family, row] : table.families) line(family, row);
  line("**of precision**", table.precision);
  line("**all**", table.all);
  text += "\n| check | kills | alone | of precision |\n| --- | --- | --- | --- |\n";
  for (const auto& [check, row] : table.checks) {
    text += fmt::format("| {} | {} | {} | {} |\n", check, row.kills, row.alone, row.precision);
  }
  text += fmt::format("\nKilled by the {} tier: {}; of precision {}; by the smoke tier {}.\n", tier,
                      share(table.all.killed, table.all.faults), share(table.precision.killed, table.precision.faults),
                      share(table.all.in_smoke, table.all.faults));
  text += fmt::format("False alarms: {} in {} kernel-cases without a fault; at most {:.2g} a case (95 %).\n",
                      found.alarms.size(), found.innocent,
                      upper_bound_of_rate(static_cast<int64_t>(found.alarms.size()), found.innocent));
  const auto list = [&](const char* heading, const std::vector<std::string>& lines) {
    if (!lines.empty()) text += fmt::format("\n{}:\n", heading);
    for (const std::string& one : lines) text += "- " + one + "\n";
  };
  std::vector<std::string> survivors, problems, beyond;
  for (const SeededFault& fault : table.survivors) {
    survivors.push_back(fmt::format("{} ({}): {}; witness {}; {}", fault.name, fault.family, fault.what, fault.witness,
                                    fault.survives.empty() ? "not explained" : "survives because " + fault.survives));
  }
  for (const auto& [name, problem] : found.problems) problems.push_back(name + ": " + problem);
  for (const auto& [name, why] : found.beyond) beyond.push_back(name + ": " + why);
  list("Survivors", survivors);
  list("Not judged", problems);
  list("Beyond this machine, and not counted", beyond);
  list("False alarms", found.alarms);
  list("Modules without a fault, made as the faults are, that failed", found.bad_controls);
  list("Short of the targets", shortfalls(found, table));
  return text;
}

std::string suites_text(const Findings& found) {
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

nlohmann::json row_to_json(const KillTable::Row& row) {
  return {{"faults", row.faults},
          {"killed", row.killed},
          {"in_smoke", row.in_smoke},
          {"without_goldens", row.without_goldens},
          {"witness_only", row.witness_only}};
}

nlohmann::json to_json(const Options& options, const Findings& found, const KillTable& table) {
  nlohmann::json families = nlohmann::json::object(), checks = nlohmann::json::object();
  for (const auto& [family, row] : table.families) families[family] = row_to_json(row);
  for (const auto& [check, row] : table.checks) {
    checks[check] = {{"kills", row.kills}, {"alone", row.alone}, {"precision", row.precision}};
  }
  nlohmann::json faults = nlohmann::json::array();
  for (const FaultTrial& trial : found.trials) {
    std::set<std::string> killers;
    for (const Kill& kill : trial.kills) killers.insert(kill.checks.begin(), kill.checks.end());
    faults.push_back({{"name", trial.fault.name},
                      {"family", trial.fault.family},
                      {"kernel", trial.fault.kernel()},
                      {"witness", trial.fault.witness},
                      {"what", trial.fault.what},
                      {"cases", trial.kills.size()},
                      {"first", trial.kills.empty() ? "" : trial.kills.front().id},
                      {"checks", killers}});
  }
  return {{"device", options.device},
          {"whole", found.whole},
          {"tier", name_of(options.tier)},
          {"all", row_to_json(table.all)},
          {"precision", row_to_json(table.precision)},
          {"families", families},
          {"checks", checks},
          {"faults", faults},
          {"not_judged", found.problems},
          {"beyond_this_machine", found.beyond},
          {"bad_controls", found.bad_controls},
          {"innocent_cases", found.innocent},
          {"alarms", found.alarms},
          {"alarm_rate_at_most", upper_bound_of_rate(static_cast<int64_t>(found.alarms.size()), found.innocent)}};
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
  if (options.faults.empty()) options.faults = build_folder() / "mutants";
  const auto [whole, faults] = faults_asked_for(options);
  const fs::path out =
      fs::absolute(options.out.empty() ? source_root(options) / "runs" / ("selftest-" + options.device) : options.out);
  Errands errands(options, out);
  Findings found;
  found.whole = whole;
  found.cases = cases_of(make_op_registry(), options.tier, options.device);
  judge_faults(options, faults, errands, found);
  judge_innocents(options, errands, found);
  if (interrupt_signal() != 0) {
    fmt::print(stderr, "assay: stopped; the same command goes on from {}\n", out.string());
    return 128 + interrupt_signal();
  }
  const KillTable table = tabulate(found.trials, found.cases);
  const std::string text = markdown(options, found, table);
  const std::string document = print_json(to_json(options, found, table), 1) + "\n";
  write_file_atomically(out / "selftest.md", text);
  write_file_atomically(out / "selftest.json", document);
  fmt::print("{}", options.json ? document : text + (options.minimise ? suites_text(found) : ""));
  if (!found.problems.empty()) return 4;
  return shortfalls(found, table).empty() ? 0 : 1;
}

}  // namespace assay
