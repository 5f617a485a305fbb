// The op layernorm_residual: fields, tensors, caps, bounds. The formula and its error are in oracle.h, the cases in
// cases.cpp.
#include "core/op.h"

#include <algorithm>

#include "core/error.h"
#include "reference/host_rows.h"
#include "reference/layernorm_residual/cases.h"
#include "reference/layernorm_residual/oracle.h"
#include "reference/math/caps.h"
#include "reference/probe_list.h"
#include "reference/row_ops.h"

namespace assay {
namespace {

using layernorm::kMeanMagnitude, layernorm::kMeanSquare, layernorm::kVariance, layernorm::kDeviation,
    layernorm::kRowConditions, layernorm::kSum, layernorm::kCentred, layernorm::kFactor;
using layernorm::Moments, layernorm::Output;

// Order of the tensors; beta only where there is a bias.
enum { kX, kResidual, kGamma, kBeta };

bool has_bias(const Case& c) { return c.word("bias") == "yes"; }
DType statistics_type(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

Reference empty_reference(const char* tensor, DType dtype, size_t elements, size_t rows) {
  Reference r{.tensor = tensor, .dtype = dtype};
  for (auto* values : {&r.hi, &r.lo, &r.e_ref}) values->resize(elements);
  r.conditions.assign(kRowConditions, std::vector<double>(rows));
  return r;
}

template <class Real>
std::vector<Reference> run_oracle(const Case& c, std::span<const TensorView> tensors, int threads) {
  const int64_t rows = c.integer("rows"), cols = c.integer("cols");
  const auto n = static_cast<size_t>(cols), row_count = static_cast<size_t>(rows);
  const DType dtype = dtype_of(c), statistics = statistics_type(dtype);
  std::vector<Reference> all{empty_reference("y", dtype, row_count * n, row_count),
                             empty_reference("mean", statistics, row_count, row_count),
                             empty_reference("rstd", statistics, row_count, row_count)};
  Reference &y = all[0], &mean = all[1], &rstd = all[2];
  y.conditions.resize(kFactor + 1);
  y.conditions[kSum].resize(row_count * n);
  y.conditions[kCentred].resize(row_count * n);
  std::vector<double> gamma(n), beta(n);
  load_row(tensors[kGamma], 0, gamma.data());
  if (has_bias(c)) load_row(tensors[kBeta], 0, beta.data());
  for (const double factor : gamma) y.conditions[kFactor].push_back(std::fabs(factor));

  parallel_rows(rows, threads, [&](int64_t row) {
    std::vector<double> inputs(2 * n);
    load_row(tensors[kX], row, inputs.data());
    load_row(tensors[kResidual], row, inputs.data() + n);
    const layernorm::Row in{.x = inputs.data(),
                            .residual = inputs.data() + n,
                            .gamma = gamma.data(),
                            .beta = has_bias(c) ? beta.data() : nullptr,
                            .cols = cols,
                            .epsilon = c.real("eps")};
    const auto r = static_cast<size_t>(row);
    const size_t first = r * n;
    const layernorm::Result out{.y_hi = &y.hi[first],
                                .y_lo = &y.lo[first],
                                .y_error = &y.e_ref[first],
                                .sum_magnitude = &y.conditions[kSum][first],
                                .centred_magnitude = &y.conditions[kCentred][first],
                                .mean_hi = &mean.hi[r],
                                .mean_lo = &mean.lo[r],
                                .mean_error = &mean.e_ref[r],
                                .deviation_hi = &rstd.hi[r],
                                .deviation_lo = &rstd.lo[r],
                                .deviation_error = &rstd.e_ref[r]};
    const Moments moments = layernorm::layernorm_row<Real>(in, out);
    for (Reference& reference : all) {
      reference.conditions[kMeanMagnitude][r] = moments.mean_magnitude;
      reference.conditions[kMeanSquare][r] = moments.mean_square;
      reference.conditions[kVariance][r] = moments.variance;
      reference.conditions[kDeviation][r] = rstd.hi[r];
    }
  });
  return all;
}

class LayernormResidual final : public Op {
 public:
  std::string_view name() const override { return "layernorm_residual"; }
  std::string_view summary() const override {
    return "s = x + residual; y = (s - mean) rstd gamma + beta along each row, rstd = 1/sqrt(var + eps)";
  }
  int oracle_version() const override { return 1; }

  std::vector<FieldSpec> fields() const override {
    return {
        {.name = "rows", .doc = "independent rows"},
        {.name = "cols", .doc = "length of a row", .least = 1},
        {.name = "pad", .doc = "elements between rows", .fallback = "0"},
        {.name = "bias",
         .kind = FieldKind::word,
         .doc = "whether beta is added",
         .fallback = "yes",
         .choices = {"yes", "no"}},
        {.name = "eps", .kind = FieldKind::real, .doc = "added to the variance, inside the root", .fallback = "1e-05"},
        float_dtype_field()};
  }

  std::vector<Case> cases(Tier tier) const override { return layernorm::cases(*this, tier); }

  std::vector<ProbeSet> probes() const override { return layernorm::probes(*this); }

  std::vector<Case> device_cases(Tier tier) const override {
    return cases_of(*this, tier,
                    {{Tier::ci, "rows=1048583,cols=5,dtype=bf16"},
                     {Tier::ci, "rows=17,cols=40,pad=134217728,dtype=bf16"},  // rows begin beyond 2^31
                     {Tier::nightly, "rows=262147,cols=8195,dtype=bf16"}});
  }

  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    if (!(c.real("eps") >= 0x1p-126 && c.real("eps") <= 0x1p100)) {
      throw UsageError("case of layernorm_residual: field 'eps' = '" + c.word("eps") +
                       "' is not a positive normal f32 number; give one such as 1e-05");
    }
    const layernorm::Fill fill =
        is_probe(c) ? layernorm::Fill{"", {.generator = c.word("fill")}, {"zeros"}} : fill_named(layernorm::fills(), c);
    const DType type = dtype_of(c), statistics = statistics_type(type);
    const std::vector<int64_t> shape{c.integer("rows"), c.integer("cols")};
    const std::vector<int64_t> strides = row_major(shape, c.integer("pad"));
    const auto vector = [](const char* name, DType dtype, int64_t length, FillSpec how, Role role) {
      return TensorSpec{.name = name, .dtype = dtype, .shape = {length}, .strides = {1}, .role = role, .fill = how};
    };
    std::vector<TensorSpec> all{
        {.name = "x", .dtype = type, .shape = shape, .strides = strides, .fill = fill.x},
        {.name = "residual", .dtype = type, .shape = shape, .strides = strides, .fill = fill.residual},
        vector("gamma", type, shape[1], {"normal", 0.5, 1}, Role::input)};
    if (has_bias(c)) all.push_back(vector("beta", type, shape[1], {"normal"}, Role::input));
    all.push_back({.name = "y", .dtype = type, .shape = shape, .strides = strides, .role = Role::output});
    all.push_back(vector("mean", statistics, shape[0], {}, Role::output));
    all.push_back(vector("rstd", statistics, shape[0], {}, Role::output));
    return all;
  }

  std::vector<Reference> oracle(const Case& c, std::span<const TensorView> tensors, int threads) const override {
    return dtype_of(c) == DType::f64 ? run_oracle<DoubleDouble>(c, tensors, threads)
                                     : run_oracle<double>(c, tensors, threads);
  }

  Bounds bounds(const Case& c, const Contract& contract, const Reference& r) const override {
    const Output output = r.tensor == "y" ? Output::y : r.tensor == "mean" ? Output::mean : Output::rstd;
    const bool is_y = output == Output::y;
    return bounds_of(layernorm::rule_of(c, contract, output), r, is_y ? c.integer("cols") : 1,
                     std::span(layernorm::kPer).first(is_y ? layernorm::kConditions : kRowConditions));
  }

  std::string cap_violation(const Contract& contract) const override {
    if (std::string why = common_cap_violation(contract); !why.empty()) return why;
    return summation_cap_violation(contract);
  }

  std::vector<Sensitivity> sensitivities(const Case& c) const override {
    // Only where the answer must change: rows of several ordinary numbers.
    if (c.word("fill") != "normal" || c.integer("rows") == 0 || c.integer("cols") < 8) return {};
    constexpr double kMostEpsilon = 64;  // beyond, the answer is nearly the bias, and the factor nearly 1/sqrt(eps)
    if (c.real("eps") > kMostEpsilon) return {};
    std::vector<Sensitivity> all{{.what = "tensor x", .tensor = "x"},
                                 {.what = "tensor residual", .tensor = "residual"},
                                 {.what = "tensor gamma", .tensor = "gamma"}};
    const double eps = c.real("eps");
    all.push_back({.what = "eps", .changed = c.with({{"eps", print_number(eps > 1 ? eps / 2 : eps + 1)}})});
    if (has_bias(c)) all.push_back({.what = "tensor beta", .tensor = "beta"});
    return all;
  }

  std::optional<Case> leading_part(const Case& c) const override {
    if (c.integer("rows") < 2) return std::nullopt;
    return c.with({{"rows", "1"}});
  }

  std::vector<TensorAxis> row_order(const Case& c) const override {
    if (c.integer("rows") < 2) return {};
    return {{"x", 0}, {"residual", 0}, {"y", 0}, {"mean", 0}, {"rstd", 0}};
  }

  std::vector<RowIndependence> row_independence(const Case& c) const override {
    std::vector<RowIndependence> all;
    for (const char* input : {"x", "residual"}) {
      for (const char* output : {"y", "mean", "rstd"}) all.push_back({input, 0, output, 0});
    }
    all.push_back({"gamma", 0, "y", 1});
    if (has_bias(c)) all.push_back({"beta", 0, "y", 1});
    return all;
  }
};

}  // namespace

layernorm::Rule layernorm::rule_of(const Case& c, const Contract& contract, Output output) {
  const double n = c.real("cols");
  const int32_t accumulator = charged_accumulator(contract, dtype_of(c));
  const double u = accumulator_roundoff(accumulator);
  return {.output = output,
          .arithmetic = {.u = u,
                         .gamma = gamma_n(std::min(contract.depth(n), 2 * n) + 4, u),
                         .rsqrt = rsqrt_error(u),
                         .underflow = underflow_error(accumulator, contract.arithmetic.flushes_subnormals != 0)},
          .narrowing = intermediate_error(contract, output == Output::y ? dtype_of(c) : statistics_type(dtype_of(c))),
          .n = n,
          .epsilon = c.real("eps"),
          .limit = largest_finite(accumulator_type(accumulator)) / 8,
          .depth_known = contract.depth_known(),
          .bias = has_bias(c)};
}

std::unique_ptr<Op> make_layernorm_residual_op() { return std::make_unique<LayernormResidual>(); }

}  // namespace assay
