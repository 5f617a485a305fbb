// reference/math/elementary.h: MPFR confirms every table and every function's stated bound, on random, extreme and
// critical arguments.
#include "reference/math/elementary.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <vector>

#include "mpfr_value.h"

namespace assay {
namespace {

using testing::Big;
using testing::relative_error_log2;

const double kNan = std::numeric_limits<double>::quiet_NaN();

// Random arguments in [low, high], linear and clustered near zero, with low parts, and both ends.
std::vector<DoubleDouble> arguments(double low, double high, int count) {
  std::mt19937_64 random(271828);
  std::vector<DoubleDouble> all{low, high};
  const auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  for (int i = 0; i < count; ++i) {
    double x = low + (high - low) * unit();
    if (i % 4 == 0) x = std::ldexp(x, -static_cast<int>(random() % 70));
    if (x < low || x > high) continue;
    all.push_back(i % 2 == 0 ? DoubleDouble(x) : normalized(x, x * (unit() - 0.5) * 0x1p-53));
  }
  return all;
}

using Function = std::function<DoubleDouble(DoubleDouble)>;
using Exact = std::function<Big(const Big&)>;

// `extra` is what the bound grows by at an argument.
void expect_relative(const char* what, double low, double high, double log2_bound, const Function& f,
                     const Exact& exact, const std::function<double(double)>& extra = nullptr) {
  SCOPED_TRACE(std::string(what) + ", seed 271828");
  double worst = -kInfinity;
  DoubleDouble worst_at;
  for (const DoubleDouble x : arguments(low, high, 3000)) {
    const Big want = exact(Big(x));
    double error = relative_error_log2(Big(f(x)), want);
    if (extra) error -= std::log2(std::exp2(log2_bound) + extra(x.hi)) - log2_bound;
    if (error > worst) worst = error, worst_at = x;
  }
  EXPECT_LE(worst, log2_bound) << "at " << worst_at.hi << " + " << worst_at.lo;
  EXPECT_GT(worst, log2_bound - 12) << "the stated bound is far from what is seen";
  std::printf("  %-40s worst 2^%.2f, stated 2^%.2f\n", what, worst, log2_bound);
}

TEST(Elementary, DoubleDoubleFunctionsKeepTheirBounds) {
  const auto of = [](auto f) { return [f](const Big& x) { return x.apply(f); }; };
  expect_relative(
      "exp", -660, 709, -98, [](auto x) { return exponential(x); }, of(mpfr_exp));
  expect_relative(
      "exp near 0", -1, 1, -98, [](auto x) { return exponential(x); }, of(mpfr_exp));
  expect_relative(
      "log", 0x1p-900, 1e300, -98, [](auto x) { return logarithm(x); }, of(mpfr_log));
  expect_relative(
      "log near 1", 0.5, 2, -98, [](auto x) { return logarithm(x); }, of(mpfr_log));
  expect_relative(
      "log at 1 + tiny", -1e-3, 1e-3, -98, [](auto x) { return logarithm(two_sum(x.hi, 1.0)); },
      [](const Big& x) { return Big(two_sum(x.value(), 1.0)).apply(mpfr_log); });
  expect_relative(
      "erf", -7, 7, -96, [](auto x) { return error_function(x); }, of(mpfr_erf));
  expect_relative(
      "erf near 0", -0.6, 0.6, -96, [](auto x) { return error_function(x); }, of(mpfr_erf));
  expect_relative(
      "tanh", -50, 50, -96, [](auto x) { return hyperbolic_tangent(x); }, of(mpfr_tanh));
  expect_relative(
      "tanh near 0", -0.5, 0.5, -96, [](auto x) { return hyperbolic_tangent(x); }, of(mpfr_tanh));
  expect_relative(
      "erfc", -6, 25, -96, [](auto x) { return complementary_error_function(x); }, of(mpfr_erfc),
      [](double x) { return x * x * 0x1p-102; });
}

TEST(Elementary, DoubleFunctionsKeepTheirBounds) {
  expect_relative(
      "exp in double", -700, 709, -51, [](auto x) { return exponential(x.hi); },
      [](const Big& x) { return Big(x.value()).exp(); });
  const auto scaled = [](const Big& x) { return (Big(1) + Big(2) * x) * (x * x).exp() * x.apply(mpfr_erfc); };
  expect_relative(
      "scaled erfc in double", 0, 1000, -50, [](auto x) { return erfc_scaled_form(x.hi); },
      [&](const Big& x) { return scaled(Big(x.value())); });
  expect_relative(
      "scaled erfc in double, small", 0, 12, -50, [](auto x) { return erfc_scaled_form(x.hi); },
      [&](const Big& x) { return scaled(Big(x.value())); });
  expect_relative(
      "scaled erfc", 0, 1000, -98, [](auto x) { return erfc_scaled_form(x); }, scaled);
  expect_relative(
      "scaled erfc, small", 0, 12, -98, [](auto x) { return erfc_scaled_form(x); }, scaled);
}

TEST(Elementary, UnderflowIsGradualAndWithinAFewSubnormals) {
  for (int i = 0; i < 7044; ++i) {
    const double x = -746.5 + 0.0137 * i;  // to -650
    const Big want = Big(x).exp();
    for (const double got : {exponential(x), exponential(DoubleDouble(x)).hi}) {
      const Big error = (Big(got) - want).abs();
      EXPECT_FALSE(Big(2 * 0x1p-1074) + want * Big(0x1p-51) < error) << x;
    }
  }
  EXPECT_GT(exponential(-745.0), 0);
}

TEST(Elementary, SpecialValues) {
  EXPECT_EQ(exponential(0.0), 1);
  EXPECT_EQ(exponential(DoubleDouble(0)).hi, 1);
  for (const double big : {710.0, 1e300, kInfinity}) {
    EXPECT_EQ(exponential(big), kInfinity);
    EXPECT_EQ(exponential(-big - 40), 0);
    EXPECT_EQ(exponential(DoubleDouble(big)).hi, kInfinity);
    EXPECT_EQ(exponential(DoubleDouble(big)).lo, 0);
    EXPECT_EQ(exponential(DoubleDouble(-big - 40)).hi, 0);
    EXPECT_EQ(complementary_error_function(big).hi, 0);
    EXPECT_EQ(complementary_error_function(-big).hi, 2);
    EXPECT_EQ(error_function(-big).hi, -1);
    EXPECT_EQ(hyperbolic_tangent(big).hi, 1);
    EXPECT_TRUE(std::isfinite(erfc_scaled_form(big)));
  }
  EXPECT_EQ(exponential(709.9), kInfinity);
  EXPECT_TRUE(std::isnan(exponential(kNan)));
  const Function all[] = {
      [](auto x) { return exponential(x); },        [](auto x) { return logarithm(x); },
      [](auto x) { return error_function(x); },     [](auto x) { return complementary_error_function(x); },
      [](auto x) { return hyperbolic_tangent(x); }, [](auto x) { return erfc_scaled_form(x); }};
  for (const Function& f : all) {
    EXPECT_TRUE(std::isnan(f(kNan).hi));
  }
  EXPECT_EQ(logarithm(0.0).hi, -kInfinity);
  EXPECT_EQ(logarithm(1.0).hi, 0);
  EXPECT_TRUE(std::isnan(logarithm(-1.0).hi));
  EXPECT_EQ(logarithm(kInfinity).hi, kInfinity);
  EXPECT_LT(relative_error_log2(Big(logarithm(0x1p-1074)), Big(0x1p-1074).apply(mpfr_log)), -98);
}

TEST(Elementary, TablesAreWhatTheirFormulasSay) {
  const auto expect_rounded = [](DoubleDouble got, const Big& want) {
    EXPECT_LE(relative_error_log2(Big(got), want), -106);
  };
  Big factorial(1);
  for (int n = 0; n < 25; ++n) {
    if (n > 0) factorial = factorial * Big(n);
    expect_rounded(tables::inverse_factorial(n), Big(1) / factorial);
  }
  for (int n = 0; n < 22; ++n) expect_rounded(tables::inverse_odd(n), Big(1) / Big(2 * n + 1));
  const Big ln2 = Big(2).apply(mpfr_log);
  EXPECT_LT((Big(tables::kLn2High) + Big(tables::kLn2Mid) + Big(tables::kLn2Low) - ln2).abs().value(), 0x1p-138);
  for (const double part : {tables::kLn2High, tables::kLn2Mid}) EXPECT_EQ(std::fmod(part * 0x1p87, 1), 0);
  EXPECT_EQ(tables::kLog2E, (Big(1) / ln2).value());
  const Big pi = Big(4) * Big(1).apply(mpfr_atan);
  expect_rounded(tables::kTwoOverSqrtPi, Big(2) / pi.sqrt());
  expect_rounded(tables::kSqrtHalf, Big(0.5).sqrt());
  for (int n = 0; n < 25; ++n) {  // the two series are one function's, cut at different places
    EXPECT_NEAR(tables::erfc_scaled_short(n), tables::erfc_scaled(n).hi, 0x1p-20);
  }
}

}  // namespace
}  // namespace assay
