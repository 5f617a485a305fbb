#include "core/op.h"

#include <algorithm>

#include "core/error.h"

namespace assay {
namespace {

int64_t product(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_mul_overflow(a, b, &result) ? kMostCounted : std::min(result, kMostCounted);
}

int64_t sum(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_add_overflow(a, b, &result) ? kMostCounted : std::min(result, kMostCounted);
}

}  // namespace

std::string_view name_of(Tier tier) { return tier == Tier::smoke ? "smoke" : tier == Tier::ci ? "ci" : "nightly"; }

Tier tier_named(std::string_view name) {
  for (const Tier tier : {Tier::smoke, Tier::ci, Tier::nightly}) {
    if (name_of(tier) == name) return tier;
  }
  throw UsageError("--tier: '" + std::string(name) + "' is not one of smoke, ci, nightly");
}

int64_t TensorSpec::elements() const {
  int64_t n = 1;
  for (const int64_t dim : shape) n = product(n, dim);
  return n;
}

int64_t TensorSpec::span_elements() const {
  if (elements() == 0) return 0;
  int64_t last = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) last = sum(last, product(shape[axis] - 1, strides[axis]));
  return sum(last, 1);
}

std::vector<int64_t> row_major(const std::vector<int64_t>& shape, int64_t pad) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;) {
    strides[axis - 1] = product(strides[axis], sum(shape[axis], axis + 1 == shape.size() ? pad : 0));
  }
  return strides;
}

bool is_sweep(std::span<const TensorSpec> tensors) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const TensorSpec& t) { return t.role != Role::output && t.fill.generator == "every"; });
}

int64_t offset_of(const TensorSpec& tensor, int64_t i) {
  int64_t offset = 0;
  for (size_t axis = tensor.shape.size(); axis-- > 0;) {
    offset += (i % tensor.shape[axis]) * tensor.strides[axis];
    i /= tensor.shape[axis];
  }
  return offset;
}

std::vector<FieldSpec> Op::all_fields() const {
  std::vector<FieldSpec> all = fields();
  for (FieldSpec& field : common_fields()) all.push_back(std::move(field));
  return all;
}

Case Op::longer(const Case& c, const char* terms) {
  constexpr int64_t kMore = 37;  // no multiple of a vector, and more than the longest holds: blocks end elsewhere
  return c.with({{terms, print_number(c.integer(terms) + kMore)}});
}

std::vector<TensorSpec> Op::tensors(const Case& c) const {
  std::vector<TensorSpec> all = own_tensors(c);
  const Support support = Support::parse(c.word("support"));
  if (support.all) return all;
  for (TensorSpec& tensor : all) tensor.fill.support = support.kept_of(tensor.name);
  return all;
}

void Op::require(const Case& c) const {
  const std::vector<TensorSpec> all = own_tensors(c);
  try {
    require_within(Support::parse(c.word("support")), all);
  } catch (const UsageError& e) {
    throw UsageError("case of " + std::string(name()) + ": field 'support' = '" + c.word("support") + "': " + e.what());
  }
}

std::optional<Case> Op::padded(const Case& c) const {
  std::vector<std::pair<std::string, std::string>> changes;
  for (const FieldSpec& field : fields()) {
    if (field.name.rfind("pad", 0) == 0) changes.emplace_back(field.name, print_number(c.integer(field.name) + 3));
  }
  if (changes.empty()) return std::nullopt;
  return c.with(changes);
}

Case Op::make(const std::vector<std::pair<std::string, std::string>>& given) const {
  Case c(std::string(name()), all_fields(), given);
  if (c.word("support") != "all") require(c);
  return c;
}

const Op* OpRegistry::find(std::string_view name) const {
  for (const auto& op : ops_) {
    if (op->name() == name) return op.get();
  }
  return nullptr;
}

const Op& OpRegistry::named(std::string_view name) const {
  if (const Op* op = find(name)) return *op;
  std::string known;
  for (const auto& op : ops_) known += (known.empty() ? "" : ", ") + std::string(op->name());
  throw UsageError("no op '" + std::string(name) + "'; there are " + known);
}

Case OpRegistry::parse_case(std::string_view id) const {
  const ParsedId parsed = parse_id(id);
  return named(parsed.op).make(parsed.fields);
}

}  // namespace assay
