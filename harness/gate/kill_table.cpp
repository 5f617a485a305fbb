#include "gate/kill_table.h"

#include <algorithm>
#include <array>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>

#include "core/error.h"
#include "record/json_fields.h"
#include "record/json_text.h"
#include "record/run_folder.h"
#include "record/verdict.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 3> kGoldenChecks{"golden-bits", "statistical", kWithdrawn};

bool is_failure(Verdict verdict) { return exit_code_of(verdict) == 1; }

std::set<std::string> failed_checks(const Record& record) {
  std::set<std::string> checks;
  for (const CheckResult& result : record.checks) {
    if (result.outcome == Outcome::fail) checks.insert(result.check);
  }
  if (checks.empty()) checks.insert(std::string(word_of(record.verdict)));
  return checks;
}

double total_seconds(const Record& record) {
  double total = 0;
  for (const auto& [phase, seconds] : record.seconds) total += seconds;
  return total;
}

void count(KillTable::Row& row, const FaultOutcome& outcome) {
  ++row.faults;
  row.killed += !outcome.checks.empty();
  row.in_smoke += outcome.in_smoke;
  row.without_goldens += outcome.without_goldens;
  row.witness_only += !outcome.witness_checks.empty();
}

// Faults that each case kills, as indexes into the trials.
using Kills = std::map<std::string, std::set<size_t>>;

Kills kills_by_case(const std::vector<FaultTrial>& trials, const CaseSeconds& seconds) {
  Kills kills;
  for (size_t i = 0; i < trials.size(); ++i) {
    for (const Kill& kill : trials[i].kills) {
      const std::string c = case_of_kernel_id(kill.id);
      if (seconds.contains(c)) kills[c].insert(i);
    }
  }
  return kills;
}

Suite suite_from(std::vector<std::string> cases, const Kills& kills, const CaseSeconds& seconds) {
  std::set<size_t> killed;
  Suite suite;
  for (const std::string& c : cases) {
    suite.seconds += seconds.at(c);
    const auto found = kills.find(c);
    if (found != kills.end()) killed.insert(found->second.begin(), found->second.end());
  }
  suite.cases = std::move(cases);
  suite.kills = static_cast<int64_t>(killed.size());
  return suite;
}

// Of the cases the one with the most faults that are not yet killed a second; empty when none kills any of them.
std::string best_next(const Kills& kills, const CaseSeconds& seconds, const std::set<size_t>& killed) {
  constexpr double kLeastSeconds = 1e-3;  // a case without any time of its own costs this
  std::string best;
  double best_rate = 0;
  for (const auto& [c, faults] : kills) {
    const auto fresh =
        std::count_if(faults.begin(), faults.end(), [&](size_t fault) { return !killed.contains(fault); });
    const double rate = static_cast<double>(fresh) / std::max(seconds.at(c), kLeastSeconds);
    if (rate <= best_rate) continue;
    best_rate = rate;
    best = c;
  }
  return best;
}

}  // namespace

SeededFaults read_faults(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "faults.json";
  if (!std::filesystem::exists(file)) {
    throw UsageError(file.string() + ": not found; harness/tests/mutants/build.py makes the faults");
  }
  SeededFaults all;
  try {
    const nlohmann::json document = parse_json(read_whole(file));
    const JsonFields fields(document);
    all.whole = fields.boolean("whole");
    for (const JsonFields& one : fields.objects("faults")) {
      all.faults.push_back({.name = one.text("name"),
                            .target = one.text("target"),
                            .module = one.text("module"),
                            .family = one.text("family"),
                            .witness = one.text("witness"),
                            .what = one.text("what"),
                            .precision = one.boolean("precision"),
                            .survives = one.text("survives")});
    }
  } catch (const UsageError& e) {
    throw UsageError(file.string() + ": " + e.what() + "; harness/tests/mutants/build.py makes it anew");
  }
  return all;
}

