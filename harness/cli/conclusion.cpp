#include "cli/conclusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/progress.h"
#include "core/plain_text.h"
#include "gate/fingerprints.h"
#include "gate/pin.h"
#include "gate/plan.h"
#include "gate/program.h"
#include "gate/summary.h"
#include "record/json_text.h"
#include "record/verdict.h"

namespace assay {
namespace {

constexpr std::string_view kCandidate = "candidate.";

const char* meaning_of_exit(int code) {
  static constexpr const char* kMeanings[] = {"pass", "failure", "inconclusive, or findings to approve", "invalid",
                                              "usage or internal error"};
  return kMeanings[code];
}

// Of the run, not of the change: nobody can approve it.
bool is_error(const Finding& finding) {
  return finding.kind == "count" || finding.kind == "module" || finding.kind == "blocks";
}

void print_findings(const Conclusion& conclusion, const Palette& palette, const char* heading,
                    bool (*wanted)(const Finding&)) {
  bool first = true;
  for (const Finding& finding : conclusion.findings) {
    if (!wanted(finding)) continue;
    if (first) fmt::print("\n{}{}{}:\n", palette.bold, heading, palette.end);
    first = false;
    fmt::print("  {}: {}\n", finding.kind,
               plain_text(with_program_named(finding.text, conclusion.program, conclusion.root_argument)));
  }
}

std::string listed(const std::vector<NotCompared>& all, const char* heading) {
  std::string text;
  for (const NotCompared& one : all) text += fmt::format("  {}: {}: {}\n", heading, one.what, plain_text(one.why));
  return text;
}

// Why a gate took longer than it need.
std::string voids_text(const std::map<std::string, int64_t>& void_blocks) {
  std::string text;
  for (const auto& [why, count] : void_blocks) {
    text += fmt::format("{}{} by '{}'", text.empty() ? " (void for at least one case: " : ", ", count, plain_text(why));
  }
  return text.empty() ? text : text + ")";
}

// One line a case that is not as it was, after a line that counts; then what was not measured, and why.
std::string comparison_text(const Comparison& comparison) {
  if (!comparison.invalid.empty()) return fmt::format("latency: invalid: {}\n", comparison.invalid);
  std::map<LatencyOutcome, size_t> counts;
  for (const CaseResult& one : comparison.result.cases) ++counts[worst_outcome(one)];
  std::string text = fmt::format("latency: {} cases", comparison.result.cases.size());
  for (const auto& [outcome, count] : counts) text += fmt::format(", {} {}", count, word_of(outcome));
  text += fmt::format("; {} blocks{}, {}\n", comparison.blocks, voids_text(comparison.result.void_blocks),
                      print_duration(comparison.seconds));
  for (const CaseResult& one : comparison.result.cases) {
    const LatencyOutcome worst = worst_outcome(one);
    if (worst == LatencyOutcome::pass || worst == LatencyOutcome::not_gated) continue;
    for (const LatencyMetric metric : kLatencyMetrics) {
      const PairResult& pair = one.pairs[static_cast<size_t>(metric)];
      if (pair.outcome == LatencyOutcome::pass || pair.outcome == LatencyOutcome::not_gated) continue;
      text +=
          fmt::format("  {:<12} {}  {}: {}\n", word_of(pair.outcome), one.id, word_of(metric), plain_text(pair.reason));
    }
  }
  for (const ChangedSelection& one : comparison.selections) {
    text += fmt::format("  dispatch     {}: {}\n", one.kernel_id, plain_text(one.what));
  }
  for (const Finding& finding : comparison.result.findings) {
    text += fmt::format("  {}: {}\n", finding.kind, plain_text(finding.text));
  }
  return text + listed(comparison.compared.unchanged, "unchanged") +
         listed(comparison.compared.left_out, "no latency verdict");
}

}  // namespace

void conclude(Conclusion& conclusion, const std::vector<std::string>& mismatches,
              const std::vector<std::string>& broken_modules, std::vector<Finding> findings, bool findings_approved) {
  conclusion.findings_approved = findings_approved;
  conclusion.exit_code = summarize(conclusion.records).exit_code;
  if (!findings.empty() && !findings_approved) conclusion.exit_code = combine_exit_codes(conclusion.exit_code, 2);
  conclusion.findings = std::move(findings);
  for (const std::string& mismatch : mismatches) conclusion.findings.push_back({"count", mismatch});
  for (const std::string& broken : broken_modules) conclusion.findings.push_back({"module", broken});
  if (!mismatches.empty() || !broken_modules.empty()) {
    conclusion.exit_code = combine_exit_codes(conclusion.exit_code, 4);
  }
}

std::string candidates_text(const Record& record) {
  std::string text;
  for (const auto& [key, value] : record.selection) {
    if (key.rfind(kCandidate, 0) == 0)
      text += fmt::format("  {}: {}\n", plain_text(key.substr(kCandidate.size())), plain_text(value));
  }
  if (text.empty()) return text;
  const auto value_of = [&](const char* key) {
    const auto found = record.selection.find(key);
    return found == record.selection.end() ? std::string("unknown") : plain_text(found->second);
  };
  return fmt::format("{}\n{}  chosen: {} ({})\n", record.kernel_id, text, value_of("chosen"), value_of("reason"));
}

void print_text(const Conclusion& conclusion, bool explain) {
  const Palette palette = palette_for(stdout);
  const Summary summary = summarize(conclusion.records);
  if (explain) {
    fmt::print("\n");
    for (const Record& record : conclusion.records) fmt::print("{}", candidates_text(record));
  }
  fmt::print("\n{}", verdict_table_text(summary, palette));
  for (const Record* failure : summary.failures) fmt::print("\n{}", failure_text(*failure, palette));
  print_findings(conclusion, palette, "wrong with the run itself", is_error);
  print_findings(conclusion, palette,
                 conclusion.findings_approved ? "findings, approved" : "findings for the owner to approve",
                 [](const Finding& finding) { return !is_error(finding); });
  const std::string fingerprints = fingerprints_text(conclusion.fingerprints);
  if (!fingerprints.empty()) fmt::print("\n{}\n", fingerprints);
  const std::string coverage = coverage_text(summary);
  if (!conclusion.left_out.empty()) fmt::print("\n");
  for (const std::string& line : left_out_lines(conclusion.left_out)) fmt::print("{}\n", line);
  fmt::print("{}{}\n{}", coverage.empty() ? "" : "\n", coverage,
             cost_text(summary, conclusion.wall_seconds, conclusion.records_before));
  if (conclusion.budget_seconds > 0 && conclusion.wall_seconds > conclusion.budget_seconds) {
    fmt::print("over the tier's budget of {}\n", print_duration(conclusion.budget_seconds));
  }
  if (conclusion.comparison) fmt::print("\n{}", comparison_text(*conclusion.comparison));
  if (conclusion.fuzz) fmt::print("{}\n", fuzz_text(*conclusion.fuzz));
  fmt::print("environment: {}\n", label_text(conclusion.pin));
  for (const std::string& line : conclusion.pin.differences) {
    fmt::print("  {}\n", with_program_named(line, conclusion.program, conclusion.root_argument));
  }
  if (conclusion.found > 0) {
    fmt::print("{} found, in {}; to have every kernel judged by them from now on: {} golden update --run {}{}\n",
               conclusion.found == 1 ? "1 case" : fmt::format("{} cases", conclusion.found),
               (conclusion.run / kFoundFolder).string(), shell_word(conclusion.program),
               shell_quoted(conclusion.run.string()), conclusion.root_argument);
  }
  if (!conclusion.report.empty()) fmt::print("report: {}\n", conclusion.report.string());
  fmt::print("run: {}\n{}exit {}: {}{}\n", conclusion.run.string(),
             conclusion.exit_code == 0 ? palette.good : palette.bad, conclusion.exit_code,
             meaning_of_exit(conclusion.exit_code), palette.end);
}

void print_json(const Conclusion& conclusion) {
  const Summary summary = summarize(conclusion.records);
  nlohmann::json verdicts = nlohmann::json::object(), coverage = nlohmann::json::object();
  for (const auto& [verdict, count] : summary.totals) verdicts[std::string(word_of(verdict))] = count;
  for (const auto& [check, counts] : summary.not_rigorous) {
    for (const auto& [outcome, count] : counts) coverage[check][std::string(word_of(outcome))] = count;
  }
  nlohmann::json failures = nlohmann::json::array(), findings = nlohmann::json::array();
  nlohmann::json left_out = nlohmann::json::array();
  for (const Record* record : summary.failures) {
    failures.push_back({{"kernel_id", record->kernel_id},
                        {"verdict", word_of(record->verdict)},
                        {"reason", record->reason},
                        {"owner", record->owner},
                        {"repro", record->repro}});
  }
  for (const Finding& finding : conclusion.findings)
    findings.push_back({{"kind", finding.kind}, {"text", finding.text}});
  for (const LeftOut& one : conclusion.left_out) {
    left_out.push_back(
        {{"kernel", one.kernel}, {"cases", one.cases}, {"judged_by", one.judged_by}, {"reason", one.reason}});
  }
  nlohmann::json fingerprints = nlohmann::json::object();
  for (const Baseline baseline : {Baseline::same, Baseline::changed, Baseline::none}) {
    fingerprints[std::string(word_of(baseline))] =
        std::count_if(conclusion.fingerprints.begin(), conclusion.fingerprints.end(),
                      [&](const Fingerprint& one) { return one.baseline == baseline; });
  }
  nlohmann::json not_available = nlohmann::json::array();
  for (const auto& [kernel, lacking] : summary.not_available) {
    not_available.push_back({{"kernel", kernel}, {"cases", lacking.first}, {"lacks", lacking.second}});
  }
  nlohmann::json document = {{"run", conclusion.run.string()},
                             {"report", conclusion.report.string()},
                             {"exit_code", conclusion.exit_code},
                             {"records", summary.records},
                             {"timed", summary.timed},
                             {"seconds", conclusion.wall_seconds},
                             {"seconds_by_phase", summary.seconds},
                             {"verdicts", verdicts},
                             {"not_rigorous", coverage},
                             {"failures", failures},
                             {"findings", findings},
                             {"fingerprints", fingerprints},
                             {"not_available", not_available},
                             {"left_out", left_out},
                             {"pin", to_json(conclusion.pin)}};
  if (conclusion.fuzz) {
    const FuzzSummary& fuzz = *conclusion.fuzz;
    document["fuzz"] = {{"seed", fuzz.seed},
                        {"drawn", fuzz.drawn},
                        {"judged", fuzz.judged},
                        {"refused", fuzz.refused},
                        {"failed", fuzz.failed},
                        {"keys", fuzz.keys},
                        {"keys_beyond_listed", fuzz.keys_beyond_listed},
                        {"found", conclusion.found}};
  }
  if (conclusion.comparison) document["latency"] = to_json(*conclusion.comparison);
  fmt::print("{}\n", assay::print_json(document, 1));
}

}  // namespace assay
