// Answers questions about the gate's statistics, one JSON object a line, for test_latency_statistics.py.
#include <exception>
#include <iostream>
#include <string>

#include "gate/kill_table.h"
#include "gate/latency_gate.h"
#include "measure/moderated_t.h"
#include "measure/signed_rank.h"
#include "record/json_fields.h"
#include "record/json_text.h"

namespace {

using namespace assay;
using nlohmann::json;

Variance variance_from(const json& value) { return {value.at(0).get<double>(), value.at(1).get<double>()}; }

json to_json(const Variance& v) { return {number_to_json(v.value), number_to_json(v.freedom)}; }

json statistic_to_json(const auto& statistic, double bound, double confidence) {
  const ConfidenceInterval bounds = statistic.bounds(confidence);
  return {{"above", statistic.p_above(bound)},
          {"below", statistic.p_below(bound)},
          {"estimate", statistic.estimate()},
          {"lower", number_to_json(bounds.lower)},
          {"upper", number_to_json(bounds.upper)}};
}

json answer(const json& question) {
  const std::string what = question.at("what");
  if (what == "holm") {
    return holm_rejections(question.at("p").get<std::vector<double>>(), question.at("alpha").get<double>());
  }
  if (what == "prior") {
    std::vector<Variance> variances;
    for (const json& v : question.at("variances")) variances.push_back(variance_from(v));
    return to_json(fit_variance_prior(variances));
  }
  if (what == "rate") {
    return upper_bound_of_rate(question.at("seen").get<int64_t>(), question.at("of").get<int64_t>(),
                               question.at("confidence").get<double>());
  }
  const auto deltas = question.at("deltas").get<std::vector<double>>();
  const double bound = question.at("bound"), confidence = question.at("confidence");
  if (what == "signed rank") return statistic_to_json(SignedRank(deltas), bound, confidence);
  if (what == "t") return statistic_to_json(ModeratedT(deltas, variance_from(question.at("prior"))), bound, confidence);
  throw UsageError("no question '" + what + "'");
}

}  // namespace

int main() {
  try {
    for (std::string line; std::getline(std::cin, line);) std::cout << print_json(answer(parse_json(line))) << "\n";
  } catch (const std::exception& e) {
    std::cerr << "latency_statistics: " << e.what() << "\n";
    return 4;
  }
  return 0;
}
