// reference/math/dd.h: MPFR confirms the bound of each operation, on random, cancelling and extreme operands.
#include "reference/math/dd.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>

#include "mpfr_value.h"

namespace assay {
namespace {

using testing::Big;
using testing::relative_error_log2;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class Operands {
 public:
  explicit Operands(uint64_t seed) : random_(seed) {}
  double number(int range) {
    const double fraction = static_cast<double>(static_cast<int64_t>(random_()));
    return std::ldexp(fraction, static_cast<int>(random_() % static_cast<uint64_t>(2 * range)) - range - 63);
  }
  DoubleDouble any(int range) {
    const double hi = number(range);
    return normalized(hi, hi * std::ldexp(number(1), -53));
  }
  // Close to -a, so that most leading bits cancel.
  DoubleDouble cancelling(DoubleDouble a) {
    return normalized(-a.hi * (1 + std::ldexp(static_cast<double>(random_() % 16), -52)), a.lo * number(4));
  }

 private:
  std::mt19937_64 random_;
};

using Binary = std::function<DoubleDouble(DoubleDouble, DoubleDouble)>;
using BigBinary = std::function<Big(const Big&, const Big&)>;

void expect_within(const char* what, double log2_bound, const Binary& f, const BigBinary& exact) {
  const uint64_t seed = 4711;
  SCOPED_TRACE(std::string(what) + ", seed " + std::to_string(seed));
  Operands operands(seed);
  double worst = -kInf;
  for (int i = 0; i < 20000; ++i) {
    const DoubleDouble a = operands.any(i % 3 == 0 ? 400 : 20);
    const DoubleDouble b = i % 4 == 1 ? operands.cancelling(a) : operands.any(i % 3 == 0 ? 400 : 20);
    if (a.hi == 0 || b.hi == 0) continue;
    const DoubleDouble got = f(a, b);
    worst = std::max(worst, relative_error_log2(Big(got), exact(Big(a), Big(b))));
    ASSERT_EQ(got.hi + got.lo, got.hi) << "not normalised";
  }
  EXPECT_LE(worst, log2_bound);
  EXPECT_GT(worst, log2_bound - 8) << "operands too tame to say anything about the bound";
}

TEST(DoubleDouble, OperationsKeepTheirPublishedBounds) {
  expect_within(
      "add", std::log2(3.001) - 106, [](auto a, auto b) { return a + b; }, [](auto& a, auto& b) { return a + b; });
  expect_within(
      "subtract", std::log2(3.001) - 106, [](auto a, auto b) { return a - -b; },
      [](auto& a, auto& b) { return a + b; });
  expect_within(
      "multiply", std::log2(5.001) - 106, [](auto a, auto b) { return a * b; }, [](auto& a, auto& b) { return a * b; });
  expect_within(
      "divide", std::log2(15.001) - 106, [](auto a, auto b) { return a / b; }, [](auto& a, auto& b) { return a / b; });
  expect_within(
      "add double", std::log2(2.001) - 106, [](auto a, auto b) { return a + b.hi; },
      [](auto& a, auto& b) { return a + Big(b.value()); });
  expect_within(
      "multiply by double", std::log2(2.001) - 106, [](auto a, auto b) { return a * b.hi; },
      [](auto& a, auto& b) { return a * Big(b.value()); });
  expect_within(
      "square root", std::log2(3.126) - 106, [](auto a, auto) { return square_root(magnitude(a)); },
      [](auto& a, auto&) { return a.abs().sqrt(); });
  EXPECT_LT(std::log2(15.001) - 106, std::log2(kDoubleDoubleRoundoff));
}

TEST(DoubleDouble, ErrorFreeTransformsAreExact) {
  Operands operands(99);
  for (int i = 0; i < 20000; ++i) {
    const double a = operands.number(40), b = operands.number(40);
    EXPECT_TRUE((Big(two_sum(a, b)) - (Big(a) + Big(b))).is_zero());
    EXPECT_TRUE((Big(two_prod(a, b)) - Big(a) * Big(b)).is_zero());
  }
}

// hi as in plain double arithmetic, lo = 0.
TEST(DoubleDouble, NonFiniteValuesHaveNoLowPart) {
  const double specials[] = {0.0, -0.0, 1.0, -1.5, 0x1p1023, -0x1.fffffffffffffp1023, 0x1p-1074, kInf, -kInf, kNan};
  const auto same = [](DoubleDouble got, double want, const char* what, double x, double y) {
    SCOPED_TRACE(std::string(what) + " " + std::to_string(x) + " " + std::to_string(y));
    if (std::isfinite(want)) {
      EXPECT_TRUE(std::isfinite(got.hi) && std::isfinite(got.lo));
      return;
    }
    EXPECT_EQ(got.lo, 0);
    EXPECT_TRUE(std::isnan(want) ? std::isnan(got.hi) : got.hi == want);
  };
  for (const double x : specials) {
    for (const double y : specials) {
      const DoubleDouble a(x), b(y);
      same(a + b, x + y, "+", x, y);
      same(a + y, x + y, "+ double", x, y);
      same(a - b, x - y, "-", x, y);
      same(a * b, x * y, "*", x, y);
      same(a * y, x * y, "* double", x, y);
      same(a / b, x / y, "/", x, y);
      same(two_sum(x, y), x + y, "two_sum", x, y);
      same(two_prod(x, y), x * y, "two_prod", x, y);
      if (std::isinf(y) && std::isfinite(x)) {
        EXPECT_EQ((a / b).hi, 0);
      }
    }
    same(square_root(DoubleDouble(x)), std::sqrt(x), "sqrt", x, x);
  }
  EXPECT_EQ(square_root(DoubleDouble(0.0)).hi, 0);
  EXPECT_FALSE(DoubleDouble(kNan) < DoubleDouble(1));
  EXPECT_FALSE(DoubleDouble(1) < DoubleDouble(kNan));
  EXPECT_TRUE(DoubleDouble(1, -0x1p-60) < DoubleDouble(1));
}

}  // namespace
}  // namespace assay
