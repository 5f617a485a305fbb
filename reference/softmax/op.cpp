// The op softmax: fields, tensors, caps, bounds. The formula and its error are in oracle.h, the cases in cases.cpp.
#include "core/op.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "reference/host_rows.h"
#include "reference/math/caps.h"
#include "reference/probe_list.h"
#include "reference/row_ops.h"
#include "reference/softmax/cases.h"
#include "reference/softmax/oracle.h"

namespace assay {
namespace {

using softmax::Conditions;

bool has_mask(const Case& c) { return c.word("mask") == "additive"; }

using softmax::kArgument, softmax::kDistance, softmax::kMeanArgument, softmax::kMeanDistance, softmax::kWorst,
    softmax::kLargest, softmax::kUnclear;

template <class Real>
Reference run_oracle(const Case& c, std::span<const TensorView> tensors, int threads) {
  const int64_t rows = c.integer("rows"), cols = c.integer("cols");
  Reference r{.tensor = "y", .dtype = dtype_of(c)};
  const auto elements = static_cast<size_t>(rows * cols);
  for (auto* values : {&r.hi, &r.lo, &r.e_ref}) values->resize(elements);
  r.conditions.resize(softmax::kConditions);
  for (size_t k = 0; k < softmax::kConditions; ++k) {
    r.conditions[k].resize(k <= kDistance ? elements : static_cast<size_t>(rows));
  }
  parallel_rows(rows, threads, [&](int64_t row) {
    std::vector<double> inputs(static_cast<size_t>(2 * cols));
    softmax::Row in{.x = inputs.data(), .cols = cols, .scale = c.real("scale")};
    in.scale_roundings = softmax::scale_roundings(in.scale);
    load_row(tensors[0], row, inputs.data());
    if (has_mask(c)) {
      load_row(tensors[1], row, inputs.data() + cols);
      in.mask = inputs.data() + cols;
    }
    const int64_t first = row * cols;
    const Conditions found =
        softmax::softmax_row<Real>(in, r.hi.data() + first, r.lo.data() + first, r.e_ref.data() + first,
                                   r.conditions[kArgument].data() + first, r.conditions[kDistance].data() + first);
    const auto i = static_cast<size_t>(row);
    r.conditions[kMeanArgument][i] = found.mean_argument;
    r.conditions[kMeanDistance][i] = found.mean_distance;
    r.conditions[kWorst][i] = found.worst;
    r.conditions[kLargest][i] = found.largest;
    r.conditions[kUnclear][i] = found.unclear;
  });
  return r;
}

class Softmax final : public Op {
 public:
  std::string_view name() const override { return "softmax"; }
  std::string_view summary() const override {
    return "y = exp(z - max z) / sum exp(z - max z) along each row, z = scale x + mask";
  }
  int oracle_version() const override { return 1; }

  std::vector<FieldSpec> fields() const override {
    return {{.name = "rows", .doc = "independent rows"},
            {.name = "cols", .doc = "length of a row"},
            {.name = "pad", .doc = "elements between rows", .fallback = "0"},
            {.name = "scale", .kind = FieldKind::real, .doc = "multiplies x", .fallback = "1"},
            {.name = "mask",
             .kind = FieldKind::word,
             .doc = "additive: a tensor of x's shape and type is added; -inf in it hides x",
             .fallback = "none",
             .choices = {"none", "additive"}},
            float_dtype_field()};
  }

  std::vector<Case> cases(Tier tier) const override { return softmax::cases(*this, tier); }

  std::vector<ProbeSet> probes() const override { return softmax::probes(*this); }

  std::vector<Case> device_cases(Tier tier) const override {
    return cases_of(*this, tier,
                    {{Tier::ci, "rows=1048583,cols=5,dtype=bf16"},
                     {Tier::ci, "rows=17,cols=40,pad=134217728,dtype=bf16"},  // rows begin beyond 2^31
                     {Tier::ci, "rows=4100,cols=4100,mask=additive,dtype=f64,fill=causal"},
                     {Tier::nightly, "rows=524309,cols=4099,dtype=bf16"},
                     {Tier::nightly, "rows=1048583,cols=2049,scale=0.125,dtype=f16"}});
  }

  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    if (!std::isfinite(c.real("scale"))) {
      throw UsageError("case of softmax: field 'scale' = '" + c.word("scale") + "' is not finite");
    }
    const FillSpec probe{.generator = c.word("fill")}, zeros{.generator = "zeros"};
    const softmax::Fill* fill = is_probe(c) ? nullptr : &fill_named(softmax::kFills, c);
    const std::vector<int64_t> shape{c.integer("rows"), c.integer("cols")};
    const std::vector<int64_t> strides = row_major(shape, c.integer("pad"));
    const DType type = dtype_of(c);
    std::vector<TensorSpec> all{
        {.name = "x", .dtype = type, .shape = shape, .strides = strides, .fill = fill ? fill->x() : probe}};
    if (has_mask(c)) {
      all.push_back(
          {.name = "mask", .dtype = type, .shape = shape, .strides = strides, .fill = fill ? fill->mask() : zeros});
    }
    all.push_back({.name = "y", .dtype = type, .shape = shape, .strides = strides, .role = Role::output});
    return all;
  }

