// The gemm_int8 op: int8 matrices with zero points, exact int32 sums, one scale for A, one or one a column for B, and
// requantization to int8.
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/probe.h"
#include "reference/case_list.h"
#include "reference/gemm_int8/gemm_int8.h"
#include "reference/gemm_int8/oracle.h"
#include "reference/math/caps.h"

namespace assay {
namespace gemm_int8 {
namespace {

// Inputs of a fill, with the mean and deviation of an element, from which scale_y follows so that outputs fill int8.
struct Input {
  FillSpec fill;
  double mean = 0, deviation = 0;
};
struct Fills {
  Input a, b;
  double target = 40;   // deviation of the outputs
  bool dyadic = false;  // scales are powers of two, so that ties occur and everything is exact
  double factor = 0;    // of the sums; 0: as the target asks
};

Fills fills_of(const Case& c) {
  const std::string& fill = c.word("fill");
  const double share = 1 / static_cast<double>(std::max<int64_t>(c.integer("k"), 1));
  const Input normal{{.generator = "normal", .scale = 40}, 0, 40}, full{{.generator = "int8_full"}, -0.5, 74};
  const Input extreme{{.generator = "int8_extreme"}, -0.5, 127.5}, ones{{.generator = "ones"}, 1, 0};
  const Input integers{{.generator = "integers"}, 0, 4.9}, index{{.generator = "index"}, 0, 72.5};
  if (fill == "normal") return {normal, normal};
  if (fill == "negative") return {{{.generator = fill, .scale = 40}, -32, 24}, normal};
  if (fill == "constant") return {{{.generator = fill, .scale = 40}, 0, 40}, full};
  if (fill == "int8_full") return {full, full};
  if (fill == "int8_extreme") return {extreme, extreme, 120};  // a third saturates
  if (fill == "integers") return {integers, integers, 40, true};
  if (fill == "ones") return {ones, ones, 40, true};
  if (fill == "index") return {index, integers, 40, true};
  if (fill == "ties") {  // results half way between two of y's numbers, or beside that by what their sums differ by
    const int exponent = probe::ties_exponent(c.integer("k"));
    return {
        {{.generator = "ties_partner"}, 127, 0}, {{.generator = fill}, 0, 74}, 40, true, std::ldexp(1.0, -exponent)};
  }
  if (fill == "probe_steps") return {{{.generator = fill}, 0, 0}, ones, 40, true, 0.5};
  if (fill == "onehot" || fill == "identity") return {{{.generator = fill}, share, std::sqrt(share)}, index, 40, true};
  throw UsageError("case of gemm_int8: fill '" + fill +
                   "' has no meaning for int8; use normal, negative, constant, int8_full, int8_extreme, integers, "
                   "ones, index, onehot, identity or ties");
}

// Mean and deviation of k products of independent elements less their zero points.
struct Sum {
  double mean, deviation;
};
Sum sum_of(const Fills& fills, const Case& c) {
  const double k = c.real("k"), a = fills.a.mean - c.real("za"), b = fills.b.mean - c.real("zb");
  const double square =
      (a * a + fills.a.deviation * fills.a.deviation) * (b * b + fills.b.deviation * fills.b.deviation);
  return {k * a * b, std::sqrt(k * std::max(square - a * a * b * b, 0.0))};
}

// What the sums are multiplied by to fill int8; where the mean dominates it is kept well inside, for the zero point of
// y to be added.
double factor_of(const Fills& fills, const Sum& sum) {
  return std::min(fills.target / std::max(sum.deviation, 1.0), 60 / std::max(std::fabs(sum.mean), 1.0));
}

// Whether outputs move with what they are made of, for whichever scales are drawn: these multiply the factor by a third
// to 8/3 (own_tensors). What outputs lie around has to be within int8, or all of them may saturate, and their spread be
// more than a rounding. So has what the outputs of a column or row have in common, its own sum times the other matrix's
// zero point, which is small beside their spread only where the zero points are.
bool outputs_move(const Case& c) {
  const Fills fills = fills_of(c);
  const auto is_small = [](double zero, const Input& input) {
    return std::fabs(zero - input.mean) <= input.deviation / 4;
  };
  if (!is_small(c.real("za"), fills.a) || !is_small(c.real("zb"), fills.b)) return false;
  if (std::fabs(c.real("zy")) > 64) return false;
  const Sum sum = sum_of(fills, c);
  const double factor = factor_of(fills, sum);
  for (const double times : {1.0 / 3, 8.0 / 3}) {
    const double middle = times * factor * sum.mean + c.real("zy");
    if (middle < -128 || middle > 127 || times * factor * sum.deviation < 1) return false;
  }
  return true;
}

double power_of_two_below(double x) {
  int exponent;
  std::frexp(x, &exponent);
  return std::ldexp(0.5, exponent);
}

// Farthest that an int8 number can lie from its zero point.
int64_t reach(int64_t zero) { return std::max(127 - zero, zero + 128); }

// The most products that an int32 holds the sum of, whatever they are.
int64_t longest(const Case& c) { return 2147483647 / (reach(c.integer("za")) * reach(c.integer("zb"))); }

void require_zero_point(const Case& c, const char* name) {
  if (c.integer(name) <= 127) return;
  throw UsageError("case of gemm_int8: field '" + std::string(name) + "' = " + c.word(name) +
                   " is above 127, the largest int8");
}

class GemmInt8Op final : public Op {
 public:
  std::string_view name() const override { return "gemm_int8"; }
  std::string_view summary() const override {
    return "y = int8(scale_a scale_b / scale_y sum (a - za)(b - zb) + zy), nearest even, saturated";
  }
  int oracle_version() const override { return 1; }

