#include "gate/few_outputs.h"

#include <algorithm>

#include "core/error.h"

namespace assay {

int64_t elements_of(const Op& op, const Case& c) {
  int64_t elements = 0;
  for (const TensorSpec& tensor : op.tensors(c)) elements += tensor.span_elements();
  return elements;
}

int64_t output_elements(const Op& op, const Case& c) {
  int64_t elements = 0;
  for (const TensorSpec& tensor : op.tensors(c)) {
    if (tensor.role != Role::input) elements += tensor.elements();
  }
  return elements;
}

double work_of(const Op& op, const Case& c) {
  double work = 1;
  for (const FieldSpec& field : op.all_fields()) {
    if (is_length(field)) work *= std::max(c.real(field.name), 1.0);
  }
  return work;
}

FewOutputs::FewOutputs(const Op& op, std::vector<Case> failing)
    : op_(op), failing_(std::move(failing)), attribute_values_(op, op.cases(Tier::ci)) {
  for (const FieldSpec& field : op.all_fields()) {
    if (is_length(field)) {
      lengths_.push_back(field);
    } else if (field.name == "fill") {
      fill_ = field;
    } else if (is_attribute(field) && field.name != "dtype") {
      attributes_.push_back(field);
    }
  }
  most_elements_ = std::max(elements_of(op, failing_.front()), int64_t{1} << 20);
  most_work_ = std::max(work_of(op, failing_.front()), 0x1p20);
}

std::optional<Case> FewOutputs::one() {
  const Case& near = draw_.one_of(failing_);
  std::vector<std::pair<std::string, std::string>> changes;
  double work = 1;
  for (const FieldSpec& field : lengths_) {
    const bool kept = draw_.one_in(2);
    const int64_t least = std::max<int64_t>(field.least, 1);
    const int64_t length = kept ? near.integer(field.name) : draw_length(draw_, least, most_elements_);
    work *= static_cast<double>(std::max<int64_t>(length, 1));
    changes.emplace_back(field.name, print_number(length));
  }
  if (draw_.one_in(4)) {  // of independent lengths few products come near the most
    auto& [name, length] = changes[draw_.below(lengths_.size())];
    const double others = work / std::max(std::stod(length), 1.0), share = 1 - 0x1p-6 * double(draw_.below(32));
    const double rest = std::clamp(most_work_ * share / others, 1.0, static_cast<double>(most_elements_));
    length = print_number(static_cast<int64_t>(rest));
    work = others * rest;
  }
  if (work > most_work_) return std::nullopt;
  changes.emplace_back("seed", print_number(1 + static_cast<int64_t>(draw_.below(uint64_t{1} << 20))));
  if (draw_.one_in(4)) changes.emplace_back(fill_.name, attribute_values_.attribute(draw_, fill_));
  if (draw_.one_in(2)) {
    for (const FieldSpec& field : attributes_) {
      if (draw_.one_in(4)) changes.emplace_back(field.name, attribute_values_.attribute(draw_, field));
    }
  }
  try {
    Case c = near.with(changes);
    op_.require(c);
    const bool fits = output_elements(op_, c) <= kFewOutputs && elements_of(op_, c) <= most_elements_;
    return fits ? std::optional(std::move(c)) : std::nullopt;
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

std::optional<FewOutputs::Drawn> FewOutputs::next(int64_t most_seeds) {
  constexpr int kTries = 1000, kCompared = 4;
  constexpr int64_t kSeedElements = 1 << 20;  // further seeds are launched once and verified, no more
  std::optional<Drawn> best;
  int64_t most = 0;
  for (int tries = 0, found = 0; tries < kTries && found < kCompared; ++tries) {
    const std::optional<Case> c = one();
    if (!c) continue;
    ++found;
    const int64_t seeds = std::clamp<int64_t>(kSeedElements / elements_of(op_, *c), 1, most_seeds);
    const int64_t shown = seeds * output_elements(op_, *c);
    if (best && shown <= most) continue;
    best = {*c, seeds};
    most = shown;
  }
  return best;
}

}  // namespace assay
