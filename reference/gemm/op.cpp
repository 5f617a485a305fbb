// The gemm op: C = alpha op(A) op(B) + beta C over a batch of row-major matrices. As in BLAS, A and B are not read when
// alpha is 0, C is not read when beta is 0, and k = 0 leaves beta C. NaN and infinity go by IEEE 754.
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/matrix_product.h"
#include "reference/case_list.h"
#include "reference/gemm/gemm.h"
#include "reference/gemm/oracle.h"
#include "reference/math/caps.h"
#include "reference/math/tensor_unit.h"
#include "reference/moderate_factors.h"
#include "reference/probe_list.h"
#include "reference/product_fills.h"

namespace assay {
namespace gemm {
namespace {

bool is_float_type(int32_t type) { return type >= ASSAY_ACC_F16 && type <= ASSAY_ACC_F64; }

// Rows of A and columns of B are a generator's rows, of length k, so that the matrices are the same in every layout.
ProductFills fills_of(const Case& c) {
  const std::string& fill = c.word("fill");
  if (!is_probe(c)) return product_fills(fill, c.integer("k"));
  const bool has_partner = fill == "probe_spine" || fill == "probe_fused" || fill == "probe_order";
  return {{.generator = fill}, {.generator = has_partner ? fill + "_partner" : "ones"}, {.generator = "integers"}};
}

void require_exact_scalar(const Case& c, std::string_view name, DType dtype) {
  const DType type = dtype == DType::f64 ? DType::f64 : DType::f32;
  const double value = c.real(name);
  if (std::isfinite(value) && round_to(type, value) == value) return;
  throw UsageError("case of gemm: field '" + std::string(name) + "' = " + c.word(name) + " is not a finite " +
                   std::string(name_of(type)) + " number; give one that is, such as 0.75");
}

// Other input types give what they are given, so that `out` is theirs alone to leave out.
DType output_dtype(const Case& c) {
  const std::string &dtype = c.word("dtype"), &out = c.word("out");
  if ((dtype == "e4m3") == (out != "same")) return dtype_named(out == "same" ? dtype : out).value();
  throw UsageError("case of gemm: dtype " + dtype +
                   (dtype == "e4m3" ? " needs a field 'out'; give out=f32, out=f16 or out=bf16"
                                    : " has no field 'out' but 'same'; leave it out"));
}

class GemmOp final : public Op, public MatrixProductOp {
 public:
  std::string_view name() const override { return "gemm"; }
  std::string_view summary() const override { return "c = alpha op(a) op(b) + beta c, batched, row-major"; }
  int oracle_version() const override { return 1; }

  std::vector<FieldSpec> fields() const override {
    const auto transposed = [](const char* name, const char* doc) {
      return FieldSpec{.name = name, .kind = FieldKind::word, .doc = doc, .fallback = "n", .choices = {"n", "t"}};
    };
    const auto pad = [](const char* name) {
      return FieldSpec{.name = name, .doc = "elements between the rows as stored", .fallback = "0"};
    };
    return {
        {.name = "m", .doc = "rows of c"},
        {.name = "n", .doc = "columns of c"},
        {.name = "k", .doc = "products summed"},
        {.name = "batch", .doc = "matrices", .fallback = "1"},
        transposed("ta", "t: a is stored [k, m]"),
        transposed("tb", "t: b is stored [n, k]"),
        {.name = "alpha", .kind = FieldKind::real, .doc = "factor of the product; 0: a, b not read", .fallback = "1"},
        {.name = "beta", .kind = FieldKind::real, .doc = "factor of the old c; 0: c not read", .fallback = "0"},
        pad("pad_a"),
        pad("pad_b"),
        pad("pad_c"),
        {.name = "out",
         .kind = FieldKind::word,
         .doc = "dtype of c; of e4m3, which has too few bits for it: f32, f16 or bf16",
         .fallback = "same",
         .choices = {"same", "f32", "f16", "bf16"}},
        {.name = "dtype",
         .kind = FieldKind::word,
         .doc = "of a and b, and of c unless out says otherwise",
         .choices = {"f64", "f32", "f16", "bf16", "e4m3"}}};
  }

  std::vector<Case> cases(Tier tier) const override { return gemm::cases(*this, tier); }

