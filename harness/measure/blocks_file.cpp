#include "measure/blocks_file.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "core/error.h"
#include "record/json_fields.h"
#include "record/json_text.h"
#include "record/run_folder.h"

namespace assay {
namespace {

nlohmann::json processes_to_json(const CaseBlock& block) {
  nlohmann::json processes = nlohmann::json::array();
  for (const ProcessLatency& p : block.processes) {
    processes.push_back(
        {static_cast<uint64_t>(p.samples), p.p50_us, p.p90_us, p.p99_us, p.tail, number_to_json(p.stall)});
  }
  return processes;
}

nlohmann::json conditions_to_json(const RecordedBlock& recorded) {
  nlohmann::json all = nlohmann::json::array();
  for (const ProcessConditions& of : recorded.conditions) {
    all.push_back({of.stolen, of.foreign, of.sentinel_us, valid_utf8(of.event)});
  }
  return all;
}

nlohmann::json deltas_to_json(const CaseBlock& block) {
  const PerMetric<double> deltas = block_deltas(block, 0);
  nlohmann::json json;
  for (const LatencyMetric metric : kLatencyMetrics) {
    json[std::string(word_of(metric))] = number_to_json(deltas[static_cast<size_t>(metric)]);
  }
  return json;
}

// The array `key` of exactly `count` elements.
const nlohmann::json& array_of(const JsonFields& fields, const char* key, size_t count) {
  const auto found = fields.json().find(key);
  if (found == fields.json().end() || !found->is_array() || found->size() != count) {
    fields.fail(key, "not an array of " + std::to_string(count));
  }
  return *found;
}

double positive(const JsonFields& fields, const char* key, const nlohmann::json& value) {
  const double number = value.is_number() ? value.get<double>() : -1;
  if (!(number > 0 && number < 1e15)) fields.fail(key, "holds something that is no duration");
  return number;
}

ProcessLatency process_from_json(const JsonFields& fields, const nlohmann::json& value) {
  constexpr const char *kKey = "processes", *kUnknown = "nan";
  const bool whole = value.is_array() && value.size() == 6 && value[0].is_number_unsigned() && value[4].is_number() &&
                     (value[5].is_number() || value[5] == kUnknown);
  if (!whole) fields.fail(kKey, "not four of [samples, p50_us, p90_us, p99_us, tail, stall]");
  const double stall = value[5].is_number() ? value[5].get<double>() : std::numeric_limits<double>::quiet_NaN();
  const ProcessLatency process{.samples = value[0].get<int64_t>(),
                               .p50_us = positive(fields, kKey, value[1]),
                               .p90_us = positive(fields, kKey, value[2]),
                               .p99_us = positive(fields, kKey, value[3]),
                               .tail = value[4].get<double>(),
                               .stall = stall};
  if (process.samples < 1) fields.fail(kKey, "a process without samples");
  if (!(process.tail >= 0 && process.tail <= 1)) fields.fail(kKey, "a tail that is no fraction");
  if (!(process.stall >= 0 && process.stall <= process.tail) && !std::isnan(process.stall)) {
    fields.fail(kKey, "a stall that is no fraction of the tail");
  }
  return process;
}

BlockOrder order_named(const JsonFields& fields) {
  const std::string word = fields.text("order");
  for (const BlockOrder order : {BlockOrder::abba, BlockOrder::baab}) {
    if (word == word_of(order)) return order;
  }
  fields.fail("order", "'" + word + "' is neither ABBA nor BAAB");
}

void require_deltas(const JsonFields& fields, const CaseBlock& block) {
  const JsonFields deltas = fields.object("deltas");
  const PerMetric<double> follow = block_deltas(block, 0);
  for (const LatencyMetric metric : kLatencyMetrics) {
    const std::string word(word_of(metric));
    const double said = deltas.number(word), is = follow[static_cast<size_t>(metric)];
    const bool same = std::isnan(is) ? std::isnan(said) : std::fabs(said - is) <= 1e-9;
    if (!same) deltas.fail(word, "does not follow from the block's processes");
  }
}

void read_processes_of(const JsonFields& fields, CaseBlock& into) {
  const nlohmann::json& processes = array_of(fields, "processes", kProcessesOfABlock);
  for (size_t i = 0; i < kProcessesOfABlock; ++i) into.processes[i] = process_from_json(fields, processes[i]);
  const nlohmann::json& p99 = array_of(fields, "pooled_p99_us", into.pooled_p99_us.size());
  for (size_t arm = 0; arm < p99.size(); ++arm) into.pooled_p99_us[arm] = positive(fields, "pooled_p99_us", p99[arm]);
}

// Of a void block whose kernel failed or refused.
bool is_unmeasured(const JsonFields& fields) {
  const CaseBlock none;
  const auto processes = fields.json().find("processes"), p99 = fields.json().find("pooled_p99_us");
  return processes != fields.json().end() && *processes == processes_to_json(none) && p99 != fields.json().end() &&
         *p99 == nlohmann::json(none.pooled_p99_us);
}

void read_conditions_of(const JsonFields& fields, RecordedBlock& into) {
  constexpr const char* kKey = "conditions";
  const nlohmann::json& processes = array_of(fields, kKey, kProcessesOfABlock);
  for (size_t i = 0; i < kProcessesOfABlock; ++i) {
    const nlohmann::json& value = processes[i];
    const bool whole = value.is_array() && value.size() == 4 && value[0].is_number() && value[1].is_number() &&
                       value[2].is_number() && value[3].is_string();
    if (!whole) fields.fail(kKey, "not four of [stolen, foreign, sentinel_us, event]");
    into.conditions[i] = {value[0].get<double>(), value[1].get<double>(), value[2].get<double>(),
                          value[3].get<std::string>()};
  }
}

// But for the rounding of whoever computed one of them.
bool are_the_same(const ProcessLatency& a, const ProcessLatency& b) {
  const auto close = [](double x, double y) { return std::fabs(x - y) <= 1e-9 * std::max(x, y); };
  return a.samples == b.samples && close(a.p50_us, b.p50_us) && close(a.p90_us, b.p90_us) &&
         close(a.p99_us, b.p99_us) && close(a.tail, b.tail) && close(a.stall, b.stall);
}

void read_samples_of(const JsonFields& fields, RecordedBlock& into) {
  constexpr const char* kKey = "nanoseconds";
  if (!fields.json().contains(kKey)) return;
  if (into.block.median_only) fields.fail(kKey, "given of a block of medians");
  std::array<SampleSet, kProcessesOfABlock> samples;
  const nlohmann::json& processes = array_of(fields, kKey, kProcessesOfABlock);
  for (size_t i = 0; i < processes.size(); ++i) {
    if (!processes[i].is_array()) fields.fail(kKey, "not four arrays");
    for (const nlohmann::json& value : processes[i]) {
      if (!value.is_number_unsigned()) fields.fail(kKey, "holds something that is no duration");
      samples[i].nanoseconds.push_back(value.get<int64_t>());
    }
    into.nanoseconds[i] = samples[i].nanoseconds;
  }
  const auto follow = [&] {
    try {
      return std::ranges::equal(block_of(into.block.order, samples).processes, into.block.processes, are_the_same);
    } catch (const Error&) {  // no samples, or a median of 0
      return false;
    }
  };
  if (!follow()) fields.fail(kKey, "samples from which the block's processes do not follow");
}

}  // namespace

nlohmann::json to_json(const RecordedBlock& recorded) {
  nlohmann::json json{{"class", valid_utf8(recorded.latency_class)},
                      {"case", valid_utf8(recorded.case_id)},
                      {"block", recorded.number},
                      {"order", word_of(recorded.block.order)},
                      {"processes", processes_to_json(recorded.block)},
                      {"median_only", recorded.block.median_only},
                      {"pooled_p99_us", recorded.block.pooled_p99_us},
                      {"deltas", deltas_to_json(recorded.block)},
                      {"void", nullptr},
                      {"conditions", conditions_to_json(recorded)}};
  if (recorded.is_void()) json["void"] = {{"why", valid_utf8(recorded.void_why)}, {"process", recorded.void_process}};
  if (recorded.has_samples()) json["nanoseconds"] = recorded.nanoseconds;
  return json;
}

RecordedBlock block_from_json(const nlohmann::json& value) {
  const JsonFields fields(value);
  RecordedBlock recorded{.latency_class = fields.text("class"),
                         .case_id = fields.text("case"),
                         .number = fields.integer<int64_t>("block")};
  CaseBlock& block = recorded.block;
  block.order = order_named(fields);
  block.median_only = fields.boolean("median_only");
  if (!fields.is_null("void")) {
    const JsonFields told = fields.object("void");
    recorded.void_why = told.text("why");
    recorded.void_process = told.integer<int>("process");
    if (recorded.void_why.empty()) told.fail("why", "empty");
    if (recorded.void_process < -1 || recorded.void_process >= static_cast<int>(kProcessesOfABlock)) {
      told.fail("process", "not from -1 to 3");
    }
  }
  if (!recorded.is_void() || !is_unmeasured(fields)) read_processes_of(fields, block);
  require_deltas(fields, block);
  read_conditions_of(fields, recorded);
  read_samples_of(fields, recorded);
  return recorded;
}

std::vector<RecordedBlock> read_blocks(const std::filesystem::path& file) {
  return parse_blocks(read_whole(file), file.string());
}

std::vector<RecordedBlock> parse_blocks(std::string_view content, const std::string& file) {
  std::vector<RecordedBlock> blocks;
  std::set<std::tuple<std::string, std::string, int64_t>> seen;
  for (size_t line = 1, end = 0; (end = content.find('\n')) != std::string_view::npos; ++line) {
    try {
      blocks.push_back(block_from_json(parse_json(content.substr(0, end))));
      const RecordedBlock& last = blocks.back();
      if (!seen.emplace(last.latency_class, last.case_id, last.number).second) {
        throw UsageError("block: " + std::to_string(last.number) + " of this case twice");
      }
    } catch (const UsageError& e) {
      throw UsageError(file + ":" + std::to_string(line) + ": " + e.what() +
                       "; take the line out of a calibration, or begin another run");
    }
    content.remove_prefix(end + 1);
  }
  return blocks;
}

}  // namespace assay
