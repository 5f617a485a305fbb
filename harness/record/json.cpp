#include "record/json.h"

#include "core/error.h"
#include "record/json_fields.h"
#include "record/json_text.h"
#include "record/verdict.h"

namespace assay {
namespace {

using nlohmann::json;

json text(const std::string& value) { return valid_utf8(value); }

json to_json(const CheckResult& result) {
  json value{{"check", text(result.check)},
             {"outcome", word_of(result.outcome)},
             {"verdict", word_of(result.verdict)},
             {"detail", text(result.detail)}};
  if (!result.of_case.empty()) value["of_case"] = text(result.of_case);
  return value;
}

CheckResult check_result_from(const JsonFields& fields) {
  return {.check = fields.text("check"),
          .outcome = outcome_named(fields.text("outcome")),
          .verdict = verdict_named(fields.text("verdict")),
          .detail = fields.text("detail"),
          .of_case = fields.has("of_case") ? fields.text("of_case") : ""};
}

json to_json(const ErrorSummary& error) {
  return {{"tensor", text(error.tensor)},
          {"elements", error.elements},
          {"exact", error.exact},
          {"rigorous", error.rigorous},
          {"weak", error.weak},
          {"vacuous", error.vacuous},
          {"no_evidence", error.no_evidence},
          {"failures", error.failures},
          {"max_q", number_to_json(error.max_q)},
          {"rms_q", number_to_json(error.rms_q)},
          {"mean_signed_q", number_to_json(error.mean_signed_q)},
          {"misrounded", number_to_json(error.misrounded)},
          {"mean_signed_ulps", number_to_json(error.mean_signed_ulps)},
          {"worst_index", error.worst_index},
          {"worst_got", number_to_json(error.worst_got)},
          {"worst_want", number_to_json(error.worst_want)},
          {"worst_bound", number_to_json(error.worst_bound)},
          {"histogram", error.histogram}};
}

ErrorSummary error_summary_from(const JsonFields& fields) {
  return {.tensor = fields.text("tensor"),
          .elements = fields.integer<int64_t>("elements"),
          .exact = fields.integer<int64_t>("exact"),
          .rigorous = fields.integer<int64_t>("rigorous"),
          .weak = fields.integer<int64_t>("weak"),
          .vacuous = fields.integer<int64_t>("vacuous"),
          .no_evidence = fields.integer<int64_t>("no_evidence"),
          .failures = fields.integer<int64_t>("failures"),
          .max_q = fields.number("max_q"),
          .rms_q = fields.number("rms_q"),
          .mean_signed_q = fields.number("mean_signed_q"),
          .misrounded = fields.number("misrounded"),
          .mean_signed_ulps = fields.number("mean_signed_ulps"),
          .worst_index = fields.integer<int64_t>("worst_index"),
          .worst_got = fields.number("worst_got"),
          .worst_want = fields.number("worst_want"),
          .worst_bound = fields.number("worst_bound"),
          .histogram = fields.integers("histogram")};
}

json to_json(const SeedStatistics& seed) {
  return {{"seed", seed.seed},
          {"misrounded", number_to_json(seed.misrounded)},
          {"mean_signed_ulps", number_to_json(seed.mean_signed_ulps)},
          {"rms_q", number_to_json(seed.rms_q)},
          {"mean_signed_q", number_to_json(seed.mean_signed_q)}};
}

SeedStatistics seed_statistics_from(const JsonFields& fields) {
  return {.seed = fields.integer<uint64_t>("seed"),
          .misrounded = fields.number("misrounded"),
          .mean_signed_ulps = fields.number("mean_signed_ulps"),
          .rms_q = fields.number("rms_q"),
          .mean_signed_q = fields.number("mean_signed_q")};
}

json to_json(const LatencySummary& latency) {
  return {{"metric", text(latency.metric)},
          {"samples", latency.samples},
          {"p50_us", number_to_json(latency.p50_us)},
          {"p90_us", number_to_json(latency.p90_us)},
          {"p99_us", number_to_json(latency.p99_us)},
          {"mean_us", number_to_json(latency.mean_us)},
          {"tail_mass", number_to_json(latency.tail_mass)},
          {"quantum_us", number_to_json(latency.quantum_us)},
          {"batch", number_to_json(latency.batch)},
          {"coarse", latency.coarse},
          {"samples_file", text(latency.samples_file)},
          {"involuntary_switches", latency.involuntary_switches},
          {"sm_mhz", number_to_json(latency.sm_mhz)},
          {"sm_mhz_low", number_to_json(latency.sm_mhz_low)}};
}

LatencySummary latency_summary_from(const JsonFields& fields) {
  const bool has_clock = fields.json().contains("sm_mhz");
  return {.metric = fields.text("metric"),
          .samples = fields.integer<int64_t>("samples"),
          .p50_us = fields.number("p50_us"),
          .p90_us = fields.number("p90_us"),
          .p99_us = fields.number("p99_us"),
          .mean_us = fields.number("mean_us"),
          .tail_mass = fields.number("tail_mass"),
          .quantum_us = fields.number("quantum_us"),
          .batch = fields.number("batch"),
          .coarse = fields.boolean("coarse"),
          .samples_file = fields.text("samples_file"),
          .involuntary_switches = fields.integer<int64_t>("involuntary_switches"),
          .sm_mhz = has_clock ? fields.number("sm_mhz") : 0,
          .sm_mhz_low = has_clock ? fields.number("sm_mhz_low") : 0};
}

template <class Items>
json array_of(const Items& items) {
  json array = json::array();
  for (const auto& item : items) array.push_back(to_json(item));
  return array;
}

// Keys that differ only in bytes that are not UTF-8 stay apart.
std::string free_key(const json& object, const std::string& name) {
  std::string key = valid_utf8(name);
  while (object.contains(key)) key += "'";
  return key;
}

template <class Item, class FromFields>
std::vector<Item> items_from(const JsonFields& fields, const std::string& key, FromFields from) {
  std::vector<Item> items;
  for (const JsonFields& item : fields.objects(key)) items.push_back(from(item));
  return items;
}

}  // namespace

Verdict verdict_named(std::string_view word) {
  std::string words;
  for (const VerdictRow& row : verdict_table()) {
    if (row.word == word) return row.verdict;
    words += (words.empty() ? "" : ", ") + std::string(row.word);
  }
  throw UsageError("no verdict '" + std::string(word) + "'; there are " + words);
}

Outcome outcome_named(std::string_view word) {
  for (const Outcome outcome :
       {Outcome::pass, Outcome::fail, Outcome::weak, Outcome::no_baseline, Outcome::not_applicable, Outcome::skipped}) {
    if (word_of(outcome) == word) return outcome;
  }
  throw UsageError("no outcome '" + std::string(word) +
                   "'; there are pass, fail, weak, no-baseline, not-applicable, skipped");
}

json checks_to_json() {
  json checks = json::array();
  for (const CheckRow& row : check_table()) {
    checks.push_back({{"check", row.check}, {"verdict", word_of(row.verdict)}, {"meaning", row.meaning}});
  }
  return checks;
}

json verdicts_to_json() {
  json verdicts = json::array();
  for (const VerdictRow& row : verdict_table()) {
    verdicts.push_back({{"verdict", row.word}, {"exit_code", row.exit_code}, {"meaning", row.meaning}});
  }
  return verdicts;
}

json schema_to_json() { return {{"major", kRecordSchemaMajor}, {"minor", kRecordSchemaMinor}}; }

void check_schema(const json& document) {
  const auto major = JsonFields(document).object("schema").integer<int>("major");
  if (major > kRecordSchemaMajor) {
    throw UsageError("schema " + std::to_string(major) + " is newer than this program reads (" +
                     std::to_string(kRecordSchemaMajor) + "); use a newer assay");
  }
  if (major < 1) throw UsageError("schema.major: not a version");
}

json to_json(const Record& record) {
  json selection = json::object();
  for (const auto& [key, value] : record.selection) selection[free_key(selection, key)] = text(value);
  json seconds = json::object();
  for (const auto& [key, value] : record.seconds) seconds[free_key(seconds, key)] = number_to_json(value);
  return {{"schema", schema_to_json()},
          {"kernel_id", text(record.kernel_id)},
          {"op", text(record.op)},
          {"kernel", text(record.kernel)},
          {"target", text(record.target)},
          {"owner", text(record.owner)},
          {"module_hash", text(record.module_hash)},
          {"verdict", word_of(record.verdict)},
          {"reason", text(record.reason)},
          {"checks", array_of(record.checks)},
          {"errors", array_of(record.errors)},
          {"seeds", array_of(record.seeds)},
          {"output_hash", text(record.output_hash)},
          {"truth_hash", text(record.truth_hash)},
          {"worst_input", text(record.worst_input)},
          {"selection", selection},
          {"workspace_bytes", record.workspace_bytes},
          {"resident_growth_bytes", record.resident_growth_bytes},
          {"interruptions", record.interruptions},
          {"late_libraries", texts_to_json(record.late_libraries)},
          {"latency", array_of(record.latency)},
          {"seconds", seconds},
          {"repro", text(record.repro)}};
}

Record record_from_json(const json& value) {
  check_schema(value);
  const JsonFields fields(value);
  Record record{.kernel_id = fields.text("kernel_id"),
                .op = fields.text("op"),
                .kernel = fields.text("kernel"),
                .target = fields.text("target"),
                .owner = fields.text("owner"),
                .module_hash = fields.text("module_hash"),
                .verdict = verdict_named(fields.text("verdict")),
                .reason = fields.text("reason"),
                .checks = items_from<CheckResult>(fields, "checks", check_result_from),
                .errors = items_from<ErrorSummary>(fields, "errors", error_summary_from),
                .seeds = items_from<SeedStatistics>(fields, "seeds", seed_statistics_from),
                .output_hash = fields.text("output_hash"),
                .truth_hash = fields.text("truth_hash"),
                .worst_input = value.contains("worst_input") ? fields.text("worst_input") : "",
                .selection = {},
                .workspace_bytes = fields.integer<uint64_t>("workspace_bytes"),
                .resident_growth_bytes = fields.integer<int64_t>("resident_growth_bytes"),
                .interruptions = fields.integer<int>("interruptions"),
                .late_libraries = fields.texts("late_libraries"),
                .latency = items_from<LatencySummary>(fields, "latency", latency_summary_from),
                .seconds = {},
                .repro = fields.text("repro")};
  const JsonFields selection = fields.object("selection");
  for (const std::string& key : selection.keys()) record.selection[key] = selection.text(key);
  const JsonFields seconds = fields.object("seconds");
  for (const std::string& key : seconds.keys()) record.seconds[key] = seconds.number(key);
  return record;
}

json to_json(const Contract& contract) {
  const assay_arithmetic& a = contract.arithmetic;
  return {{"interface_version", contract.interface_version},
          {"owner", text(contract.owner)},
          {"domain", text(contract.domain)},
          {"promises", contract.promises},
          {"promised", promise_names(contract.promises)},  // for people; not read back
          {"arithmetic",
           {{"accumulator", a.accumulator},
            {"depth_divisor", a.depth_divisor},
            {"depth_constant", a.depth_constant},
            {"split_k", a.split_k},
            {"partial_type", a.partial_type},
            {"exp_kind", a.exp_kind},
            {"rescales_online", a.rescales_online},
            {"flushes_subnormals", a.flushes_subnormals},
            {"intermediate", a.intermediate},
            {"tensor_terms", a.tensor_terms},
            {"tensor_fraction", a.tensor_fraction},
            {"tensor_precision", a.tensor_precision},
            {"tensor_promotion", a.tensor_promotion}}},
          {"nan_policy", contract.nan_policy},
          {"workspace_limit", contract.workspace_limit},
          {"alignment", contract.alignment},
          {"may_fall_back", contract.may_fall_back},
          {"may_allocate", contract.may_allocate}};
}

Contract contract_from_json(const json& value, const std::string& path) {
  const JsonFields fields(value, path);
  const JsonFields a = fields.object("arithmetic");
  return {.interface_version = fields.integer<uint32_t>("interface_version"),
          .owner = fields.text("owner"),
          .domain = fields.text("domain"),
          .promises = fields.integer<uint32_t>("promises"),
          .arithmetic = {.accumulator = a.integer<int32_t>("accumulator"),
                         .depth_divisor = a.integer<int32_t>("depth_divisor"),
                         .depth_constant = a.integer<int32_t>("depth_constant"),
                         .split_k = a.integer<int32_t>("split_k"),
                         .partial_type = a.integer<int32_t>("partial_type"),
                         .exp_kind = a.integer<int32_t>("exp_kind"),
                         .rescales_online = a.integer<int32_t>("rescales_online"),
                         .flushes_subnormals = a.integer<int32_t>("flushes_subnormals"),
                         .intermediate = a.integer<int32_t>("intermediate"),
                         .tensor_terms = a.integer<int32_t>("tensor_terms"),
                         .tensor_fraction = a.integer<int32_t>("tensor_fraction"),
                         .tensor_precision = a.integer<int32_t>("tensor_precision"),
                         .tensor_promotion = a.integer<int32_t>("tensor_promotion")},
          .nan_policy = fields.integer<int32_t>("nan_policy"),
          .workspace_limit = fields.integer<uint64_t>("workspace_limit"),
          .alignment = fields.integer<uint32_t>("alignment"),
          .may_fall_back = fields.boolean("may_fall_back"),
          .may_allocate = fields.boolean("may_allocate")};
}

}  // namespace assay