  std::vector<ProbeSet> probes() const override { return gemm::probes(*this); }

  std::vector<Case> device_cases(Tier tier) const override {
    return cases_of(*this, tier,
                    {{Tier::ci, "batch=65537,m=3,n=5,k=2,dtype=bf16"},
                     {Tier::ci, "batch=65537,m=3,n=5,k=2,dtype=f32"},
                     {Tier::ci, "m=8388737,n=3,k=2,dtype=bf16"},
                     {Tier::ci, "m=3,n=16777259,k=2,dtype=f16"},
                     // Rows that begin beyond 2^31 elements.
                     {Tier::ci, "m=17,n=24,k=40,tb=t,pad_a=134217728,pad_b=94000000,pad_c=134217728,dtype=bf16"},
                     {Tier::ci, "m=17,n=24,k=40,pad_c=134217728,dtype=f32"},
                     {Tier::nightly, "m=46351,n=46349,k=8,dtype=bf16"},
                     {Tier::nightly, "m=46349,n=46351,k=33,tb=t,dtype=f16"},
                     {Tier::nightly, "batch=65537,m=128,n=257,k=8,dtype=bf16"},
                     {Tier::nightly, "m=32771,n=8,k=65537,dtype=f16"},
                     {Tier::nightly, "m=46351,n=46352,k=16,tb=t,out=bf16,dtype=e4m3"},
                     // From 2^32 products on integers are verified in the square of the size (check/freivalds.h).
                     {Tier::nightly, "m=16384,n=16384,k=16384,dtype=bf16,fill=sparse"},
                     {Tier::nightly, "m=16384,n=16384,k=16384,tb=t,dtype=f16,fill=sparse"},
                     {Tier::nightly, "m=8191,n=8193,k=8195,ta=t,dtype=f32,fill=integers"},
                     {Tier::nightly, "m=4099,n=4097,k=4101,ta=t,tb=t,dtype=f64,fill=integers"},
                     {Tier::nightly, "m=8200,n=8208,k=8224,tb=t,out=bf16,dtype=e4m3,fill=sparse"},
                     {Tier::nightly, "m=17,n=65539,k=16411,ta=t,dtype=bf16,fill=sparse"},
                     {Tier::nightly,
                      "m=65543,n=33,k=8209,tb=t,alpha=3,beta=-2,pad_a=3,pad_b=1,pad_c=5,dtype=f16"
                      ",fill=sparse"},
                     {Tier::nightly, "m=129,n=257,k=262147,dtype=bf16,fill=sparse"}});
  }

  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    const int64_t batch = c.integer("batch"), m = c.integer("m"), n = c.integer("n"), k = c.integer("k");
    const DType dtype = dtype_named(c.word("dtype")).value(), out = output_dtype(c);
    require_exact_scalar(c, "alpha", dtype);
    require_exact_scalar(c, "beta", dtype);
    const bool ta = c.word("ta") == "t", tb = c.word("tb") == "t";
    ProductFills fills = fills_of(c);
    fills.a.axis = ta ? 1 : 2;
    fills.b.axis = tb ? 2 : 1;
    const auto tensor = [&](const char* name, DType type, int64_t rows, int64_t cols, const char* pad,
                            const FillSpec& fill) {
      const std::vector<int64_t> shape{batch, rows, cols};
      return TensorSpec{
          .name = name, .dtype = type, .shape = shape, .strides = row_major(shape, c.integer(pad)), .fill = fill};
    };
    std::vector<TensorSpec> all{tensor("a", dtype, ta ? k : m, ta ? m : k, "pad_a", fills.a),
                                tensor("b", dtype, tb ? n : k, tb ? k : n, "pad_b", fills.b),
                                tensor("c", out, m, n, "pad_c", fills.c)};
    all[kA].is_read = all[kB].is_read = c.real("alpha") != 0;
    all[kC].role = Role::inout;
    all[kC].is_read = c.real("beta") != 0;
    return all;
  }

  std::vector<Reference> oracle(const Case& c, std::span<const TensorView> tensors, int threads) const override {
    return {evaluate(c, tensors, threads)};
  }

  Bounds bounds(const Case& c, const Contract& contract, const Reference& reference) const override {
    return bounds_of(rule_of(c, contract), reference, std::max<int64_t>(c.integer("n"), 1), kPer);
  }

