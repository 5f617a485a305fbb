// The comparison of two arms' latencies: which cases of a run it is about, the blocks that are measured, what comes of
// them. Its folder is the run's: blocks.jsonl (measure/blocks_file.h), a line a case of a block, written before the
// next block begins, plans.json, which cases those are of and what was not to be timed, and latency.json at the end. A
// comparison that was interrupted goes on where its blocks end.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gate/arm_plans.h"
#include "gate/arms.h"
#include "gate/block_meter.h"
#include "gate/latency_gate.h"
#include "gate/plan.h"

namespace assay {

// "cpu/warm/below-50us": device, caches, and how long a launch takes, which says how it is sampled: `batched` and
// `coarse` have medians alone.
std::string latency_class_of(const std::string& device, const LatencySummary& latency);

struct NotCompared {
  std::string what;  // op/kernel or a kernel id
  std::string why;
};

struct ComparedCases {
  std::vector<ArmCase> cases;
  std::vector<NotCompared> unchanged;  // kernels with the same code in both arms: never measured, nothing to decide
  std::vector<NotCompared> left_out;   // no latency verdict: new, gone, or not correct
  // Metric "first_call", measured beside the cases of the same kernel id, of which the gate is not told.
  std::vector<ArmCase> first_calls = {};
  std::vector<ArmCase> refused = {};  // metric "warm": judged, and refused; the base may take it
};
// Of the timed cases of a plan: those whose record passed and has a latency. `skip`: not those of unchanged kernels.
// Throws Invalid for a kernel that neither arm has.
ComparedCases compared_cases(const Plan& plan, const std::vector<Record>& records, const Pairs& pairs,
                             const std::string& device, bool skip);

// Microseconds of each process, of blocks that count.
struct FirstCallTimes {
  std::vector<double> base, change;
};

struct Comparison {
  std::string base, change;  // what tells the arms: source trees, or hashes of the modules
  ComparedCases compared;
  std::vector<ChangedSelection> selections;
  LatencyResult result;
  int64_t blocks = 0;
  double seconds = 0;  // of measuring, without earlier parts of an interrupted comparison
  uint64_t seed = 0;
  std::map<std::string, FirstCallTimes> first_calls{};  // by kernel id
  bool out_of_time = false;                             // it was ended before every pair was decided
  std::string invalid;  // why nothing was measured although it was asked for; then exit code 3
};
nlohmann::json to_json(const Comparison& comparison);

// latency.json of a run's folder.
void write_comparison(const std::filesystem::path& folder, const Comparison& comparison);

struct ComparisonJob {
  ComparedCases compared;
  LatencyPolicy policy;
  std::map<std::string, LatencyClass> classes;  // calibrated ones
  BlockMeter::Settings meter;                   // without cases
  std::filesystem::path folder;
  AlphaLedger ledger;
  AlphaLedger known;  // ComparisonStart::known
  std::function<void(const AlphaLedger&)> save_ledger;
  std::function<bool()> stop_asked = [] { return false; };
  std::function<bool()> out_of_time = [] { return false; };  // asked before each block that is not recorded yet
  std::function<GatedCase(GatedCase, const ArmCase&)> adjust = [](GatedCase gated, const ArmCase&) { return gated; };
  std::function<void(int64_t block, size_t cases)> progress = [](int64_t, size_t) {};

  BlockMeter::Settings meter_settings() const;  // with the cases, first calls last
};
// Nothing when it was stopped. Throws UsageError for a folder whose blocks are those of another comparison, or do not
// come to what is known of it.
std::optional<Comparison> compare_latencies(ComparisonJob job);

// Blocks of all cases, whatever they say: for a calibration, both arms being one. As many as are not in the folder yet.
// False when it was stopped.
bool record_blocks(ComparisonJob job, int64_t blocks);

}  // namespace assay