std::vector<Kill> kills_between(const std::vector<Record>& control, const std::vector<Record>& spoilt) {
  std::map<std::string, const Record*> without;
  for (const Record& record : control) without[record.kernel_id] = &record;
  std::vector<Kill> kills;
  for (const Record& record : spoilt) {
    const auto found = without.find(record.kernel_id);
    if (found == without.end()) continue;
    const Record& before = *found->second;
    if (is_failure(record.verdict) && exit_code_of(before.verdict) == 0 && before.verdict != Verdict::known) {
      kills.push_back({record.kernel_id, record.verdict, failed_checks(record), total_seconds(before)});
    } else if (record.verdict == Verdict::unsupported && before.verdict == Verdict::pass) {
      kills.push_back({record.kernel_id, record.verdict, {std::string(kWithdrawn)}, total_seconds(before)});
    }
  }
  return kills;
}

FaultOutcome outcome_of(const FaultTrial& trial, const TierCases& cases) {
  FaultOutcome outcome;
  for (const Kill& kill : trial.kills) {
    const std::string c = case_of_kernel_id(kill.id);
    if (!cases.tier.contains(c)) continue;
    if (outcome.cases++ == 0) outcome.first = kill.id;
    outcome.checks.insert(kill.checks.begin(), kill.checks.end());
    outcome.in_smoke = outcome.in_smoke || cases.smoke.contains(c);
  }
  outcome.without_goldens = std::any_of(outcome.checks.begin(), outcome.checks.end(), [](const std::string& check) {
    return std::find(kGoldenChecks.begin(), kGoldenChecks.end(), check) == kGoldenChecks.end();
  });
  if (!outcome.checks.empty() || trial.kills.empty()) return outcome;
  outcome.first = trial.kills.front().id;
  for (const Kill& kill : trial.kills) outcome.witness_checks.insert(kill.checks.begin(), kill.checks.end());
  return outcome;
}

KillTable tabulate(const std::vector<FaultTrial>& trials, const TierCases& cases) {
  KillTable table;
  for (const FaultTrial& trial : trials) {
    const FaultOutcome outcome = outcome_of(trial, cases);
    const bool precision = trial.fault.precision;
    for (KillTable::Row* row : {&table.all, &table.families[trial.fault.family]}) count(*row, outcome);
    if (precision) count(table.precision, outcome);
    for (const std::string& check : outcome.checks) {
      KillTable::CheckRow& row = table.checks[check];
      ++row.kills;
      row.alone += outcome.checks.size() == 1;
      row.precision += precision;
    }
    if (outcome.checks.empty()) table.survivors.push_back(trial.fault);
  }
  return table;
}

double upper_bound_of_rate(int64_t seen, int64_t trials, double confidence) {
  if (trials == 0) return 1;
  using Binomial = boost::math::binomial_distribution<double>;
  return Binomial::find_upper_bound_on_p(static_cast<double>(trials), static_cast<double>(seen), 1 - confidence);
}

Suite suite_of(const std::vector<FaultTrial>& trials, const CaseSeconds& seconds, const std::set<std::string>& cases) {
  std::vector<std::string> there;
  for (const std::string& c : cases) {
    if (seconds.contains(c)) there.push_back(c);
  }
  return suite_from(std::move(there), kills_by_case(trials, seconds), seconds);
}

Suite least_suite(const std::vector<FaultTrial>& trials, const CaseSeconds& seconds, double keep) {
  const Kills kills = kills_by_case(trials, seconds);
  std::set<size_t> all;
  for (const auto& [c, faults] : kills) all.insert(faults.begin(), faults.end());
  const auto wanted = static_cast<size_t>(std::ceil(keep * static_cast<double>(all.size())));
  std::vector<std::string> chosen;
  std::set<size_t> killed;
  while (killed.size() < wanted) {
    chosen.push_back(best_next(kills, seconds, killed));
    killed.insert(kills.at(chosen.back()).begin(), kills.at(chosen.back()).end());
  }
  for (size_t i = chosen.size(); i-- > 0;) {
    std::vector<std::string> rest = chosen;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    if (suite_from(rest, kills, seconds).kills >= static_cast<int64_t>(wanted)) chosen = rest;
  }
  return suite_from(chosen, kills, seconds);
}

std::string case_of_kernel_id(const std::string& kernel_id) {
  const size_t slash = kernel_id.find('/'), colon = kernel_id.find(':');
  if (slash == std::string::npos || slash > colon) return kernel_id;
  return kernel_id.substr(0, slash) + (colon == std::string::npos ? "" : kernel_id.substr(colon));
}

}  // namespace assay