  MatrixProduct matrix_product(const Case& c) const override {
    return {.left = kA,
            .right = kB,
            .out = kC,
            .left_transposed = c.word("ta") == "t",
            .right_transposed = c.word("tb") == "t",
            .alpha = c.real("alpha"),
            .beta = c.real("beta")};
  }

  bool is_exact(const Case& c, const Contract& contract, const ProductReach& reach) const override {
    constexpr double kOfIntegers = 0;  // the quantum
    const double factor = std::max({1.0, std::fabs(c.real("alpha")), std::fabs(c.real("beta"))});
    const double conditions[kConditions] = {reach.sums, reach.sums, kOfIntegers, reach.operand * factor};
    return rule_of(c, contract)({}, 0, 0, conditions).evidence == Evidence::exact &&
           sums_are_exact(output_dtype(c), reach.sums, 0, contract.arithmetic.flushes_subnormals != 0);
  }

  Case drawn(uint64_t seed, int64_t index) const override { return gemm::drawn(*this, seed, index); }

  std::string cap_violation(const Contract& contract) const override {
    const std::string common = common_cap_violation(contract);
    if (!common.empty()) return common;
    const assay_arithmetic& a = contract.arithmetic;
    if (a.accumulator == ASSAY_ACC_TENSOR) {
      if (std::string why = tensor_unit_violation(a); !why.empty()) return why;
    } else if (a.accumulator != ASSAY_ACC_F32 && a.accumulator != ASSAY_ACC_F64) {
      return "the accumulator must be f32, f64 or a tensor unit";
    }
    if (a.split_k < 0 || a.split_k > kLargestSplit) {
      return "split_k " + std::to_string(a.split_k) + " is not within 0 and " + std::to_string(kLargestSplit);
    }
    if (a.split_k > 1 && !is_float_type(a.partial_type))
      return "split_k needs partial_type, the type partials are kept in";
    if (a.split_k > 1 && (a.split_k + 1) * accumulator_roundoff(a.partial_type) > kLargestErrorOfParts) {
      return "split_k " + std::to_string(a.split_k) +
             " is too many for a partial_type of 16 bits; keep partials in f32, or at most " +
             std::to_string(static_cast<int>(kLargestErrorOfParts / accumulator_roundoff(a.partial_type)) - 1);
    }
    if (a.intermediate != ASSAY_ACC_NONE && !is_float_type(a.intermediate))
      return "the intermediate type is not a float";
    return "";
  }

  // A halved scalar or fresh elements change results by about their own size: sixteen of them do not all round back,
  // and of sixteen elements that are drawn again not all are the same.
  std::vector<Sensitivity> sensitivities(const Case& c) const override {
    const std::string& fill = c.word("fill");
    const int64_t batch = c.integer("batch"), m = c.integer("m"), n = c.integer("n"), k = c.integer("k");
    if ((fill != "normal" && fill != "uniform" && fill != "negative") || batch * m * n < kEnough) return {};
    if (!has_moderate_factors(c)) return {};
    std::vector<Sensitivity> all;
    const bool reads_products = c.real("alpha") != 0 && k > 0;
    const auto halved = [&c](const char* name) {
      return Sensitivity{.what = name, .changed = c.with({{name, print_number(c.real(name) / 2)}})};
    };
    if (reads_products) {
      all.push_back(halved("alpha"));
      if (batch * m * k >= kEnough) all.push_back({.what = "tensor a", .tensor = "a"});
      if (batch * k * n >= kEnough) all.push_back({.what = "tensor b", .tensor = "b"});
    }
    if (c.real("beta") != 0) {
      all.push_back(halved("beta"));
      all.push_back({.what = "tensor c", .tensor = "c"});
    }
    return all;
  }

  std::optional<Case> leading_part(const Case& c) const override {
    if (c.integer("batch") > 1) return c.with({{"batch", "1"}});
    // A transposed A holds a row as a column, which is no leading part.
    if (c.integer("m") > 1 && c.word("ta") == "n") return c.with({{"m", "1"}});
    return std::nullopt;
  }

