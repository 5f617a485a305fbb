// check/: the enclosure, and the verdict on what it draws the line between, against exact arithmetic (MPFR).
#include "check/enclosure.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <limits>
#include <random>

#include "accuracy_trial.h"

namespace assay {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// hi + lo + x rounded once to T: the sum is exact in 4400 bits, and the rounding is MPFR's emulation of a format.
class Exact {
 public:
  Exact() { mpfr_inits2(4400, sum_, term_, nullptr); }
  ~Exact() { mpfr_clears(sum_, term_, nullptr); }

  double rounded(DType t, double hi, double lo, double x) {
    mpfr_set_d(sum_, hi, MPFR_RNDN);
    for (const double term : {lo, x}) {
      mpfr_set_d(term_, term, MPFR_RNDN);
      EXPECT_EQ(mpfr_add(sum_, sum_, term_, MPFR_RNDN), 0) << "4400 bits hold any sum of doubles";
    }
    if (!is_float(t)) {
      mpfr_rint(term_, sum_, MPFR_RNDN);
      return std::clamp(mpfr_get_d(term_, MPFR_RNDN), lowest(t), largest_finite(t));
    }
    const FloatFormat f = format_of(t);
    mpfr_t y;
    mpfr_init2(y, f.precision);
    const mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
    int ternary = mpfr_set(y, sum_, MPFR_RNDN);
    mpfr_set_emin(f.min_exponent - f.precision + 2);  // MPFR's significands lie in [1/2, 1)
    mpfr_set_emax(f.max_exponent + 1);
    ternary = mpfr_check_range(y, ternary, MPFR_RNDN);
    mpfr_subnormalize(y, ternary, MPFR_RNDN);
    const double result = mpfr_get_d(y, MPFR_RNDN);
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
    mpfr_clear(y);
    return std::fabs(result) > largest_finite(t) ? std::copysign(kInf, result) : result;
  }

