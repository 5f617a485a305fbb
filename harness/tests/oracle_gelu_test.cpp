// reference/bias_gelu: MPFR confirms values and bounds of both forms; correct implementations stay inside E_alg, wrong
// ones do not.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>

#include "core/error.h"
#include "mpfr_value.h"
#include "oracle_run.h"
#include "oracle_suite.h"
#include "reference/bias_gelu/oracle.h"

namespace assay {
namespace {

using namespace testing;

const Op& op() { return registry().named("bias_gelu"); }
Case case_of(const std::string& fields) { return registry().parse_case("bias_gelu:" + fields); }

Big pi() { return Big(4) * Big(1).apply(mpfr_atan); }

// erfc and exp of a negative number, not 1 + erf and 1 + tanh: the left tail must not cancel at any precision.
Big exact_gelu(bool erf_form, double x, double bias) {
  const Big t = Big(x) + Big(bias);
  if (erf_form) return t * Big(0.5) * (Big(0) - t * Big(0.5).sqrt()).apply(mpfr_erfc);
  const Big w = (Big(2) / pi()).sqrt() * (t + Big(44715) / Big(1000000) * t * t * t);
  return t / (Big(1) + (Big(-2) * w).exp());
}

void expect_encloses_mpfr(const Case& c, int64_t* checked) {
  SCOPED_TRACE(c.id());
  const Inputs inputs(op(), c);
  const std::vector<double> x = inputs.values("x"), bias = inputs.values("bias");
  const Reference r = op().oracle(c, inputs.views, 1).at(0);
  ASSERT_EQ(r.size(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double b = bias[i % bias.size()], t = x[i] + b;
    if (!std::isfinite(t) && c.word("fill") != "huge") {
      ASSERT_TRUE(std::isnan(t) ? std::isnan(r.hi[i]) : t > 0 ? r.hi[i] == t : r.hi[i] == 0) << i << " " << t;
      ASSERT_EQ(r.lo[i], 0);
      continue;
    }
    if (!std::isfinite(r.hi[i])) {
      ASSERT_FALSE(std::isfinite(t)) << i;  // overflow of f64 itself
      continue;
    }
    const Big error = (Big(r.hi[i]) + Big(r.lo[i]) - exact_gelu(c.word("form") == "erf", x[i], b)).abs();
    ASSERT_FALSE(Big(r.e_ref[i]) < error)
        << "element " << i << " t " << t << " r " << r.hi[i] << " e_ref " << r.e_ref[i] << " error " << error.value();
    ++*checked;
  }
}

TEST(GeluOracle, MpfrLiesWithinItsBound) {
  int64_t checked = 0;
  for (const Case& c : op().cases(Tier::ci)) {
    if (c.integer("rows") * c.integer("cols") <= 400) expect_encloses_mpfr(c, &checked);
  }
  std::printf("  %lld elements\n", static_cast<long long>(checked));
  EXPECT_GT(checked, 10000);
}

// Of all floats a sample that is even in their bits, which a sweep goes through.
TEST(GeluOracle, MpfrLiesWithinItsBoundForAnyFloat) {
  std::mt19937_64 random(31);
  int64_t checked = 0;
  for (int draw = 0; draw < 1500; ++draw) {
    const std::string seed = std::to_string(1 + random() % (uint64_t{1} << 29));
    for (const char* form : {"erf", "tanh"}) {
      expect_encloses_mpfr(case_of("rows=1,cols=8,dtype=f32,fill=every,form=" + std::string(form) + ",seed=" + seed),
                           &checked);
    }
  }
  EXPECT_GT(checked, 20000);
}

// In the tail the result is accurate relative to itself, so that its rounding is right there too.
TEST(GeluOracle, LeftTailIsAccurateRelativeToItself) {
  for (int i = 0; i < 348; ++i) {
    const double t = -0.125 - 0.0371 * i;  // to -13
    for (const bool erf_form : {true, false}) {
      if (!erf_form && t < -9) continue;
      const auto form = erf_form ? gelu::Form::erf : gelu::Form::tanh;
      const Big want = exact_gelu(erf_form, t, 0);
      EXPECT_LT(relative_error_log2(Big(gelu::bias_gelu<double>(form, t, 0).y), want), -42) << t;
      EXPECT_LT(relative_error_log2(Big(gelu::bias_gelu<DoubleDouble>(form, t, 0).y), want), -90) << t;
      EXPECT_LT(gelu::bias_gelu<double>(form, t, 0).e_ref, 0x1p-40 * want.abs().value()) << t;
    }
  }
}

TEST(GeluOracle, ConstantsAreRight) {
  EXPECT_LT(relative_error_log2(Big(gelu::kSqrtTwoOverPi), (Big(2) / pi()).sqrt()), -105);
  EXPECT_LT(relative_error_log2(Big(gelu::kCubic), Big(44715) / Big(1000000)), -105);
}

TEST(GeluOracle, BoundIsFarBelowThatOfAnyKernel) {
  for (const Case& c : op().cases(Tier::ci)) {
    if (c.integer("rows") * c.integer("cols") > 10000) continue;
    const Inputs inputs(op(), c);
    const Reference r = op().oracle(c, inputs.views, 1).at(0);
    const int32_t accumulator = c.word("dtype") == "f64" ? ASSAY_ACC_F64 : ASSAY_ACC_F32;
    const Bounds bounds = op().bounds(c, plain_contract(accumulator, 0, 0), r);
    for (size_t i = 0; i < r.size(); ++i) {
      EXPECT_EQ(bounds.evidence[i] == Evidence::weak, false);
      if (!std::isfinite(r.hi[i])) continue;
      EXPECT_LE(r.e_ref[i], 0x1p-10 * bounds.e_alg[i] + 0x1p-1060) << c.id() << " " << i;
    }
  }
}

TEST(GeluOracle, SameBitsForEveryThreadCount) {
  for (const char* fields : {"rows=37,cols=65,form=erf,dtype=f32", "rows=37,cols=65,form=tanh,dtype=f64"}) {
    const Inputs inputs(op(), case_of(fields));
    const auto one = op().oracle(case_of(fields), inputs.views, 1);
    EXPECT_TRUE(same_bits(one, op().oracle(case_of(fields), inputs.views, 2)));
    EXPECT_TRUE(same_bits(one, op().oracle(case_of(fields), inputs.views, 3)));
  }
}

// The oracle's loops are compiled for several instruction sets; this file is not.
TEST(GeluOracle, InstructionSetMakesNoDifference) {
  for (const char* fields : {"rows=9,cols=650,form=erf,dtype=f64,fill=tails", "rows=9,cols=650,form=tanh,dtype=f64",
                             "rows=9,cols=650,form=erf,dtype=f32,fill=tails", "rows=9,cols=650,form=tanh,dtype=f32"}) {
    const Case c = case_of(fields);
    const Inputs inputs(op(), c);
    const std::vector<double> x = inputs.values("x"), bias = inputs.values("bias");
    const auto form = c.word("form") == "erf" ? gelu::Form::erf : gelu::Form::tanh;
    const Reference r = op().oracle(c, inputs.views, 1).at(0);
    std::vector<double> hi(x.size()), lo(x.size()), error(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      if (c.word("dtype") == "f64") {
        const auto element = gelu::bias_gelu<DoubleDouble>(form, x[i], bias[i % bias.size()]);
        hi[i] = element.y.hi, lo[i] = element.y.lo, error[i] = element.e_ref;
      } else {
        const auto element = gelu::bias_gelu<double>(form, x[i], bias[i % bias.size()]);
        hi[i] = element.y, error[i] = element.e_ref;
      }
    }
    EXPECT_TRUE(same_bits(hi, r.hi) && same_bits(lo, r.lo) && same_bits(error, r.e_ref)) << fields;
  }
}

// ---- implementations in precision T, right and wrong ----

enum class How { library, sigmoid, series_erf, quick };

struct Variant {
  How how = How::library;
  bool swap_forms = false;
  bool use_bias = true;
  bool bias_by_row = false;
  double cubic = 0.044715;
  bool sum_in_16_bits = false;
  bool nan_is_zero = false;
};

// Formula 7.1.26 of M. Abramowitz and I. Stegun, off by at most 1.5e-7, as some vector libraries use it.
template <class T>
T series_erf(T w) {
  const T a = std::fabs(w), k = T(1) / (T(1) + T(0.3275911) * a);
  const T polynomial =
      ((((T(1.061405429) * k + T(-1.453152027)) * k + T(1.421413741)) * k + T(-0.284496736)) * k + T(0.254829592)) * k;
  return std::copysign(T(1) - polynomial * std::exp(-a * a), w);
}

template <class T>
Outputs gelu_in(const Case& c, const Inputs& inputs, const Variant& v) {
  const std::vector<double> x = inputs.values("x"), bias = inputs.values("bias");
  const size_t cols = bias.size();
  const bool erf_form = (c.word("form") == "erf") != v.swap_forms;
  std::vector<double> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t k = v.bias_by_row ? i / cols % cols : i % cols;
    T t = static_cast<T>(x[i]) + (v.use_bias ? static_cast<T>(bias[k]) : T(0));
    if (v.sum_in_16_bits) t = static_cast<T>(round_to(DType::bf16, t));
    if (v.nan_is_zero && std::isnan(t)) t = 0;
    const T w = T(0.7978845608028653559) * (t + T(v.cubic) * t * t * t);
    if (v.how == How::quick) {
      y[i] = t / (T(1) + std::exp(T(-1.702) * t));
    } else if (erf_form) {
      const T scaled = t * T(0.70710678118654752440);
      y[i] = T(0.5) * t * (T(1) + (v.how == How::series_erf ? series_erf(scaled) : std::erf(scaled)));
    } else {
      y[i] = v.how == How::sigmoid ? t / (T(1) + std::exp(T(-2) * w)) : T(0.5) * t * (T(1) + std::tanh(w));
    }
  }
  return {y};
}

std::vector<ErrorSummary> judged(const Case& c, const Variant& v, uint64_t seed) {
  const Inputs inputs(op(), c, seed);
  const bool is_f64 = c.word("dtype") == "f64";
  Contract contract = plain_contract(is_f64 ? ASSAY_ACC_F64 : ASSAY_ACC_F32, 0, 0);
  if (v.how == How::library) contract.arithmetic.exp_kind = ASSAY_EXP_NONE;
  return judge(op(), c, inputs, contract, is_f64 ? gelu_in<double>(c, inputs, v) : gelu_in<float>(c, inputs, v));
}

TEST(GeluBound, CorrectImplementationsNeverFail) {
  const std::vector<Variant> right{{}, {.how = How::sigmoid}, {.how = How::series_erf}};
  const auto applies = [](const Case& c, const Variant& v) {
    return v.how != How::series_erf || c.word("dtype") != "f64";  // not that accurate, by design
  };
  expect_right_everywhere(op(), right, 2000, judged, applies);
}

TEST(GeluBound, WrongImplementationsFailInTheSmokeTier) {
  const std::vector<std::pair<const char*, Variant>> wrong{
      {"the other form", {.swap_forms = true}},       {"bias missing", {.use_bias = false}},
      {"bias indexed by row", {.bias_by_row = true}}, {"sigmoid approximation x s(1.702 x)", {.how = How::quick}},
      {"cubic term 0.0447", {.cubic = 0.0447}},       {"x + bias rounded to bf16", {.sum_in_16_bits = true}},
      {"NaN swallowed", {.nan_is_zero = true}},
  };
  expect_smoke_sees(op(), wrong, judged);
}

TEST(Gelu, MinusInfinityIsNanOrTheLimitAndPlusInfinityItself) {
  const Case c = case_of("rows=1,cols=6,form=erf,dtype=f32");
  Inputs inputs(op(), c);
  const float inf = std::numeric_limits<float>::infinity(), most = std::numeric_limits<float>::max();
  const float x[] = {most, -most, inf, -inf, most, std::nanf("")}, bias[] = {most, -most, 1, 1, 0, 1};
  std::memcpy(inputs.storage[0].data(), x, sizeof x);
  std::memcpy(inputs.storage[1].data(), bias, sizeof bias);
  const Reference r = op().oracle(c, inputs.views, 1).at(0);
  const Bounds b = op().bounds(c, plain_contract(ASSAY_ACC_F32, 0, 0), r);
  const bool or_nan[] = {false, true, false, true, false, false};
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(b.evidence[i], or_nan[i] ? Evidence::or_nan : Evidence::rigorous) << i;
  }
  EXPECT_EQ(r.hi[2], HUGE_VAL);
  EXPECT_TRUE(std::isnan(r.hi[5]));
  const auto failures = [&](std::vector<double> y) {
    return judge(op(), c, inputs, plain_contract(ASSAY_ACC_F32, 0, 0), {std::move(y)})[0].failures;
  };
  EXPECT_EQ(failures({inf, -0.0, inf, -0.0, most, NAN}), 0);
  EXPECT_EQ(failures({inf, NAN, inf, NAN, inf, NAN}), 0);  // t (1 + erf) / 2 overflows on its way in the fifth
  EXPECT_EQ(failures({-inf, inf, -inf, inf, -inf, inf}), 6);
  EXPECT_EQ(failures({NAN, -inf, NAN, -inf, NAN, 0}), 6);
}

TEST(Gelu, TiersAreSubsets) {
  expect_tiers_nest(op(), 190);
  EXPECT_THROW(case_of("rows=1,cols=1,dtype=f32"), UsageError);  // the form has no default
  EXPECT_THROW(op().tensors(case_of("rows=1,cols=1,form=erf,dtype=f32,fill=large")), UsageError);
}

}  // namespace
}  // namespace assay