  std::vector<TensorAxis> row_order(const Case& c) const override {
    if (c.integer("m") > 1) return {{"a", c.word("ta") == "t" ? 2 : 1}, {"c", 1}};
    if (c.integer("batch") > 1) return {{"a", 0}, {"b", 0}, {"c", 0}};
    return {};
  }

  std::optional<Case> more_terms(const Case& c) const override {
    if (c.real("alpha") == 0 || c.integer("k") == 0) return std::nullopt;  // nothing is summed
    return longer(c, "k");
  }

  std::vector<RowIndependence> row_independence(const Case& c) const override {
    std::vector<RowIndependence> all;
    if (c.real("alpha") != 0 && c.integer("k") > 0) {
      all.push_back({.input = "a", .input_axis = c.word("ta") == "t" ? 2 : 1, .output = "c", .output_axis = 1});
      all.push_back({.input = "b", .input_axis = c.word("tb") == "t" ? 1 : 2, .output = "c", .output_axis = 2});
      all.push_back({.input = "a", .input_axis = 0, .output = "c", .output_axis = 0});
    }
    return all;
  }

  std::vector<ScaleRelation> scale_relations(const Case& c) const override {
    const std::string& fill = c.word("fill");
    if (c.real("beta") != 0 || c.real("alpha") == 0 || fill == "huge" || fill == "subnormal") return {};
    if (c.word("dtype") == "e4m3") return {};  // its numbers are close to both ends of the format
    return {{.input = "a", .output = "c"}, {.input = "b", .output = "c"}};
  }

 private:
  static constexpr int32_t kLargestSplit = 1024;
  // What partial sums in a narrow type may add to the bound, relative to the terms: 7 parts in bf16, 63 in f16. Factors
  // cut to 4 bits, those of e4m3, are off by 0.04 on average (a mean of 7.5/128 of the last binade, over a significand
  // whose reciprocal has the mean log 2), and must stay outside.
  static constexpr double kLargestErrorOfParts = 0x1p-5;
  static constexpr int64_t kEnough = 16;
};

}  // namespace

Rule rule_of(const Case& c, const Contract& contract) {
  const assay_arithmetic& arithmetic = contract.arithmetic;
  const DType input = dtype_named(c.word("dtype")).value(), output = output_dtype(c);
  const int32_t unit = charged_accumulator(contract, input);
  const DType accumulator = accumulator_type(unit);
  const double k = c.real("k");
  Rule rule;
  rule.input = input;
  rule.in_tensor_unit = arithmetic.accumulator == ASSAY_ACC_TENSOR && size_of(input) <= 2;
  rule.tensor = charged_tensor_unit(arithmetic, input);
  rule.flushes = arithmetic.flushes_subnormals != 0;
  rule.rounding = gamma_n(k + 2, unit_roundoff(accumulator));
  rule.underflow = (rule.flushes ? 4 * k + 8 : 2 * k + 4) * underflow_error(unit, rule.flushes);
  const double parts = std::clamp<double>(arithmetic.split_k, 1, std::max(k, 1.0));
  if (rule.in_tensor_unit) {
    const double sum = rule.tensor.rounding(k);  // of no part more, relative to its own terms
    rule.rounding = (1 + sum) * (1 + gamma_n(2 + parts, unit_roundoff(accumulator))) - 1 + 0x1p-50;
    rule.underflow += rule.tensor.subnormal_cuts(k, input);
  }
  rule.passed[rule.types++] = accumulator;
  // What numbers of that type are off by, relative to their magnitude, after so many roundings.
  const auto pass = [&](int32_t type, double times) {
    if (!is_charged_between(type, accumulator, output)) return 0.0;
    rule.passed[rule.types++] = accumulator_type(type);
    rule.underflow += times * underflow_error(type, rule.flushes);
    return times * accumulator_roundoff(type);
  };
  if (arithmetic.split_k > 1) rule.extra = pass(arithmetic.partial_type, parts + 1) * (1 + rule.rounding);
  const double narrowing = pass(arithmetic.intermediate, 1);
  if (c.real("beta") == 0) {
    rule.narrowing = narrowing;
  } else {
    rule.extra += narrowing * (1 + rule.rounding + rule.extra);
  }
  return rule;
}

}  // namespace gemm

std::unique_ptr<Op> make_gemm_op() { return std::make_unique<gemm::GemmOp>(); }

}  // namespace assay