  std::vector<FieldSpec> fields() const override {
    const auto zero = [](const char* name, const char* doc) {
      return FieldSpec{.name = name, .doc = doc, .fallback = "0", .least = -128};
    };
    const auto pad = [](const char* name) {
      return FieldSpec{.name = name, .doc = "elements between the rows as stored", .fallback = "0"};
    };
    return {
        {.name = "m", .doc = "rows of y"},
        {.name = "n", .doc = "columns of y"},
        {.name = "k", .doc = "products summed"},
        {.name = "tb", .kind = FieldKind::word, .doc = "t: b is stored [n, k]", .fallback = "n", .choices = {"n", "t"}},
        pad("pad_a"),
        pad("pad_b"),
        pad("pad_c"),
        {.name = "scales",
         .kind = FieldKind::word,
         .doc = "of b: one, or one a column",
         .fallback = "tensor",
         .choices = {"tensor", "channel"}},
        zero("za", "zero point of a, -128 to 127"),
        zero("zb", "zero point of b, -128 to 127"),
        zero("zy", "zero point of y, -128 to 127"),
        {.name = "dtype", .kind = FieldKind::word, .doc = "of a, b and y", .fallback = "i8", .choices = {"i8"}}};
  }

  std::vector<Case> cases(Tier tier) const override { return gemm_int8::cases(*this, tier); }

  std::vector<ProbeSet> probes() const override { return gemm_int8::probes(*this); }

  std::vector<Case> device_cases(Tier tier) const override {
    return cases_of(*this, tier,
                    {{Tier::ci, "m=8388737,n=3,k=2,fill=int8_full"},
                     {Tier::ci, "m=3,n=16777259,k=2,tb=t,fill=int8_full"},
                     {Tier::ci, "m=1100,n=16384,k=16,tb=t"},  // more than one piece of what a library is given at once
                     // Rows that begin beyond 2^31 elements.
                     {Tier::ci, "m=17,n=24,k=40,tb=t,pad_a=134217728,pad_b=94000000,pad_c=134217728"},
                     {Tier::nightly, "m=46351,n=46349,k=16,tb=t,scales=channel,fill=int8_full"},
                     {Tier::nightly, "m=131101,n=8,k=16411,za=5,zb=-3,zy=7,fill=int8_full"}});
  }

  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    for (const char* name : {"za", "zb", "zy"}) require_zero_point(c, name);
    const int64_t m = c.integer("m"), n = c.integer("n"), k = c.integer("k");
    if (k > longest(c)) {
      throw UsageError("case of gemm_int8: field 'k' = " + c.word("k") +
                       " may overflow int32 with these zero points; " + "give at most " + std::to_string(longest(c)));
    }
    const bool tb = c.word("tb") == "t";
    Fills fills = fills_of(c);  // rows of A and columns of B are a generator's rows: the same matrices in every layout
    fills.a.fill.axis = 1;
    fills.b.fill.axis = tb ? 1 : 0;
    const auto scale = [&](double least) {  // a power of two, or anything from it to twice that
      return fills.dyadic ? FillSpec{.generator = "ones", .scale = least}
                          : FillSpec{.generator = "uniform", .scale = least, .shift = least};
    };
    constexpr double kScaleOfA = 0x1p-7, kScaleOfB = 0x1p-6;
    const double factor = fills.factor > 0 ? fills.factor : factor_of(fills, sum_of(fills, c));
    const double scale_y =
        fills.dyadic ? kScaleOfA * kScaleOfB / power_of_two_below(factor) : 1.5 * kScaleOfA * kScaleOfB / factor;
    const auto vector = [](const char* name, int64_t length, const FillSpec& fill) {
      return TensorSpec{.name = name, .dtype = DType::f32, .shape = {length}, .strides = {1}, .fill = fill};
    };
    const auto matrix = [&](const char* name, int64_t rows, int64_t cols, const char* pad, const FillSpec& fill) {
      const std::vector<int64_t> shape{rows, cols};
      return TensorSpec{
          .name = name, .dtype = DType::i8, .shape = shape, .strides = row_major(shape, c.integer(pad)), .fill = fill};
    };
    std::vector<TensorSpec> all{matrix("a", m, k, "pad_a", fills.a.fill),
                                matrix("b", tb ? n : k, tb ? k : n, "pad_b", fills.b.fill),
                                vector("scale_a", 1, scale(kScaleOfA)),
                                vector("scale_b", c.word("scales") == "channel" ? n : 1, scale(kScaleOfB)),
                                vector("scale_y", 1, scale(scale_y)),
                                matrix("y", m, n, "pad_c", {})};
    all[kY].role = Role::output;
    return all;
  }

