#include "gate/canary_report.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "gate/record_libraries.h"
#include "record/json.h"
#include "record/json_text.h"
#include "record/run_folder.h"
#include "record/verdict.h"

namespace assay {

using nlohmann::json;

namespace {

// The line that replays a case, with ID for it.
std::string repro_of_any(std::span<const Record> records) {
  if (records.empty()) return {};
  std::string line = records.front().repro;
  const std::string& id = records.front().kernel_id;
  if (const size_t at = line.find(id); at != std::string::npos) line.replace(at, id.size(), "ID");
  return line;
}

// All that a side had loaded under a name of its set's files, its own or not; the side's run.json has what else it had.
// A record tells the build of what came late, and no folder.
std::vector<LoadedLibrary> loaded_by_name(const CanaryArm& arm) {
  std::map<std::pair<std::string, std::string>, LoadedLibrary> told;  // by path and build: names are read from files
  for (const Record& record : arm.records) {
    for (const LoadedLibrary& late : libraries_of(record, {})) told.try_emplace({late.path, late.build_id}, late);
  }
  std::vector<LoadedLibrary> late;
  for (const auto& [unused, library] : told) late.push_back(library);
  std::vector<LoadedLibrary> loaded = named_in(arm.set, arm.loaded);
  for (const LoadedLibrary& library : named_in(arm.set, late)) {
    const auto is_known = [&](const LoadedLibrary& one) { return one.build_id == library.build_id; };
    if (std::ranges::none_of(loaded, is_known)) loaded.push_back(library);
  }
  return loaded;
}

json side_to_json(const CanaryArm& arm) {
  json loaded = json::array();
  for (const LoadedLibrary& library : loaded_by_name(arm)) {
    loaded.push_back({{"path", library.path}, {"version", library.version}, {"build_id", library.build_id}});
  }
  return {{"set", to_json(arm.set)},
          {"loaded", loaded},
          {"tells", versions_told(arm)},
          {"repro", repro_of_any(arm.records)}};
}

std::map<std::string, std::string> repro_lines(const std::vector<Record>& records) {
  std::map<std::string, std::string> lines;
  for (const Record& record : records) lines[record.kernel_id] = record.repro;
  return lines;
}

json reasons_to_json(const CanaryReport& report) {
  const auto pin = repro_lines(report.evidence->pin.records),
             candidate = repro_lines(report.evidence->candidate.records);
  json list = json::array();
  for (const CanaryReason& reason : report.result->reasons) {
    json one = {{"asks", word_of(reason.asks)},
                {"kind", reason.kind},
                {"kernel", reason.kernel},
                {"what", reason.what},
                {"text", reason.text}};
    const std::string id = reason.what.substr(0, reason.what.find(' '));
    if (pin.contains(id) && candidate.contains(id)) {
      one["repro"] = {{"pin", pin.at(id)}, {"candidate", candidate.at(id)}};
    }
    list.push_back(one);
  }
  return list;
}

json errors_to_json(const CanaryErrors& errors) {
  return {{"worst", number_or_null(errors.worst)}, {"typical", number_or_null(errors.typical)}};
}

json kernel_to_json(const CanaryKernel& kernel) {
  json cases = json::object();
  for (const auto& [change, count] : kernel.cases) cases[std::string(word_of(change))] = count;
  return {{"kernel", kernel.kernel},           {"planned", kernel.all},
          {"refused", kernel.refused},         {"cases", cases},
          {"bits_moved", kernel.bits_moved},   {"bits_compared", kernel.bits_compared},
          {"pin", errors_to_json(kernel.pin)}, {"candidate", errors_to_json(kernel.candidate)},
          {"selections", kernel.selections},   {"workspace_grew", kernel.workspace_grew}};
}

std::string_view word_of(const std::optional<Verdict>& verdict) { return verdict ? word_of(*verdict) : "none"; }

json case_to_json(const CanaryCase& one) {
  return {{"kernel_id", one.kernel_id},
          {"pin", word_of(one.pin)},
          {"candidate", word_of(one.candidate)},
          {"change", word_of(one.change)},
          {"moved", one.moved},
          {"pin_worst", number_or_null(one.pin_q)},
          {"candidate_worst", number_or_null(one.candidate_q)},
          {"selection", one.selection},
          {"workspace_growth", one.workspace_growth}};
}

json first_call_to_json(const FirstCall& call) {
  return {{"kernel_id", call.kernel_id},       {"processes", call.processes},         {"pin_us", call.pin_us},
          {"candidate_us", call.candidate_us}, {"ratio", number_or_null(call.ratio)}, {"low", number_or_null(call.low)},
          {"high", number_or_null(call.high)}};
}

// With every path as others may see it.
json told(const json& value, const ToldPaths& paths, bool is_command = false) {
  if (value.is_string()) {
    const std::string text = value;
    return is_command ? paths.in_command(text) : paths.in_text(text);
  }
  if (!value.is_structured()) return value;
  json copy = value.is_object() ? json::object() : json::array();
  for (auto item = value.begin(); item != value.end(); ++item) {
    if (value.is_object()) {  // keys too: some are what a kernel says of itself
      copy[paths.in_text(item.key())] = told(*item, paths, is_command || item.key() == "repro");
    } else {
      copy.push_back(told(*item, paths, is_command));
    }
  }
  return copy;
}

}  // namespace

json to_json(const CanaryReport& report) {
  const CanaryResult& result = *report.result;
  json kernels = json::array(), cases = json::array(), first_calls = json::array();
  for (const CanaryKernel& kernel : result.kernels) kernels.push_back(kernel_to_json(kernel));
  for (const CanaryCase& one : result.cases) cases.push_back(case_to_json(one));
  for (const FirstCall& call : report.evidence->first_calls) first_calls.push_back(first_call_to_json(call));
  json document = {{"schema", schema_to_json()},
                   {"library", report.library},
                   {"verdict", word_of(result.verdict)},
                   {"exit_code", exit_code_of(result.verdict)},
                   {"asked",
                    {{"tier", report.tier},
                     {"filters", report.filters},
                     {"modules", report.modules},
                     {"latency", report.evidence->latency_asked},
                     {"threads", json()}}},
                   {"started", report.started},
                   {"finished", report.finished},
                   {"judged_seconds", report.judged_seconds},
                   {"pin", side_to_json(*report.pin)},
                   {"candidate", side_to_json(*report.candidate)},
                   {"same_build", report.evidence->same_build},
                   {"environment", json()},
                   {"environment_label", json()},
                   {"reasons", reasons_to_json(report)},
                   {"kernels", kernels},
                   {"cases", cases},
                   {"first_calls", first_calls},
                   {"out_of_time", report.evidence->out_of_time},
                   {"why_no_latency", why_no_latency(*report.evidence)},
                   {"latency", json()}};
  if (report.evidence->latency) document["latency"] = to_json(*report.evidence->latency);
  if (report.run != nullptr) {
    document["asked"]["threads"] = report.run->threads;
    document["environment"] = report.run->environment;
    document["environment_label"] = to_json(report.run->pin);
  }
  return told(document, *report.paths);
}

void write_canary(const std::filesystem::path& folder, const CanaryReport& report) {
  write_file_atomically(folder / kCanaryFile, print_json(to_json(report), 1) + "\n");
}

}  // namespace assay
