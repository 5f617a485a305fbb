// blocks.jsonl: blocks of the A/B gate as they were measured, one JSON object a line, one line a case of a block:
//
//   {"class": "cpu/short", "case": "softmax/simd:rows=64,...", "block": 17, "order": "ABBA",
//    "processes": [[samples, p50_us, p90_us, p99_us, tail, stall], ... four, in time],
//    "median_only": false, "pooled_p99_us": [base, change],
//    "deltas": {"p50": ..., "p90": ..., "tail": ..., "stall": ...},
//    "void": null, "conditions": [[stolen, foreign, sentinel_us, event], ... four, in time],
//    "nanoseconds": [[...], [...], [...], [...]]}
//
// Lines with the same `block` were measured by the same four processes; of a class, a case and a block there is one
// line. A void block whose kernel failed or refused has processes of zeros. `deltas` (measure/block.h; "nan" where
// there is none; fractions whatever the number of samples) follow from the rest: they are there for other readers, and
// a line in which they do not follow is refused. A stall is "nan" in calibrations from before it was kept. `void` is
// null or {"why": "steal", "process": 2}: place in time of the process that it happened to, -1 for none of them alone.
// `conditions`: what the machine did meanwhile, so that other rules can be tried on what was recorded. `nanoseconds`,
// of each launch in the order taken, is there where samples of single launches were kept: changes of
// their distribution can be replayed into such blocks.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "measure/block.h"

namespace assay {

// While one process of a block was timed.
struct ProcessConditions {
  double stolen = 0;       // share of all processor time that the host took
  double foreign = 0;      // that processes other than ours used, of the whole block
  double sentinel_us = 0;  // measure/sentinel.h; 0: not known
  std::string event{};     // "slowdown", "ecc", or nothing

  bool operator==(const ProcessConditions&) const = default;
};

struct RecordedBlock {
  std::string latency_class, case_id;
  int64_t number = 0;
  CaseBlock block;
  std::string void_why = {};  // empty: it counts
  int void_process = -1;
  std::array<ProcessConditions, kProcessesOfABlock> conditions{};
  std::array<std::vector<int64_t>, kProcessesOfABlock> nanoseconds{};  // none, or all four

  bool is_void() const { return !void_why.empty(); }
  bool has_samples() const { return !nanoseconds[0].empty(); }
  bool operator==(const RecordedBlock&) const = default;
};

nlohmann::json to_json(const RecordedBlock& recorded);
RecordedBlock block_from_json(const nlohmann::json& value);  // throws UsageError that names the key

// Throw UsageError that names file, line and key. A torn last line, of a run that was killed, is left out.
std::vector<RecordedBlock> read_blocks(const std::filesystem::path& file);
std::vector<RecordedBlock> parse_blocks(std::string_view content, const std::string& file);

}  // namespace assay
