#include "record/run_json.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>

#include "record/json.h"
#include "record/json_fields.h"
#include "record/json_text.h"
#include "record/verdict.h"

namespace assay {
namespace {

using nlohmann::json;

json tables() {
  return {
      {"checks", checks_to_json()}, {"verdicts", verdicts_to_json()}, {"error_histogram_edges", kErrorHistogramEdges}};
}

constexpr std::array kPinStates{PinState::pinned, PinState::mismatched, PinState::unpinned};

PinLabel pin_label_from(const JsonFields& fields) {
  const std::string word = fields.text("state");
  const auto state = std::find_if(kPinStates.begin(), kPinStates.end(), [&](PinState s) { return word_of(s) == word; });
  if (state == kPinStates.end()) fields.fail("state", "'" + word + "' is not one of pinned, mismatched, unpinned");
  return {.platform = fields.text("platform"),
          .state = *state,
          .differences = fields.texts("differences"),
          .unknown = fields.texts("unknown")};
}

}  // namespace

std::string_view word_of(PinState state) {
  switch (state) {
    case PinState::pinned:
      return "pinned";
    case PinState::mismatched:
      return "mismatched";
    case PinState::unpinned:
      break;
  }
  return "unpinned";
}

std::string identity(const LoadedLibrary& library) {
  const bool has_id = !library.build_id.empty() && library.build_id != "unknown";
  return std::filesystem::path(library.path).filename().string() + " " +
         (has_id ? library.build_id : "version " + library.version);
}

json to_json(const PinLabel& pin) {
  return {{"platform", valid_utf8(pin.platform)},
          {"state", word_of(pin.state)},
          {"differences", texts_to_json(pin.differences)},
          {"unknown", texts_to_json(pin.unknown)}};
}

json to_json(const Run& run) {
  json environment = json::object();
  for (const auto& [key, value] : run.environment) environment[valid_utf8(key)] = valid_utf8(value);
  json libraries = json::array();
  for (const LoadedLibrary& library : run.libraries) {
    libraries.push_back({{"path", valid_utf8(library.path)},
                         {"version", valid_utf8(library.version)},
                         {"build_id", valid_utf8(library.build_id)},
                         {"modules", texts_to_json(library.modules)},
                         {"sha256", valid_utf8(library.sha256)}});
  }
  json kernels = json::array();
  for (const KernelEntry& kernel : run.kernels) {
    kernels.push_back({{"op", valid_utf8(kernel.op)},
                       {"name", valid_utf8(kernel.name)},
                       {"target", valid_utf8(kernel.target)},
                       {"module", valid_utf8(kernel.module)},
                       {"module_hash", valid_utf8(kernel.module_hash)},
                       {"contract", to_json(kernel.contract)},
                       {"platform", valid_utf8(kernel.platform)}});
  }
  json judged_by = json::object();
  for (const auto& [what, hash] : run.judged_by) judged_by[what] = hash;
  json findings = json::array();
  for (const Finding& finding : run.findings) {
    findings.push_back({{"kind", valid_utf8(finding.kind)}, {"text", valid_utf8(finding.text)}});
  }
  json left_out = json::array();
  for (const LeftOut& one : run.left_out) {
    left_out.push_back({{"kernel", valid_utf8(one.kernel)},
                        {"cases", one.cases},
                        {"judged_by", valid_utf8(one.judged_by)},
                        {"reason", valid_utf8(one.reason)}});
  }
  json value = {{"schema", schema_to_json()},
                {"asked",
                 {{"command", valid_utf8(run.asked.command)},
                  {"tier", valid_utf8(run.asked.tier)},
                  {"filter", valid_utf8(run.asked.filter)},
                  {"shard", valid_utf8(run.asked.shard)},
                  {"argv", texts_to_json(run.asked.argv)},
                  {"own_modules", run.asked.own_modules},
                  {"device", valid_utf8(run.asked.device)},
                  {"every_module", run.asked.every_module}}},
                {"started", run.started},
                {"finished", run.finished},
                {"planned", run.planned},
                {"recorded", run.recorded},
                {"exit_code", run.exit_code ? json(*run.exit_code) : json(nullptr)},
                {"threads", run.threads},
                {"environment", environment},
                {"libraries", libraries},
                {"kernels", kernels},
                {"findings", findings},
                {"left_out", left_out},
                {"pin", to_json(run.pin)},
                {"judged_by", judged_by},
                {"tables", tables()}};
  if (!run.commit.empty()) value["commit"] = valid_utf8(run.commit);
  return value;
}

Run run_from_json(const json& value) {
  check_schema(value);
  const JsonFields fields(value);
  const JsonFields asked = fields.object("asked");
  Run run;
  run.asked = {.command = asked.text("command"),
               .tier = asked.text("tier"),
               .filter = asked.text("filter"),
               .shard = asked.text("shard"),
               .argv = asked.texts("argv"),
               .own_modules = asked.boolean("own_modules"),
               .device = asked.text("device"),
               .every_module = asked.boolean("every_module")};
  if (fields.has("commit")) run.commit = fields.text("commit");
  run.started = fields.text("started");
  run.finished = fields.text("finished");
  run.planned = fields.integer<int64_t>("planned");
  run.recorded = fields.integer<int64_t>("recorded");
  if (!fields.is_null("exit_code")) run.exit_code = fields.integer<int>("exit_code");
  run.threads = fields.integer<int>("threads");
  const JsonFields environment = fields.object("environment");
  for (const std::string& key : environment.keys()) run.environment[key] = environment.text(key);
  for (const JsonFields& library : fields.objects("libraries")) {
    run.libraries.push_back({library.text("path"), library.text("version"), library.text("build_id"),
                             library.texts("modules"),
                             library.json().contains("sha256") ? library.text("sha256") : ""});
  }
  for (const JsonFields& kernel : fields.objects("kernels")) {
    const JsonFields contract = kernel.object("contract");
    run.kernels.push_back({kernel.text("op"), kernel.text("name"), kernel.text("target"), kernel.text("module"),
                           kernel.text("module_hash"), contract_from_json(contract.json(), contract.path()),
                           kernel.text("platform")});
  }
  for (const JsonFields& finding : fields.objects("findings")) {
    run.findings.push_back({finding.text("kind"), finding.text("text")});
  }
  for (const JsonFields& one : fields.objects("left_out")) {
    run.left_out.push_back(
        {one.text("kernel"), one.integer<int64_t>("cases"), one.text("judged_by"), one.text("reason")});
  }
  run.pin = pin_label_from(fields.object("pin"));
  if (fields.has("judged_by")) {
    const JsonFields judged_by = fields.object("judged_by");
    for (const std::string& what : judged_by.keys()) run.judged_by[what] = judged_by.text(what);
  }
  return run;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace assay
