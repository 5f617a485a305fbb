// The op bias_gelu: fields, tensors, caps, bounds. The formulas and their error are in oracle.h, the cases in
// cases.cpp.
#include "core/op.h"

#include <algorithm>

#include "core/clones.h"
#include "core/error.h"
#include "reference/bias_gelu/cases.h"
#include "reference/bias_gelu/oracle.h"
#include "reference/host_rows.h"
#include "reference/math/caps.h"
#include "reference/probe_list.h"
#include "reference/row_ops.h"

namespace assay {
namespace {

using gelu::kArgument, gelu::kTail, gelu::kExponent;

// One row, or a run of elements. The form is outside the loop, which vectorises in double.
template <class Real, gelu::Form kForm>
void run_elements(const double* x, const double* bias, int64_t count, const gelu::Result& out) {
  const gelu::Result to = out;  // not written by the loop
#pragma GCC ivdep
  for (int64_t j = 0; j < count; ++j) gelu::bias_gelu_at<Real>(kForm, x[j], bias[j], j, to);
}
template <class Real>
void run_form(gelu::Form form, const double* x, const double* bias, int64_t count, const gelu::Result& out) {
  if (form == gelu::Form::erf) {
    run_elements<Real, gelu::Form::erf>(x, bias, count, out);
  } else {
    run_elements<Real, gelu::Form::tanh>(x, bias, count, out);
  }
}
ASSAY_CLONES void run_row(gelu::Form form, const double* x, const double* bias, int64_t count,
                          const gelu::Result& out) {
  run_form<double>(form, x, bias, count, out);
}
ASSAY_CLONES void run_row_f64(gelu::Form form, const double* x, const double* bias, int64_t count,
                              const gelu::Result& out) {
  run_form<DoubleDouble>(form, x, bias, count, out);
}

// What is the same along a run is outside its loop, which vectorises.
template <int32_t kExpKind>
void bounds_of_kind(const gelu::Rule& given, const double* argument, const double* tail, const double* exponent,
                    int64_t count, ElementOracle::Run& out) {
  gelu::Rule rule = given;
  rule.arithmetic.exp_kind = kExpKind;
#pragma GCC ivdep
  for (int64_t j = 0; j < count; ++j) {
    double k[gelu::kConditions];
    k[kArgument] = argument[j];
    k[kTail] = tail[j];
    k[kExponent] = exponent[j];
    const ElementBound bound = rule({}, out.hi[j], 0, k);
    out.e_alg[j] = bound.e_alg;
    out.evidence[j] = bound.evidence;
  }
}
ASSAY_CLONES void bounds_of_run(const gelu::Rule& rule, const double* argument, const double* tail,
                                const double* exponent, int64_t count, ElementOracle::Run& out) {
  switch (rule.arithmetic.exp_kind) {
    case ASSAY_EXP_NONE:
      return bounds_of_kind<ASSAY_EXP_NONE>(rule, argument, tail, exponent, count, out);
    case ASSAY_EXP_FAST:
      return bounds_of_kind<ASSAY_EXP_FAST>(rule, argument, tail, exponent, count, out);
    case ASSAY_EXP_BASE2:
      return bounds_of_kind<ASSAY_EXP_BASE2>(rule, argument, tail, exponent, count, out);
    default:
      return bounds_of_kind<ASSAY_EXP_ACCURATE>(rule, argument, tail, exponent, count, out);
  }
}

class Elements final : public ElementOracle {
 public:
  Elements(const Case& c, const Contract& contract, std::span<const TensorView> tensors)
      : form_(gelu::form_of(c)),
        run_(dtype_of(c) == DType::f64 ? run_row_f64 : run_row),
        rule_(gelu::rule_of(c, contract)),
        x_(tensors[0]),
        cols_(c.integer("cols")),
        bias_(static_cast<size_t>(cols_)) {
    load_row(tensors[1], 0, bias_.data());
  }

  void compute(int64_t first, int64_t count, Run& out) const override {
    double x[kMost], bias[kMost], argument[kMost], tail[kMost], exponent[kMost];
    load_elements(x_, first, count, x);
    for (int64_t j = 0; j < count;) {
      const int64_t column = (first + j) % cols_, n = std::min(count - j, cols_ - column);
      std::copy_n(bias_.data() + column, n, bias + j);
      j += n;
    }
    run_(form_, x, bias, count, {out.hi, out.lo, out.e_ref, argument, tail, exponent});
    bounds_of_run(rule_, argument, tail, exponent, count, out);
  }

 private:
  gelu::Form form_;
  decltype(&run_row) run_;
  gelu::Rule rule_;
  TensorView x_;
  int64_t cols_;
  std::vector<double> bias_;
};

Reference run_oracle(const Case& c, std::span<const TensorView> tensors, int threads) {
  const int64_t rows = c.integer("rows"), cols = c.integer("cols");
  Reference r{.tensor = "y", .dtype = dtype_of(c)};
  const auto elements = static_cast<size_t>(rows * cols);
  for (auto* values : {&r.hi, &r.lo, &r.e_ref}) values->resize(elements);
  r.conditions.assign(gelu::kConditions, std::vector<double>(elements));
  std::vector<double> bias(static_cast<size_t>(cols));
  load_row(tensors[1], 0, bias.data());
  const auto run = r.dtype == DType::f64 ? run_row_f64 : run_row;
  parallel_rows(rows, threads, [&](int64_t row) {
    std::vector<double> x(static_cast<size_t>(cols));
    load_row(tensors[0], row, x.data());
    const int64_t first = row * cols;
    run(gelu::form_of(c), x.data(), bias.data(), cols,
        {.hi = r.hi.data() + first,
         .lo = r.lo.data() + first,
         .error = r.e_ref.data() + first,
         .argument = r.conditions[kArgument].data() + first,
         .tail = r.conditions[kTail].data() + first,
         .exponent = r.conditions[kExponent].data() + first});
  });
  return r;
}

class BiasGelu final : public Op {
 public:
  std::string_view name() const override { return "bias_gelu"; }
  std::string_view summary() const override {
    return "t = x + bias; y = t Phi(t) (form erf) or t / (1 + exp(-2 sqrt(2/pi) (t + 0.044715 t^3))) (form tanh)";
  }
  int oracle_version() const override { return 2; }

