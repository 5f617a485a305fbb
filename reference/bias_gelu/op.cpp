// The op bias_gelu: fields, tensors, caps, bounds. The formulas and their error are in oracle.h, the cases in
// cases.cpp.
#include "core/op.h"

#include "core/error.h"
#include "reference/bias_gelu/cases.h"
#include "reference/bias_gelu/oracle.h"
#include "reference/host_rows.h"
#include "reference/math/caps.h"
#include "reference/math/clones.h"
#include "reference/probe_list.h"
#include "reference/row_ops.h"

namespace assay {
namespace {

using gelu::kArgument, gelu::kTail, gelu::kExponent;

ASSAY_CLONES void run_row(gelu::Form form, const double* x, const double* bias, int64_t cols, const gelu::Result& out) {
  gelu::bias_gelu_row<double>(form, x, bias, cols, out);
}
ASSAY_CLONES void run_row_f64(gelu::Form form, const double* x, const double* bias, int64_t cols,
                              const gelu::Result& out) {
  gelu::bias_gelu_row<DoubleDouble>(form, x, bias, cols, out);
}

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
  int oracle_version() const override { return 1; }

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
    std::vector<Sensitivity> all{{.what = "tensor x", .tensor = "x"}, {.what = "tensor bias", .tensor = "bias"}};
    if (c.word("dtype") != "bf16") {
      all.push_back({.what = "form", .changed = c.with({{"form", c.word("form") == "erf" ? "tanh" : "erf"}})});
    }
    return all;
  }

  std::optional<Case> leading_part(const Case& c) const override {
    if (c.integer("rows") < 2) return std::nullopt;
    return c.with({{"rows", "1"}});
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
                         .underflow = underflow_error(accumulator, contract.arithmetic.flushes_subnormals != 0)},
          .declared = contract.arithmetic,
          .limit = largest_finite(accumulator_type(accumulator))};
}

std::unique_ptr<Op> make_bias_gelu_op() { return std::make_unique<BiasGelu>(); }

}  // namespace assay