 private:
  mpfr_t sum_, term_;
};

struct Sample {
  double hi, lo, e;
};

// Sums near everything that rounding can get wrong in T: ties, subnormals, the overflow boundary, cancellation of r by
// E.
Sample draw(DType t, std::mt19937_64& random) {
  const auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  const int p = is_float(t) ? format_of(t).precision : 1;
  double hi;
  switch (random() % 5) {
    case 0:  // any number of T
      do hi = decode(t, random());
      while (!std::isfinite(hi));
      break;
    case 1: {  // a tie of T
      do hi = decode(t, random());
      while (!std::isfinite(hi));
      hi += is_float(t) && hi != 0 ? std::ldexp(1.0, std::max(std::ilogb(hi), format_of(t).min_exponent) - p) : 0.5;
      break;
    }
    case 2:  // around overflow
      hi = largest_finite(t) * (1 + (unit() - 0.5) * 0x1p-3);
      if (!std::isfinite(hi)) hi = largest_finite(t);
      break;
    case 3:  // small, subnormal, or half of that
      hi = is_float(t) ? std::ldexp(unit() * 16, format_of(t).min_exponent - static_cast<int>(random() % 40)) : unit();
      break;
    default:
      hi = std::ldexp(unit() - 0.5, static_cast<int>(random() % 60) - 30);
  }
  if (random() % 2) hi = -hi;
  const double ulp = std::max(std::fabs(hi), std::numeric_limits<double>::min()) * 0x1p-53;
  const double lo = random() % 3 == 0 ? 0 : (unit() - 0.5) * ulp * std::ldexp(1.0, -static_cast<int>(random() % 60));
  double e;
  switch (random() % 6) {
    case 0:
      e = 0;
      break;
    case 1:
      e = std::fabs(hi) * std::ldexp(unit(), -static_cast<int>(random() % 110));
      break;
    case 2:  // to a tie or near
      e = std::fabs(hi - round_extended<DType::f32>(hi)) + (random() % 2 ? std::fabs(lo) : 0);
      if (!std::isfinite(e)) e = 1;
      break;
    case 3:
      e = std::fabs(hi) + (random() % 2 ? std::fabs(lo) : 0);
      break;
    case 4:
      e = std::numeric_limits<double>::denorm_min() * static_cast<double>(random() % 9);
      break;
    default:
      e = std::ldexp(unit(), static_cast<int>(random() % 300) - 200);
  }
  return {hi, lo, e};
}

class EveryType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DTypes, EveryType,
                         testing::Values(DType::f64, DType::f32, DType::f16, DType::bf16, DType::e4m3, DType::i32,
                                         DType::i8, DType::u8),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(EveryType, EnclosureIsTheExactSumRoundedOnce) {
  const DType t = GetParam();
  const uint64_t seed = 4711;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  Exact exact;
  for (int i = 0; i < 20000; ++i) {
    const Sample s = draw(t, random);
    const Interval got = with_dtype(t, [&](auto type) { return enclosure<decltype(type)::value>(s.hi, s.lo, s.e); });
    ASSERT_EQ(got.low, exact.rounded(t, s.hi, s.lo, -s.e)) << s.hi << " + " << s.lo << " - " << s.e;
    ASSERT_EQ(got.high, exact.rounded(t, s.hi, s.lo, s.e)) << s.hi << " + " << s.lo << " + " << s.e;
  }
}

// The next number of T beyond `v` in the direction of `sign`; NaN where there is none.
double beyond(DType t, double v, int sign) {
  if (!is_float(t)) {
    const double next = v + sign;
    return next < lowest(t) || next > largest_finite(t) ? kNan : next;
  }
  if (std::isinf(v) && (v > 0) == (sign > 0)) return kNan;
  if (v == 0) return sign * smallest_subnormal(t);
  if (std::isinf(v)) return std::copysign(largest_finite(t), v);
  const uint64_t bits = encode(t, v);
  const double next = decode(t, (v > 0) == (sign > 0) ? bits + 1 : bits - 1);
  return next == next ? next : kNan;
}

TEST_P(EveryType, CorrectRoundingNeverFailsAndOneUlpBeyondAlwaysDoes) {
  const DType t = GetParam();
  const uint64_t seed = 815;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  constexpr size_t kElements = 10000;
  AccuracyTrial inside(t, kElements), below(t, kElements), above(t, kElements);
  Exact exact;
  int64_t can_lie_below = 0, can_lie_above = 0;
  for (size_t i = 0; i < kElements; ++i) {
    const Sample s = draw(t, random);
    for (AccuracyTrial* trial : {&inside, &below, &above}) {
      trial->reference.hi[i] = s.hi;
      trial->reference.lo[i] = s.lo;
      trial->bounds.e_alg[i] = s.e / 2;
      trial->reference.e_ref[i] = s.e / 2;
    }
    // s.e / 2 twice is s.e, except for odd multiples of the smallest subnormal.
    const double e = s.e / 2 + s.e / 2;
    const double fraction = random() % 4 == 0 ? 1 : static_cast<double>(random() >> 11) * 0x1p-53;
    inside.set(i, exact.rounded(t, s.hi, s.lo, (random() % 2 ? fraction : -fraction) * e));
    const double low = beyond(t, exact.rounded(t, s.hi, s.lo, -e), -1);
    const double high = beyond(t, exact.rounded(t, s.hi, s.lo, e), 1);
    can_lie_below += low == low;
    can_lie_above += high == high;
    below.set(i, low == low ? low : exact.rounded(t, s.hi, s.lo, 0));
    above.set(i, high == high ? high : exact.rounded(t, s.hi, s.lo, 0));
  }
  EXPECT_EQ(inside.judge().failures, 0);
  EXPECT_EQ(below.judge().failures, can_lie_below);
  EXPECT_EQ(above.judge().failures, can_lie_above);
  EXPECT_GT(can_lie_below, 2000);  // half of what is drawn saturates in u8
  EXPECT_GT(can_lie_above, 2000);
}

}  // namespace
}  // namespace assay
