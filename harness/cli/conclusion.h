// How a run ended: its records, what is wrong beside them, the one exit code, and how that is told to people and
// programs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gate/comparison.h"
#include "gate/fuzz.h"
#include "record/fingerprint.h"
#include "record/record.h"
#include "record/run_json.h"

namespace assay {

struct Conclusion {
  std::vector<Record> records;
  std::vector<Finding> findings;
  std::vector<LeftOut> left_out;
  std::vector<Fingerprint> fingerprints;
  std::optional<FuzzSummary> fuzz;       // of a run whose cases were drawn
  int64_t found = 0;                     // cases that it left to be stored
  std::optional<Comparison> comparison;  // of latencies, with a base
  PinLabel pin;
  bool findings_approved = false;
  int exit_code = 0;
  int64_t records_before = 0;     // made before this was resumed
  double wall_seconds = 0;        // of the others
  double budget_seconds = 0;      // of the tier; 0: none applies
  std::string program = "assay";  // as it was called
  std::string root_argument;      // of lines to paste (cli/paths.h)
  std::filesystem::path run;
  std::filesystem::path report;  // the page to open; empty: none
};

// Sets findings and exit code: that of the verdicts; 4 when planned and recorded differ or a module could not be used;
// 2 for findings nobody approved.
void conclude(Conclusion& conclusion, const std::vector<std::string>& mismatches,
              const std::vector<std::string>& broken_modules, std::vector<Finding> findings, bool findings_approved);

void print_text(const Conclusion& conclusion, bool explain);
void print_json(const Conclusion& conclusion);

// A dispatcher's candidates, one a line: "  simd: needs cols <= 65536". Empty for other kernels.
std::string candidates_text(const Record& record);

}  // namespace assay
