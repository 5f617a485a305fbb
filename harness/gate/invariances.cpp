#include "gate/invariances.h"

#include <fmt/format.h>

#include <algorithm>

#include "record/invariance.h"

namespace assay {
namespace {

void add(Invariant& one, const CheckResult& result, uint32_t promise) {
  const std::string_view detail = result.detail;
  if (result.outcome == Outcome::fail) {
    ++one.broken;
  } else if (result.outcome == Outcome::pass) {
    ++(promise != 0 && detail.starts_with(kObserved) ? one.observed : one.promised);
  } else if (detail.starts_with(kVaries)) {
    ++one.varied;
  }
}

// "promised 254", "promised 7, observed 182", "varies 3 of 20".
std::string cell(const Invariant& one) {
  const std::string_view word = one.word();
  if (word == "unknown") return "";
  const int64_t cases = one.promised + one.observed + one.varied + one.broken;
  if (word == "varies") return fmt::format("varies {} of {}", one.varied, cases);
  if (word == "broken") return fmt::format("**broken** {} of {}", one.broken, cases);
  if (word == "partly") return fmt::format("promised {}, observed {}", one.promised, one.observed);
  return fmt::format("{} {}", word, cases);
}

}  // namespace

std::string_view Invariant::word() const {
  if (broken > 0) return "broken";
  if (varied > 0) return "varies";
  if (promised > 0) return observed > 0 ? "partly" : "promised";
  return observed > 0 ? "observed" : "unknown";
}

InvarianceMatrix invariances_of(const std::vector<Record>& records) {
  InvarianceMatrix matrix;
  for (const Record& record : records) {
    if (record.verdict == Verdict::unsupported) continue;
    std::vector<Invariant>& row = matrix[record.op + "/" + record.kernel];
    row.resize(kInvariances.size());
    for (const CheckResult& result : record.checks) {
      const auto is_it = [&](const Invariance& invariance) { return invariance.check == result.check; };
      const auto found = std::find_if(kInvariances.begin(), kInvariances.end(), is_it);
      if (found == kInvariances.end()) continue;
      add(row[static_cast<size_t>(found - kInvariances.begin())], result, found->promise);
    }
  }
  return matrix;
}

nlohmann::json to_json(const InvarianceMatrix& matrix) {
  nlohmann::json properties = nlohmann::json::array(), kernels = nlohmann::json::array();
  for (const Invariance& invariance : kInvariances) properties.push_back(invariance.check);
  for (const auto& [kernel, row] : matrix) {
    nlohmann::json cells = nlohmann::json::array();
    for (const Invariant& one : row) {
      cells.push_back({{"word", one.word()},
                       {"promised", one.promised},
                       {"observed", one.observed},
                       {"varied", one.varied},
                       {"broken", one.broken}});
    }
    kernels.push_back({{"kernel", kernel}, {"cells", cells}});
  }
  return {{"schema", {{"major", kRecordSchemaMajor}, {"minor", kRecordSchemaMinor}}},
          {"properties", properties},
          {"kernels", kernels}};
}

std::string invariance_table(const InvarianceMatrix& matrix) {
  std::string text = "| kernel |", rule = "| --- |";
  for (const Invariance& invariance : kInvariances) {
    text += fmt::format(" {} |", invariance.check);
    rule += " --- |";
  }
  text += "\n" + rule + "\n";
  for (const auto& [kernel, row] : matrix) {
    text += "| " + kernel + " |";
    for (const Invariant& one : row) text += " " + cell(one) + " |";
    text += "\n";
  }
  return text;
}

}  // namespace assay
