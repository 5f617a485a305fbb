// What a run came to, computed from its records: counts, the exit code, and the text a person reads at the end.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "record/record.h"
#include "record/run_json.h"

namespace assay {

struct Summary {
  std::map<std::string, std::map<Verdict, int64_t>> verdicts;  // by op/kernel
  std::map<Verdict, int64_t> totals;
  std::map<std::string, std::map<Outcome, int64_t>> not_rigorous;        // by check: weak, no-baseline, skipped
  std::map<std::string, std::pair<int64_t, std::string>> not_available;  // by kernel: cases, and what it lacks here
  std::map<std::string, double> seconds;                                 // by phase
  std::vector<const Record*> failures;  // verdicts whose exit code is not 0, worst first; point into the records
  int64_t records = 0;
  int64_t timed = 0;
  int exit_code = 0;  // of the verdicts alone
};
Summary summarize(const std::vector<Record>& records);

// Colours for a terminal; all empty when there is none or NO_COLOR is set.
struct Palette {
  const char *good = "", *bad = "", *dull = "", *bold = "", *end = "";
};
Palette terminal_palette();

std::string verdict_table_text(const Summary& summary, const Palette& palette);
std::string failure_text(const Record& record, const Palette& palette);  // verdict, id, reason, owner, repro
std::string coverage_text(const Summary& summary);  // "" when every kernel could run and every check was rigorous
// `before` of the records were there already; the wall time is that of the others.
std::string cost_text(const Summary& summary, double wall_seconds, int64_t before = 0);

}  // namespace assay
