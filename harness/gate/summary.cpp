#include "gate/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/plain_text.h"
#include "record/verdict.h"

namespace assay {

Summary summarize(const std::vector<Record>& records) {
  Summary summary;
  for (const Record& record : records) {
    ++summary.records;
    summary.timed += record.latency.empty() ? 0 : 1;
    ++summary.verdicts[record.op + "/" + record.kernel][record.verdict];
    ++summary.totals[record.verdict];
    summary.exit_code = combine_exit_codes(summary.exit_code, exit_code_of(record.verdict));
    if (exit_code_of(record.verdict) != 0) summary.failures.push_back(&record);
    if (record.verdict == Verdict::unsupported && record.reason.starts_with(kNotAvailable)) {
      auto& [cases, lack] = summary.not_available[record.op + "/" + record.kernel];
      ++cases;
      lack = record.reason.substr(kNotAvailable.size());
    }
    for (const CheckResult& result : record.checks) {
      if (result.outcome == Outcome::weak || result.outcome == Outcome::no_baseline ||
          result.outcome == Outcome::skipped) {
        ++summary.not_rigorous[result.check][result.outcome];
      }
    }
    for (const auto& [phase, seconds] : record.seconds) summary.seconds[phase] += seconds;
  }
  std::stable_sort(summary.failures.begin(), summary.failures.end(),
                   [](const Record* a, const Record* b) { return a->verdict > b->verdict; });
  return summary;
}

Palette terminal_palette() { return {"\033[32m", "\033[31m", "\033[2m", "\033[1m", "\033[0m"}; }

std::string verdict_table_text(const Summary& summary, const Palette& palette) {
  size_t width = 6;
  for (const auto& [kernel, unused] : summary.verdicts) width = std::max(width, kernel.size());
  std::string text = fmt::format("{}{:<{}}", palette.bold, "kernel", width);
  for (const auto& [verdict, unused] : summary.totals) text += fmt::format("  {}", word_of(verdict));
  text += fmt::format("{}\n", palette.end);
  const auto row = [&](const std::string& name, const std::map<Verdict, int64_t>& counts) {
    text += fmt::format("{:<{}}", name, width);
    for (const auto& [verdict, unused] : summary.totals) {
      const auto found = counts.find(verdict);
      const int64_t count = found == counts.end() ? 0 : found->second;
      const char* colour = count == 0 ? palette.dull : exit_code_of(verdict) == 0 ? palette.good : palette.bad;
      text += fmt::format("  {}{:>{}}{}", colour, count == 0 ? "." : std::to_string(count), word_of(verdict).size(),
                          palette.end);
    }
    text += "\n";
  };
  for (const auto& [kernel, counts] : summary.verdicts) row(kernel, counts);
  if (summary.verdicts.size() > 1) row("total", summary.totals);
  return text;
}

std::string failure_text(const Record& record, const Palette& palette) {
  return fmt::format("{}{}{}  {}\n  {}\n  owner: {}\n  {}\n", palette.bad, word_of(record.verdict), palette.end,
                     record.kernel_id, plain_text(record.reason),
                     record.owner.empty() ? "unknown" : plain_text(record.owner), record.repro);
}

std::string coverage_text(const Summary& summary) {
  std::string text;
  for (const auto& [check, counts] : summary.not_rigorous) {
    text += fmt::format("  {}:", check);
    for (const auto& [outcome, count] : counts) text += fmt::format(" {} {}", count, word_of(outcome));
    text += "\n";
  }
  if (!text.empty()) text = "checks that were weak, had no baseline or were skipped:\n" + text;
  if (summary.not_available.empty()) return text;
  text += std::string(text.empty() ? "" : "\n") + "kernels that this machine cannot run:\n";
  for (const auto& [kernel, why] : summary.not_available) {
    text += fmt::format("  {}: {} cases not judged: {}\n", kernel, why.first, plain_text(why.second));
  }
  return text;
}

std::string cost_text(const Summary& summary, double wall_seconds, int64_t before) {
  std::string text = fmt::format("{} records ({} timed)", summary.records, summary.timed);
  if (before > 0) text += fmt::format(", {} from before", before);
  if (summary.records > before) {
    text += fmt::format(", {:.1f} s, {:.1f} ms a case", wall_seconds,
                        1000 * wall_seconds / static_cast<double>(summary.records - before));
  }
  std::vector<std::pair<double, std::string>> phases;
  for (const auto& [phase, seconds] : summary.seconds) phases.emplace_back(seconds, phase);
  std::sort(phases.rbegin(), phases.rend());
  for (size_t i = 0; i < phases.size(); ++i) {
    text += fmt::format("{}{} {:.1f} s", i == 0 ? "; " : ", ", phases[i].second, phases[i].first);
  }
  return text + "\n";
}

}  // namespace assay
