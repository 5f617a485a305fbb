#include "core/contract.h"

#include <assay/domain.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>

#include "core/error.h"

namespace assay {

double Contract::depth(double n) const {
  return depth_known() ? std::ceil(n / arithmetic.depth_divisor) + arithmetic.depth_constant : n;
}

Contract contract_from(const assay_contract& c) {
  return {.interface_version = c.interface_version,
          .owner = c.owner == nullptr ? "" : c.owner,
          .domain = c.domain == nullptr ? "" : c.domain,
          .promises = c.promises,
          .arithmetic = c.arithmetic,
          .nan_policy = c.nan_policy,
          .workspace_limit = c.workspace_limit,
          .alignment = c.alignment,
          .may_fall_back = c.may_fall_back != 0,
          .may_allocate = c.may_allocate != 0};
}

std::string unclaimed(const Contract& contract, const Case& c) {
  try {
    return domain_refusal(contract.domain, [&c](std::string_view name) {
      if (!c.has(name)) return DomainValue{};
      const FieldValue& value = c.at(name);
      return DomainValue{true, value.real, value.text};
    });
  } catch (const std::invalid_argument& e) {
    throw UsageError(std::string("contract of a ") + c.op() + " kernel: " + e.what());
  }
}

std::string domain_mistake(const Contract& contract, const std::vector<FieldSpec>& fields) {
  std::string clauses = contract.domain;
  std::replace(clauses.begin(), clauses.end(), '|', ';');
  std::istringstream in(clauses);
  for (std::string clause; std::getline(in, clause, ';');) {
    const std::vector<std::string> words = detail::domain_words(clause);
    if (words.size() < 3 || (words[1] != "in" && words[1] != "not")) continue;
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.name == words[0]; });
    if (field == fields.end() || field->choices.empty()) continue;
    for (size_t i = words[1] == "in" ? 2 : 3; i < words.size(); ++i) {
      if (std::find(field->choices.begin(), field->choices.end(), words[i]) != field->choices.end()) continue;
      std::string choices;
      for (const std::string& choice : field->choices) choices += (choices.empty() ? "" : ", ") + choice;
      return "the domain says '" + words[i] + "', which is no " + field->name + "; there are " + choices;
    }
  }
  return {};
}

std::vector<std::string> promise_names(uint32_t promises) {
  static constexpr const char* kNames[] = {"same-run",   "same-restart", "same-threads", "same-alignment",
                                           "same-batch", "same-padding", "same-stream",  "same-load",
                                           "same-order", "same-zeros"};
  std::vector<std::string> names;
  for (uint32_t bit = 0; bit < std::size(kNames); ++bit) {
    if (promises & (1u << bit)) names.emplace_back(kNames[bit]);
  }
  return names;
}

const char* accumulator_name(int32_t accumulator) {
  static constexpr const char* kNames[] = {"none", "f16", "bf16", "f32", "f64", "i32", "tensor"};
  return accumulator >= 0 && accumulator < 7 ? kNames[accumulator] : "unknown";
}

std::string depth_text(const assay_arithmetic& a) {
  if (a.depth_divisor <= 0) return "unknown";
  return "n/" + std::to_string(a.depth_divisor) + " + " + std::to_string(a.depth_constant);
}

}  // namespace assay
