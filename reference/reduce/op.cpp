// The reduce op: the sum or the maximum of x[outer, n, inner] over the middle axis. `pad` elements lie between the
// inner rows of x. NaN and infinity go by IEEE 754; a maximum is NaN when any element is.
#include <algorithm>

#include "core/error.h"
#include "reference/case_list.h"
#include "reference/math/caps.h"
#include "reference/reduce/cases.h"
#include "reference/reduce/oracle.h"

namespace assay {
namespace reduce {
namespace {

constexpr int64_t kWorthThreads = int64_t{1} << 18;  // elements; a parallel region costs tens of microseconds

bool is_sum(const Case& c) { return c.word("kind") == "sum"; }

// A generator's rows are what is reduced. Huge values are scaled so that few sums overflow.
FillSpec fill_of(const Case& c) {
  const std::string& fill = c.word("fill");
  const bool shared = fill == "huge" && is_sum(c);
  const double n = static_cast<double>(std::max<int64_t>(c.integer("n"), 1));
  return {.generator = fill, .scale = shared ? 2 / n : 1, .axis = 1};
}

class ReduceOp final : public Op {
 public:
  std::string_view name() const override { return "reduce"; }
  std::string_view summary() const override { return "y[outer, inner] = sum or max of x[outer, n, inner] over n"; }
  int oracle_version() const override { return 1; }

  std::vector<FieldSpec> fields() const override {
    return {{.name = "kind", .kind = FieldKind::word, .doc = "what is computed", .choices = {"sum", "max"}},
            {.name = "outer", .doc = "length of the axis before", .fallback = "1"},
            {.name = "n", .doc = "length of the axis that is reduced"},
            {.name = "inner", .doc = "length of the axis after", .fallback = "1"},
            {.name = "pad", .doc = "elements between the inner rows of x", .fallback = "0"},
            {.name = "dtype", .kind = FieldKind::word, .doc = "of x and y", .choices = {"f64", "f32", "f16", "bf16"}}};
  }

  std::vector<Case> cases(Tier tier) const override { return reduce::cases(*this, tier); }

  std::vector<ProbeSet> probes() const override { return reduce::probes(*this); }

  std::vector<Case> device_cases(Tier tier) const override {
    return cases_of(*this, tier,
                    {{Tier::ci, "kind=sum,outer=1048583,n=5,dtype=bf16"},
                     {Tier::ci, "kind=max,outer=70001,n=2,inner=67,dtype=f16"},
                     {Tier::ci, "kind=sum,n=2,inner=16777259,dtype=bf16"},
                     {Tier::ci, "kind=sum,outer=46351,n=46351,dtype=f16"},
                     {Tier::nightly, "kind=max,outer=32771,n=2,inner=65537,dtype=bf16"}});
  }

  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    const DType dtype = dtype_named(c.word("dtype")).value();
    const std::vector<int64_t> x{c.integer("outer"), c.integer("n"), c.integer("inner")};
    const std::vector<int64_t> y{x[0], x[2]};
    return {{.name = "x", .dtype = dtype, .shape = x, .strides = row_major(x, c.integer("pad")), .fill = fill_of(c)},
            {.name = "y", .dtype = dtype, .shape = y, .strides = row_major(y), .role = Role::output}};
  }