  std::vector<Reference> oracle(const Case& c, std::span<const TensorView> tensors, int threads) const override {
    return {dtype_of(c) == DType::f64 ? run_oracle<DoubleDouble>(c, tensors, threads)
                                      : run_oracle<double>(c, tensors, threads)};
  }

  Bounds bounds(const Case& c, const Contract& contract, const Reference& r) const override {
    return bounds_of(softmax::rule_of(c, contract), r, c.integer("cols"), softmax::kPer);
  }

  std::string cap_violation(const Contract& contract) const override {
    if (std::string why = common_cap_violation(contract); !why.empty()) return why;
    if (contract.arithmetic.exp_kind == ASSAY_EXP_NONE) return "exp_kind is none, but softmax needs an exp";
    return summation_cap_violation(contract);
  }

  std::vector<Sensitivity> sensitivities(const Case& c) const override {
    // Only where the answer must change: several columns of ordinary numbers, with rows that are not all hidden.
    const bool ordinary = c.word("fill") == "normal" || c.word("fill") == "causal" || c.word("fill") == "masked";
    if (!ordinary || c.integer("rows") == 0 || c.integer("cols") < 8) return {};
    // Beyond, a row may be one 1 and zeros whatever is perturbed; below, as many equal numbers as it has columns.
    constexpr double kLeastScale = 0x1p-5, kMostScale = 8;
    const double scale = std::fabs(c.real("scale"));
    if (scale < kLeastScale || scale > kMostScale) return {};
    std::vector<Sensitivity> all{{.what = "tensor x", .tensor = "x"},
                                 {.what = "scale", .changed = c.with({{"scale", print_number(c.real("scale") / 2)}})}};
    if (has_mask(c) && c.word("fill") != "causal") all.push_back({.what = "tensor mask", .tensor = "mask"});
    return all;
  }

  std::optional<Case> leading_part(const Case& c) const override {
    if (c.integer("rows") < 2) return std::nullopt;
    return c.with({{"rows", "1"}});
  }

  std::vector<TensorAxis> row_order(const Case& c) const override {
    if (c.integer("rows") < 2) return {};
    std::vector<TensorAxis> all{{"x", 0}, {"y", 0}};
    if (has_mask(c)) all.push_back({"mask", 0});
    return all;
  }

  std::vector<RowIndependence> row_independence(const Case& c) const override {
    std::vector<RowIndependence> all{{"x", 0, "y", 0}};
    if (has_mask(c)) all.push_back({"mask", 0, "y", 0});
    return all;
  }
};

}  // namespace

softmax::Rule softmax::rule_of(const Case& c, const Contract& contract) {
  const double n = c.real("cols");
  const int32_t accumulator = charged_accumulator(contract, dtype_of(c));
  const bool flushes = contract.arithmetic.flushes_subnormals != 0;
  const double u = accumulator_roundoff(accumulator);
  const double underflow = underflow_error(accumulator, flushes);
  const int32_t kind = contract.arithmetic.exp_kind;
  const double depth = std::min(contract.depth(n), n);
  return {.arithmetic = {.u = u,
                         .exp_base = exp_error(kind, u, 0) + 2 * underflow * (1 + std::fabs(c.real("scale"))),
                         .exp_slope = exp_error(kind, u, 1) - exp_error(kind, u, 0),
                         .gamma = gamma_n(depth, u) + n * underflow,
                         .rescalings = contract.arithmetic.rescales_online != 0 ? depth : 0,
                         .underflow = (flushes ? 2 : 6) * underflow},
          .narrowing = intermediate_error(contract, dtype_of(c)),
          .limit = largest_finite(accumulator_type(accumulator)),
          .depth_known = contract.depth_known(),
          .nan_unspecified = contract.nan_policy == ASSAY_NAN_UNSPECIFIED};
}

std::unique_ptr<Op> make_softmax_op() { return std::make_unique<Softmax>(); }

}  // namespace assay
