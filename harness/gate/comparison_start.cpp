#include "gate/comparison_start.h"

#include <nlohmann/json.hpp>
#include <random>

#include "core/error.h"
#include "record/json_fields.h"
#include "record/json_text.h"
#include "record/run_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

uint64_t fresh_seed() {
  std::random_device device;
  return (uint64_t{device()} << 30) ^ device();
}

// What `read` makes of a file of JSON.
template <class Read>
auto read_json_file(const fs::path& file, const char* remedy, Read&& read) {
  const nlohmann::json value = nlohmann::json::parse(read_whole(file), nullptr, false);
  if (value.is_discarded()) throw UsageError(file.string() + ": is no JSON; " + remedy);
  try {
    return read(value);
  } catch (const UsageError& e) {
    throw UsageError(file.string() + ": " + e.what() + "; " + remedy);
  }
}

AlphaLedger read_ledger(const fs::path& file, const std::string& base, const std::string& change) {
  if (file.empty() || !fs::exists(file)) return {.base = base, .change = change};
  return read_json_file(file, "remove it to begin anew, and say so",
                        [&](const nlohmann::json& value) { return ledger_from_json(value, base, change); });
}

}  // namespace

ComparisonStart start_comparison(const fs::path& run, const fs::path& ledger, const std::string& base,
                                 const std::string& change) {
  const AlphaLedger now = read_ledger(ledger, base, change);
  const fs::path file = run / "comparison.json";
  if (!fs::exists(file)) {
    const ComparisonStart start{fresh_seed(), now};
    write_file_atomically(file, print_json({{"seed", start.seed}, {"ledger", to_json(start.ledger)}}, 1) + "\n");
    return start;
  }
  const ComparisonStart start = read_json_file(file, "begin another run", [&](const nlohmann::json& value) {
    const JsonFields fields(value);
    return ComparisonStart{fields.integer<uint64_t>("seed"),
                           ledger_from_json(fields.object("ledger").json(), base, change)};
  });
  if (now.gates > start.ledger.gates + 1) {
    throw UsageError(ledger.string() +
                     ": another gate of this base and change began since this run was interrupted; begin another run");
  }
  return start;
}

}  // namespace assay