  std::vector<FieldSpec> fields() const override {
    return {{.name = "rows", .doc = "rows of x"},
            {.name = "cols", .doc = "columns of x, elements of bias"},
            {.name = "pad", .doc = "elements between rows", .fallback = "0"},
            {.name = "form", .kind = FieldKind::word, .doc = "which of the two functions", .choices = {"erf", "tanh"}},
            float_dtype_field()};
  }

  std::vector<Case> cases(Tier tier) const override { return gelu::cases(*this, tier); }

  std::vector<ProbeSet> probes() const override { return gelu::probes(*this); }

  std::vector<Case> device_cases(Tier tier) const override {
    return cases_of(*this, tier,
                    {{Tier::ci, "rows=1048583,cols=5,form=erf,dtype=bf16"},
                     {Tier::ci, "rows=17,cols=40,pad=134217728,form=tanh,dtype=bf16"},  // rows begin beyond 2^31
                     {Tier::nightly, "rows=32771,cols=65537,form=erf,dtype=f16"},
                     {Tier::nightly, "rows=32771,cols=65537,form=tanh,dtype=bf16"}});
  }

  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    const gelu::Fill fill =
        is_probe(c) ? gelu::Fill{"", {.generator = c.word("fill")}, {"zeros"}} : fill_named(gelu::fills(), c);
    const DType type = dtype_of(c);
    const std::vector<int64_t> shape{c.integer("rows"), c.integer("cols")};
    const std::vector<int64_t> strides = row_major(shape, c.integer("pad"));
    return {{.name = "x", .dtype = type, .shape = shape, .strides = strides, .fill = fill.x},
            {.name = "bias", .dtype = type, .shape = {shape[1]}, .strides = {1}, .fill = fill.bias},
            {.name = "y", .dtype = type, .shape = shape, .strides = strides, .role = Role::output}};
  }

  std::vector<Reference> oracle(const Case& c, std::span<const TensorView> tensors, int threads) const override {
    return {run_oracle(c, tensors, threads)};
  }

  std::string_view elementwise_input() const override { return "x"; }

  std::unique_ptr<ElementOracle> element_oracle(const Case& c, const Contract& contract,
                                                std::span<const TensorView> tensors) const override {
    return std::make_unique<Elements>(c, contract, tensors);
  }

  Bounds bounds(const Case& c, const Contract& contract, const Reference& r) const override {
    return bounds_of(gelu::rule_of(c, contract), r, c.integer("cols"), gelu::kPer);
  }

  std::string cap_violation(const Contract& contract) const override {
    if (std::string why = common_cap_violation(contract); !why.empty()) return why;
    return elementwise_cap_violation(contract);
  }

  std::vector<Sensitivity> sensitivities(const Case& c) const override {
    // Only where the answer must change: several ordinary numbers, and for the form a type that tells the two apart.
    if (c.word("fill") != "normal" || c.integer("rows") * c.integer("cols") < 64) return {};
    std::vector<Sensitivity> all{{.what = "tensor x", .tensor = "x"}};
    // One number of 8 bits may be drawn again as it was; eight of them are not.
    if (c.integer("cols") >= 8) all.push_back({.what = "tensor bias", .tensor = "bias"});
    if (c.word("dtype") != "bf16") {
      all.push_back({.what = "form", .changed = c.with({{"form", c.word("form") == "erf" ? "tanh" : "erf"}})});
    }
    return all;
  }

  std::optional<Case> leading_part(const Case& c) const override {
    if (c.integer("rows") < 2) return std::nullopt;
    return c.with({{"rows", "1"}});
  }

  std::vector<TensorAxis> row_order(const Case& c) const override {
    if (c.integer("rows") < 2) return {};
    return {{"x", 0}, {"y", 0}};
  }

  std::vector<RowIndependence> row_independence(const Case&) const override {
    return {{"x", 0, "y", 0}, {"x", 1, "y", 1}, {"bias", 0, "y", 1}};
  }
};

}  // namespace

gelu::Form gelu::form_of(const Case& c) { return c.word("form") == "erf" ? Form::erf : Form::tanh; }

gelu::Rule gelu::rule_of(const Case& c, const Contract& contract) {
  const int32_t accumulator = charged_accumulator(contract, dtype_of(c));
  return {.arithmetic = {.u = accumulator_roundoff(accumulator),
                         .exp_kind = contract.arithmetic.exp_kind,
                         .underflows = 8 * underflow_error(accumulator, contract.arithmetic.flushes_subnormals != 0)},
          .limit = largest_finite(accumulator_type(accumulator)),
          .narrowing = intermediate_error(contract, dtype_of(c))};
}

std::unique_ptr<Op> make_bias_gelu_op() { return std::make_unique<BiasGelu>(); }

}  // namespace assay
