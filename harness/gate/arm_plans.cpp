#include "gate/arm_plans.h"

#include <algorithm>
#include <future>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "record/json_fields.h"
#include "record/json_text.h"
#include "record/run_folder.h"

namespace assay {

using nlohmann::json;

namespace {

namespace fs = std::filesystem;

std::string why_not_timed(const Timed& timed) {
  if (!timed.refused.empty()) return "refuses it: " + timed.refused;
  if (!timed.failed.empty()) return "fails: " + timed.failed;
  return {};
}

ArmPlans ask_for_plans(const BlockMeter::Settings& settings) {
  BlockMeter meter(settings);
  const auto how = meter.prepares_at_once() ? std::launch::async : std::launch::deferred;
  auto of_change = std::async(how, [&] { return meter.planned(true); });
  const std::map<std::string, Timed> base = meter.planned(false), change = of_change.get();
  ArmPlans plans;
  for (const auto& [kernel_id, of_base] : base) {
    const Timed& of_change = change.at(kernel_id);
    const std::string base_why = why_not_timed(of_base), change_why = why_not_timed(of_change);
    if (base_why.empty() && change_why.empty()) {
      const std::string what = selection_changes(of_base.selection, of_change.selection);
      if (!what.empty()) plans.changed.push_back({kernel_id, what});
      continue;
    }
    std::string why = change_why.empty() ? "" : "the change " + change_why;
    if (!base_why.empty()) why += (why.empty() ? "the base " : "; the base ") + base_why;
    // What the base refuses is new. What it fails at may be a process that was lost, and there is nothing to compare.
    const bool is_new = change_why.empty() && of_base.failed.empty();
    const LatencyOutcome as = is_new             ? LatencyOutcome::not_gated
                              : base_why.empty() ? LatencyOutcome::failed
                                                 : LatencyOutcome::invalid;
    plans.not_timed.push_back({kernel_id, as, why});
  }
  return plans;
}

json to_json(const ArmPlans& plans) {
  json not_timed = json::array();
  for (const NotTimed& one : plans.not_timed) {
    not_timed.push_back({{"kernel_id", one.kernel_id}, {"as", word_of(one.as)}, {"why", one.why}});
  }
  return {{"selections", to_json(plans.changed)}, {"not_timed", not_timed}};
}

ArmPlans plans_from_json(const json& value) {
  const JsonFields fields(value);
  ArmPlans plans;
  for (const JsonFields& one : fields.objects("selections")) {
    plans.changed.push_back({one.text("kernel_id"), one.text("what")});
  }
  for (const JsonFields& one : fields.objects("not_timed")) {
    constexpr LatencyOutcome kAll[] = {LatencyOutcome::failed, LatencyOutcome::invalid, LatencyOutcome::not_gated};
    const auto* as = std::ranges::find(kAll, one.text("as"), [](LatencyOutcome of) { return word_of(of); });
    if (as == std::end(kAll)) one.fail("as", "'" + one.text("as") + "' is not what a plan comes to");
    plans.not_timed.push_back({one.text("kernel_id"), *as, one.text("why")});
  }
  return plans;
}

}  // namespace

json to_json(const std::vector<ChangedSelection>& selections) {
  json list = json::array();
  for (const ChangedSelection& one : selections) list.push_back({{"kernel_id", one.kernel_id}, {"what", one.what}});
  return list;
}

std::string selection_changes(const std::map<std::string, std::string>& base,
                              const std::map<std::string, std::string>& change) {
  std::map<std::string, std::pair<std::string, std::string>> values;
  for (const auto& [key, value] : base) values[key].first = value;
  for (const auto& [key, value] : change) values[key].second = value;
  std::string text;
  for (const auto& [key, pair] : values) {
    if (pair.first == pair.second) continue;
    const auto shown = [](const std::string& value) { return value.empty() ? std::string("nothing") : value; };
    text += (text.empty() ? "" : ", ") + key + ": " + shown(pair.first) + " -> " + shown(pair.second);
  }
  return text;
}

std::optional<ArmPlans> plans_of_arms(const BlockMeter::Settings& settings, const fs::path& folder) {
  const fs::path file = folder / "plans.json";
  if (is_there(file)) {
    try {
      return plans_from_json(parse_json(read_whole(file)));
    } catch (const UsageError& e) {
      throw UsageError(file.string() + ": " + e.what() + "; begin another run");
    }
  }
  ArmPlans plans = ask_for_plans(settings);
  if (settings.stop_asked()) return std::nullopt;
  write_file_atomically(file, print_json(to_json(plans), 1) + "\n");
  return plans;
}

}  // namespace assay
