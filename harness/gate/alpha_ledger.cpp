#include "gate/alpha_ledger.h"

#include <algorithm>

#include "record/json_fields.h"
#include "record/json_text.h"

namespace assay {
namespace {

nlohmann::json pair_to_json(const LatencyPair& pair) {
  return {{"case", valid_utf8(pair.case_id)}, {"metric", word_of(pair.metric)}};
}

LatencyPair pair_from_json(const JsonFields& fields) {
  return {fields.text("case"), metric_named(fields.text("metric"))};
}

nlohmann::json called_to_json(const AlphaLedger::Called& called) {
  nlohmann::json value = pair_to_json(called.pair);
  if (!called.failure.empty()) value["failure"] = valid_utf8(called.failure);
  const LatencyReading& reading = called.reading;
  if (reading.blocks == 0) return value;
  value["reading"] = {{"blocks", reading.blocks},
                      {"estimate", number_to_json(reading.estimate)},
                      {"low", number_to_json(reading.interval.lower)},
                      {"high", number_to_json(reading.interval.upper)},
                      {"upper", number_to_json(reading.upper)},
                      {"p_slower", number_to_json(reading.p_slower)},
                      {"p_faster", number_to_json(reading.p_faster)}};
  return value;
}

AlphaLedger::Called called_from_json(const JsonFields& fields) {
  AlphaLedger::Called called{.pair = pair_from_json(fields), .reading = {}};
  if (fields.json().contains("failure")) called.failure = fields.text("failure");
  if (!fields.json().contains("reading")) return called;
  const JsonFields reading = fields.object("reading");
  called.reading = {.blocks = reading.integer<int64_t>("blocks"),
                    .estimate = reading.number("estimate"),
                    .interval = {reading.number("low"), reading.number("high")},
                    .upper = reading.number("upper"),
                    .p_slower = reading.number("p_slower"),
                    .p_faster = reading.number("p_faster")};
  if (called.reading.blocks < 1) reading.fail("blocks", "less than one");
  return called;
}

// More than anybody begins, and to be counted on from.
constexpr int64_t kMostGates = 1'000'000'000;

int64_t gates_of(const JsonFields& fields) {
  const auto gates = fields.integer<int64_t>("gates");
  if (gates < 0 || gates > kMostGates) {
    fields.fail("gates", std::to_string(gates) + " is not from 0 to " + std::to_string(kMostGates));
  }
  return gates;
}

}  // namespace

nlohmann::json to_json(const AlphaLedger& ledger) {
  nlohmann::json regressed = nlohmann::json::array(), open = nlohmann::json::array();
  for (const AlphaLedger::Called& called : ledger.regressed) regressed.push_back(called_to_json(called));
  for (const auto& [pair, gates] : ledger.open) {
    open.push_back(pair_to_json(pair));
    open.back()["gates"] = gates;
  }
  return {{"base", valid_utf8(ledger.base)},
          {"change", valid_utf8(ledger.change)},
          {"gates", ledger.gates},
          {"last_seed", ledger.last_seed},
          {"spent", ledger.spent},
          {"regressed", regressed},
          {"open", open}};
}

AlphaLedger ledger_from_json(const nlohmann::json& value, const std::string& base, const std::string& change) {
  const JsonFields fields(value);
  AlphaLedger ledger{.base = fields.text("base"), .change = fields.text("change")};
  const auto require = [&](const char* key, const std::string& has, const std::string& asked) {
    if (has != asked)
      fields.fail(key, "'" + has + "', but this gate is of '" + asked + "'; give the ledger of this pair");
  };
  require("base", ledger.base, valid_utf8(base));
  require("change", ledger.change, valid_utf8(change));
  ledger.gates = gates_of(fields);
  if (value.contains("last_seed")) ledger.last_seed = fields.integer<uint64_t>("last_seed");
  ledger.spent = fields.number("spent");
  if (!(ledger.spent >= 0 && ledger.spent <= 1)) fields.fail("spent", "not a number from 0 to 1");
  for (const JsonFields& pair : fields.objects("regressed")) ledger.regressed.push_back(called_from_json(pair));
  for (const JsonFields& open : fields.objects("open")) {
    ledger.open.push_back({pair_from_json(open), gates_of(open)});
  }
  return ledger;
}

}  // namespace assay