  std::vector<Reference> oracle(const Case& c, std::span<const TensorView> tensors, int threads) const override {
    return {evaluate(c, tensors, threads)};
  }

  Bounds bounds(const Case& c, const Contract& contract, const Reference& reference) const override {
    return bounds_of(rule_of(contract), reference, std::max<int64_t>(c.integer("n"), 1), kPer);
  }

  std::string cap_violation(const Contract& contract) const override {
    const std::string common = common_cap_violation(contract);
    if (!common.empty()) return common;
    const assay_arithmetic& a = contract.arithmetic;
    if (a.accumulator != ASSAY_ACC_I32) return "the accumulator must be i32";
    if (a.intermediate != ASSAY_ACC_NONE && a.intermediate != ASSAY_ACC_F32 && a.intermediate != ASSAY_ACC_F64) {
      return "requantization must be in f32 or f64";
    }
    if (a.split_k > 1 && a.partial_type != ASSAY_ACC_I32) return "partial sums must be kept in i32";
    return "";
  }

  // Of sixteen elements not all are drawn again as they were, nor all zero, and of sixteen outputs not all round back.
  // Not here: scale_a and scale_y, single numbers that a reseeded draw may nearly hit again, and za and zb, which
  // scale_y follows. None of them is neutral everywhere, so that one ignored shows as a wrong result.
  std::vector<Sensitivity> sensitivities(const Case& c) const override {
    const std::string& fill = c.word("fill");
    const int64_t m = c.integer("m"), n = c.integer("n"), k = c.integer("k");
    if ((fill != "normal" && fill != "int8_full") || std::min({m * n, m * k, k * n}) < kEnough) return {};
    if (!outputs_move(c)) return {};
    std::vector<Sensitivity> all{{.what = "tensor a", .tensor = "a"}, {.what = "tensor b", .tensor = "b"}};
    if (c.word("scales") == "channel" && n >= 8) all.push_back({.what = "tensor scale_b", .tensor = "scale_b"});
    const int64_t zy = c.integer("zy");
    all.push_back({.what = "zy", .changed = c.with({{"zy", print_number(zy > 0 ? zy - 16 : zy + 16)}})});
    return all;
  }

  std::optional<Case> leading_part(const Case& c) const override {
    if (c.integer("m") < 2) return std::nullopt;
    return c.with({{"m", "1"}});
  }

  std::vector<TensorAxis> row_order(const Case& c) const override {
    if (c.integer("m") < 2) return {};
    return {{"a", 0}, {"y", 0}};
  }

  // Where a zero stands for the number zero: a zero point takes that away.
  std::optional<Case> more_terms(const Case& c) const override {
    if (c.integer("za") != 0 || c.integer("zb") != 0) return std::nullopt;
    Case more = longer(c, "k");
    if (more.integer("k") > longest(c)) return std::nullopt;
    return more;
  }

 private:
  static constexpr int64_t kEnough = 16;
};

}  // namespace
}  // namespace gemm_int8

std::unique_ptr<Op> make_gemm_int8_op() { return std::make_unique<gemm_int8::GemmInt8Op>(); }

}  // namespace assay
