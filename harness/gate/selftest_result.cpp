#include "gate/selftest_result.h"

#include <fmt/format.h>

#include "record/record.h"
#include "record/verdict.h"

namespace assay {
namespace {

std::string share(int64_t part, int64_t whole) {
  if (whole == 0) return "none";
  return fmt::format("{} of {} ({:.1f} %)", part, whole,
                     100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

double alarm_rate_at_most(const SelftestResult& result) {
  return upper_bound_of_rate(static_cast<int64_t>(result.alarms.size()), result.innocent);
}

nlohmann::json to_json(const KillTable::Row& row) {
  return {{"faults", row.faults},
          {"killed", row.killed},
          {"in_smoke", row.in_smoke},
          {"without_goldens", row.without_goldens},
          {"witness_only", row.witness_only}};
}

nlohmann::json to_json(const FaultTrial& trial, const TierCases& cases) {
  const FaultOutcome outcome = outcome_of(trial, cases);
  return {{"name", trial.fault.name},
          {"family", trial.fault.family},
          {"kernel", trial.fault.kernel()},
          {"witness", trial.fault.witness},
          {"what", trial.fault.what},
          {"precision", trial.fault.precision},
          {"survives", trial.fault.survives},
          {"checks", outcome.checks},
          {"witness_checks", outcome.witness_checks},
          {"cases", outcome.cases},
          {"first", outcome.first},
          {"in_smoke", outcome.in_smoke},
          {"without_goldens", outcome.without_goldens}};
}

// Those of the table that killed nothing too.
nlohmann::json checks_to_json(const KillTable& table) {
  std::map<std::string, KillTable::CheckRow> rows = table.checks;
  for (const CheckRow& row : check_table()) rows.try_emplace(std::string(row.check));
  nlohmann::json checks = nlohmann::json::object();
  for (const auto& [check, row] : rows) {
    checks[check] = {{"kills", row.kills}, {"alone", row.alone}, {"precision", row.precision}};
  }
  return checks;
}

}  // namespace

bool is_alarm(Verdict verdict) { return exit_code_of(verdict) != 0; }

bool may_alarm(Verdict verdict) { return verdict != Verdict::unsupported && verdict != Verdict::known; }

std::vector<std::string> shortfalls(const SelftestResult& result) {
  const KillTable table = tabulate(result.trials, result.cases);
  std::vector<std::string> lines;
  const auto require = [&](const char* what, int64_t part, int64_t whole, double least) {
    if (result.whole && static_cast<double>(part) < least * static_cast<double>(whole)) {
      lines.push_back(fmt::format("{}: {}, of which {:.0f} % should be", what, share(part, whole), 100 * least));
    }
  };
  require("killed", table.all.killed, table.all.faults, kKilled);
  require("of precision", table.precision.killed, table.precision.faults, kPrecisionKilled);
  require("killed by the smoke tier", table.all.in_smoke, table.all.faults, kKilledInSmoke);
  for (const SeededFault& fault : table.survivors) {
    if (fault.survives.empty()) lines.push_back(fault.name + " survives, and nobody said why");
  }
  if (result.trials.empty() && !result.beyond.empty()) {
    lines.push_back("every fault is beyond this machine: nothing is known of the checks");
  }
  if (!result.alarms.empty()) lines.push_back("false alarms");
  if (!result.bad_controls.empty()) lines.push_back("modules without a fault that failed");
  return lines;
}

int exit_code_of(const SelftestResult& result) {
  if (!result.not_judged.empty()) return 4;
  return shortfalls(result).empty() ? 0 : 1;
}

std::string markdown(const SelftestResult& result) {
  const KillTable table = tabulate(result.trials, result.cases);
  const std::string tier(name_of(result.tier));
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
  if (result.smoke_first) text += "Of a fault killed by the smoke tier or by its witness no other case was asked.\n";
  text += fmt::format("False alarms: {} in {} kernel-cases without a fault; at most {:.2g} a case (95 %).\n",
                      result.alarms.size(), result.innocent, alarm_rate_at_most(result));
  const auto list = [&](const char* heading, const std::vector<std::string>& lines) {
    if (!lines.empty()) text += fmt::format("\n{}:\n", heading);
    for (const std::string& one : lines) text += "- " + one + "\n";
  };
  std::vector<std::string> survivors, problems, beyond;
  for (const SeededFault& fault : table.survivors) {
    survivors.push_back(fmt::format("{} ({}): {}; witness {}; {}", fault.name, fault.family, fault.what, fault.witness,
                                    fault.survives.empty() ? "not explained" : "survives because " + fault.survives));
  }
  for (const auto& [name, problem] : result.not_judged) problems.push_back(name + ": " + problem);
  for (const auto& [name, why] : result.beyond) beyond.push_back(name + ": " + why);
  list("Survivors", survivors);
  list("Not judged", problems);
  list("Beyond this machine, and not counted", beyond);
  list("False alarms", result.alarms);
  list("Modules without a fault, made as the faults are, that failed", result.bad_controls);
  list("Short of the targets", shortfalls(result));
  return text;
}

nlohmann::json to_json(const SelftestResult& result) {
  const KillTable table = tabulate(result.trials, result.cases);
  nlohmann::json families = nlohmann::json::object(), faults = nlohmann::json::array();
  for (const auto& [family, row] : table.families) families[family] = to_json(row);
  for (const FaultTrial& trial : result.trials) faults.push_back(to_json(trial, result.cases));
  return {{"schema", {{"major", kRecordSchemaMajor}, {"minor", kRecordSchemaMinor}}},
          {"device", result.device},
          {"tier", name_of(result.tier)},
          {"finished", result.finished},
          {"environment", result.environment},
          {"libraries", result.libraries},
          {"whole", result.whole},
          {"smoke_first", result.smoke_first},
          {"exit_code", exit_code_of(result)},
          {"targets", {{"killed", kKilled}, {"precision", kPrecisionKilled}, {"in_smoke", kKilledInSmoke}}},
          {"shortfalls", shortfalls(result)},
          {"all", to_json(table.all)},
          {"precision", to_json(table.precision)},
          {"families", families},
          {"checks", checks_to_json(table)},
          {"faults", faults},
          {"not_judged", result.not_judged},
          {"beyond_this_machine", result.beyond},
          {"bad_controls", result.bad_controls},
          {"innocent_cases", result.innocent},
          {"alarms", result.alarms},
          {"alarm_rate_at_most", alarm_rate_at_most(result)}};
}

}  // namespace assay
