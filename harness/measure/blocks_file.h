// blocks.jsonl: blocks of the A/B gate as they were measured, one JSON object a line, one line a case of a block:
//
//   {"class": "cpu/short", "case": "softmax/simd:rows=64,...", "block": 17, "order": "ABBA",
//    "processes": [[samples, p50_us, p90_us, p99_us, tail], ... four, in time],
//    "median_only": false, "pooled_p99_us": [base, change], "deltas": {"p50": ..., "p90": ..., "tail": ...},
//    "void": null, "nanoseconds": [[...], [...], [...], [...]]}
//
// Lines with the same `block` were measured by the same four processes; of a class, a case and a block there is one
// line. `deltas` (measure/block.h; "nan" where there is none; tail whatever the number of samples) follow from the
// rest: they are there for other readers, and a line in which they do not follow is refused. `void` is null or
// {"why": "steal", "process": 2}: place in time of the process that it happened to, -1 for none of them alone.
// `nanoseconds`, of each launch in the order taken, is there where samples of single launches were kept: changes of
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

struct RecordedBlock {
  std::string latency_class, case_id;
  int64_t number = 0;
  CaseBlock block;
  std::string void_why = {};  // empty: it counts
  int void_process = -1;
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
