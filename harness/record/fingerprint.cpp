#include "record/fingerprint.h"

#include <array>
#include <fstream>

#include "core/error.h"
#include "record/json.h"
#include "record/json_fields.h"
#include "record/json_text.h"
#include "record/run_folder.h"

namespace assay {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 3> kWords{"no-baseline", "same", "changed"};

Baseline baseline_named(const JsonFields& fields) {
  const std::string word = fields.text("baseline");
  for (size_t i = 0; i < kWords.size(); ++i) {
    if (kWords[i] == word) return static_cast<Baseline>(i);
  }
  fields.fail("baseline", "'" + word + "' is none of no-baseline, same, changed");
}

std::filesystem::path file_of(const std::filesystem::path& run_folder) { return run_folder / "fingerprints.jsonl"; }

}  // namespace

std::string_view word_of(Baseline baseline) { return kWords[static_cast<size_t>(baseline)]; }

std::string Fingerprint::failure() const {
  if (complete) return {};
  for (const Fact& fact : facts) {
    if (fact.why.starts_with(kNoAnswer)) return fact.why.substr(kNoAnswer.size()) + " (" + fact.name + ")";
  }
  return "a probe had no answer";
}

const Fact* Fingerprint::find(std::string_view name) const {
  for (const Fact& fact : facts) {
    if (fact.name == name) return &fact;
  }
  return nullptr;
}

json to_json(const Fingerprint& fingerprint) {
  json facts = json::array();
  for (const Fact& fact : fingerprint.facts) {
    facts.push_back({{"name", fact.name}, {"value", valid_utf8(fact.value)}, {"why", valid_utf8(fact.why)}});
  }
  return {{"schema", schema_to_json()},
          {"op", valid_utf8(fingerprint.op)},
          {"kernel", valid_utf8(fingerprint.kernel)},
          {"target", valid_utf8(fingerprint.target)},
          {"variant", fingerprint.variant},
          {"facts", facts},
          {"baseline", word_of(fingerprint.baseline)},
          {"changes", texts_to_json(fingerprint.changes)},
          {"complete", fingerprint.complete},
          {"seconds", fingerprint.seconds}};
}

Fingerprint fingerprint_from_json(const json& value) {
  check_schema(value);
  const JsonFields fields(value);
  Fingerprint fingerprint{.op = fields.text("op"),
                          .kernel = fields.text("kernel"),
                          .target = fields.text("target"),
                          .variant = fields.text("variant"),
                          .facts = {},
                          .baseline = baseline_named(fields),
                          .changes = fields.texts("changes"),
                          .complete = fields.boolean("complete"),
                          .seconds = fields.number("seconds")};
  for (const JsonFields& fact : fields.objects("facts")) {
    fingerprint.facts.push_back({fact.text("name"), fact.text("value"), fact.text("why")});
  }
  return fingerprint;
}

void write_fingerprints(const std::filesystem::path& run_folder, const std::vector<Fingerprint>& all) {
  std::string lines;
  for (const Fingerprint& fingerprint : all) lines += print_json(to_json(fingerprint)) + "\n";
  write_file_atomically(file_of(run_folder), lines);
}

std::vector<Fingerprint> read_fingerprints(const std::filesystem::path& run_folder) {
  std::vector<Fingerprint> all;
  const std::filesystem::path file = file_of(run_folder);
  std::ifstream in(file, std::ios::binary);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    try {
      all.push_back(fingerprint_from_json(parse_json(line)));
    } catch (const UsageError& e) {
      throw UsageError(file.string() + ":" + std::to_string(number) + ": " + e.what() +
                       "; start a new run in another folder");
    }
  }
  return all;
}

}  // namespace assay