  std::vector<Reference> oracle(const Case& c, std::span<const TensorView> tensors, int threads) const override {
    const TensorView& x = tensors[0];
    const int64_t outer = c.integer("outer"), n = c.integer("n"), inner = c.integer("inner");
    const std::vector<int64_t>& strides = x.spec->strides;
    const bool compensated = x.spec->dtype == DType::f64;
    Reference reference{.tensor = "y", .dtype = x.spec->dtype};
    const auto elements = static_cast<size_t>(outer * inner);
    for (auto* part : {&reference.hi, &reference.lo, &reference.e_ref}) part->resize(elements);
    reference.conditions.assign(kConditions, std::vector<double>(elements));
    const bool parallel = threads > 1 && outer * n * inner > kWorthThreads;
    const bool sum = is_sum(c);
#pragma omp parallel for num_threads(threads) if (parallel)
    for (int64_t at = 0; at < outer * inner; ++at) {
      const int64_t first = at / inner * strides[0] + at % inner * strides[2];
      const auto element = [&](int64_t p) { return load(x.spec->dtype, x.data, first + p * strides[1]); };
      const auto out = static_cast<size_t>(at);
      if (sum) {
        Sum running;
        for (int64_t p = 0; p < n; ++p) running.add(element(p), compensated);
        const Element e = running.finish(n, compensated);
        reference.hi[out] = e.hi;
        reference.lo[out] = e.lo;
        reference.e_ref[out] = e.e_ref;
        for (size_t i = 0; i < kConditions; ++i) reference.conditions[i][out] = e.condition[i];
      } else {
        double largest = -kInfinity;
        for (int64_t p = 0; p < n; ++p) largest = larger_of(largest, element(p));
        reference.hi[out] = largest;
      }
    }
    return {reference};
  }

  Bounds bounds(const Case& c, const Contract& contract, const Reference& reference) const override {
    return bounds_of(rule_of(c, contract), reference, 1, kPer);
  }

  std::string cap_violation(const Contract& contract) const override {
    const std::string common = common_cap_violation(contract);
    return common.empty() ? summation_cap_violation(contract) : common;
  }

  // Sixteen reseeded results do not all round to what they were; a maximum of few small numbers might.
  std::vector<Sensitivity> sensitivities(const Case& c) const override {
    const std::string& fill = c.word("fill");
    const bool random = fill == "normal" || fill == "uniform" || fill == "negative";
    if (!random || c.integer("outer") * c.integer("inner") < 16 || c.integer("n") == 0) return {};
    if (!is_sum(c) && fill != "normal") return {};
    return {{.what = "tensor x", .tensor = "x"}};
  }

  std::optional<Case> leading_part(const Case& c) const override {
    if (c.integer("outer") < 2) return std::nullopt;
    return c.with({{"outer", "1"}});
  }

  std::vector<TensorAxis> row_order(const Case& c) const override {
    if (c.integer("outer") < 2) return {};
    return {{"x", 0}, {"y", 0}};
  }

  std::optional<Case> more_terms(const Case& c) const override {
    if (!is_sum(c) || c.integer("n") == 0) return std::nullopt;
    return longer(c, "n");
  }

  std::vector<RowIndependence> row_independence(const Case& c) const override {
    if (c.integer("n") == 0) return {};
    return {{.input = "x", .input_axis = 0, .output = "y", .output_axis = 0},
            {.input = "x", .input_axis = 2, .output = "y", .output_axis = 1}};
  }

  std::vector<ScaleRelation> scale_relations(const Case& c) const override {
    const std::string& fill = c.word("fill");
    if (fill == "huge" || fill == "subnormal") return {};
    return {{.input = "x", .output = "y"}};
  }
};

}  // namespace

Rule rule_of(const Case& c, const Contract& contract) {
  const DType dtype = dtype_named(c.word("dtype")).value();
  const int32_t charged = charged_accumulator(contract, dtype);
  const DType accumulator = accumulator_type(charged);
  const double n = c.real("n");
  Rule rule;
  rule.is_sum = is_sum(c);
  rule.flushes = contract.arithmetic.flushes_subnormals != 0;
  rule.narrowing = intermediate_error(contract, dtype);
  rule.accumulator = accumulator;
  rule.narrowest = rule.narrowing.is_any ? accumulator_type(contract.arithmetic.intermediate) : accumulator;
  rule.rounding = gamma_n(std::min(contract.depth(n), n), unit_roundoff(accumulator));
  rule.flushed = rule.flushes ? 2 * n * underflow_error(charged, true) : 0;
  rule.depth_known = contract.depth_known();
  return rule;
}

}  // namespace reduce

std::unique_ptr<Op> make_reduce_op() { return std::make_unique<reduce::ReduceOp>(); }

}  // namespace assay
