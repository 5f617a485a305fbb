// Elementary functions of the oracles, in double-double and, where oracles of 32- and 16-bit kernels need speed, in
// double. Only + - * / sqrt fma and bit operations are used, so that every IEEE machine, host or device, gives the same
// bits; no libm. To add a function: here, with its error bound, and in harness/tests/elementary_test.cpp, where MPFR
// confirms it.
//
// Relative errors while the result is at least 2^-960 (below it a few 2^-1074 are added; results that underflow become
// 0, those that overflow infinity). NaN gives NaN.
//   exponential      double-double 2^-98, double 2^-51, of an argument taken as exact
//   logarithm        double-double 2^-98; -infinity at 0, NaN below
//   error_function   double-double 2^-96
//   complementary_error_function   double-double 2^-96 + x^2 2^-102
//   hyperbolic_tangent             double-double 2^-96
//   erfc_scaled_form double-double 2^-98, double 2^-50
#pragma once

#include <bit>
#include <cstdint>

#include "core/dtype.h"
#include "reference/math/elementary_tables.h"

namespace assay {

// Relative error of exponential() and of erfc_scaled_form().
template <class Real>
inline constexpr double kElementaryError = 0x1p-98;
template <>
inline constexpr double kElementaryError<double> = 0x1p-50;

namespace detail {

// value 2^exponent, rounded once, for 2^-1 <= |value| <= 2 and any exponent of exp.
ASSAY_HD inline double scaled(double value, int exponent) {
  const int half = exponent / 2;
  return value * power_of_two(half) * power_of_two(exponent - half);
}

// The integer nearest to x / ln 2, for |x| < 2^20.
ASSAY_HD inline double nearest_exponent(double x) { return (x * tables::kLog2E + 0x1.8p52) - 0x1.8p52; }

inline constexpr double kExpOverflow = 710;    // exp of more is infinite
inline constexpr double kExpUnderflow = -746;  // exp of less rounds to 0

}  // namespace detail

// exp(x) = 2^k exp(r), |r| <= ln(2)/2, Taylor series of 14 terms. Without a branch, so that loops over it vectorise.
ASSAY_HD inline double exponential(double x) {
  const double above = x < detail::kExpUnderflow ? detail::kExpUnderflow : x;
  const double in = x < detail::kExpOverflow ? above : detail::kExpOverflow;
  const double k = detail::nearest_exponent(in);
  const double r = (in - k * tables::kLn2High) - k * tables::kLn2Mid;
  const double square = r * r;  // two chains, even and odd, take half the time of one
  double even = tables::inverse_factorial(12).hi, odd = tables::inverse_factorial(13).hi;
  for (int n = 10; n >= 2; n -= 2) {
    even = even * square + tables::inverse_factorial(n).hi;
    odd = odd * square + tables::inverse_factorial(n + 1).hi;
  }
  const double p = 1 + (r + (even * square + odd * square * r));
  const double value = detail::scaled(p, static_cast<int>(k));
  const double overflow = x < kInfinity ? kInfinity : x;
  const double not_underflow = x < detail::kExpOverflow ? value : overflow;
  return x < detail::kExpUnderflow ? 0 : not_underflow;
}

// The same with 25 terms; those below 2^-53 in double.
ASSAY_HD inline DoubleDouble exponential(DoubleDouble x) {
  if (!(x.hi < detail::kExpOverflow)) return x.hi < kInfinity ? kInfinity : x.hi;
  if (x.hi < detail::kExpUnderflow) return 0;
  const double k = detail::nearest_exponent(x.hi);
  const DoubleDouble r =
      (x - DoubleDouble(k * tables::kLn2High)) - DoubleDouble(k * tables::kLn2Mid) - k * tables::kLn2Low;
  double tail = tables::inverse_factorial(24).hi;
  for (int n = 23; n >= 14; --n) tail = tail * r.hi + tables::inverse_factorial(n).hi;
  DoubleDouble p = tail;
  for (int n = 13; n >= 0; --n) p = p * r + tables::inverse_factorial(n);
  const int exponent = static_cast<int>(k);
  return normalized(detail::scaled(p.hi, exponent), detail::scaled(p.lo, exponent));
}

// ln(x) = k ln 2 + 2 atanh(s), s = (m - 1)/(m + 1), x = 2^k m with m in [2^-1/2, 2^1/2].
ASSAY_HD inline DoubleDouble logarithm(DoubleDouble x) {
  if (!(x.hi > 0)) return x.hi == 0 ? -kInfinity : std::numeric_limits<double>::quiet_NaN();
  if (!is_finite(x.hi)) return x.hi;
  int k = 0;
  if (x.hi < 0x1p-1022) {
    x = {x.hi * 0x1p54, x.lo * 0x1p54};
    k = -54;
  }
  const int exponent = static_cast<int>(std::bit_cast<uint64_t>(x.hi) >> 52) - 1023;
  DoubleDouble m(detail::scaled(x.hi, -exponent), detail::scaled(x.lo, -exponent));
  k += exponent;
  if (m.hi > 0x1.6a09e667f3bcdp0) {
    m = {m.hi / 2, m.lo / 2};
    ++k;
  }
  const DoubleDouble s = (m - 1.0) / (m + 1.0);
  const DoubleDouble z = s * s;
  double tail = tables::inverse_odd(21).hi;
  for (int n = 20; n >= 12; --n) tail = tail * z.hi + tables::inverse_odd(n).hi;
  DoubleDouble p = tail;
  for (int n = 11; n >= 0; --n) p = p * z + tables::inverse_odd(n);
  const DoubleDouble fraction = s * p * 2.0;
  const DoubleDouble ln2 = normalized(k * tables::kLn2High, k * tables::kLn2Mid) + k * tables::kLn2Low;
  return ln2 + fraction;
}

// (1 + 2x) exp(x^2) erfc(x) for x >= 0: smooth, between 1 and 1.2.
ASSAY_HD inline double erfc_scaled_form(double x) {
  if (x > 0x1p100) x = 0x1p100;
  const double t = (x - 4) / (x + 4);
  const double square = t * t;  // two chains, even and odd, take half the time of one
  double even = tables::erfc_scaled_short(24), odd = tables::erfc_scaled_short(23);
  for (int n = 22; n >= 2; n -= 2) {
    even = even * square + tables::erfc_scaled_short(n);
    odd = odd * square + tables::erfc_scaled_short(n - 1);
  }
  return tables::erfc_scaled_short(0) + (even * square + odd * t);
}
ASSAY_HD inline DoubleDouble erfc_scaled_form(DoubleDouble x) {
  if (x.hi > 0x1p100) x = 0x1p100;
  const DoubleDouble t = (x - 4.0) / (x + 4.0);
  const DoubleDouble square = t * t;
  DoubleDouble even = tables::erfc_scaled(48), odd = tables::erfc_scaled(47);
  for (int n = 46; n >= 2; n -= 2) {
    even = even * square + tables::erfc_scaled(n);
    odd = odd * square + tables::erfc_scaled(n - 1);
  }
  return even * square + tables::erfc_scaled(0) + odd * t;
}

// exp(-x^2); the square is formed to 2^-104 relative, which the exponent magnifies to x^2 2^-104.
ASSAY_HD inline DoubleDouble exponential_of_minus_square(DoubleDouble x) {
  const DoubleDouble square = two_prod(x.hi, x.hi);
  return exponential(-(square + two_prod(2 * x.hi, x.lo) + x.lo * x.lo));
}

ASSAY_HD inline DoubleDouble complementary_error_function(DoubleDouble x) {
  if (!is_finite(x.hi)) return x.hi < 0 ? 2 : x.hi > 0 ? 0 : x.hi;
  const DoubleDouble a = magnitude(x);
  const DoubleDouble right = a.hi > 28 ? 0.0 : erfc_scaled_form(a) / (a * 2.0 + 1.0) * exponential_of_minus_square(a);
  return x.hi < 0 ? 2.0 - right : right;
}

// Near zero the Taylor series 2/sqrt(pi) sum (-1)^n x^(2n+1) / (n! (2n+1)), elsewhere 1 - erfc.
ASSAY_HD inline DoubleDouble error_function(DoubleDouble x) {
  if (!(std::fabs(x.hi) < 0.5)) {
    const DoubleDouble right = 1.0 - complementary_error_function(magnitude(x));
    return x.hi < 0 ? -right : right;
  }
  const DoubleDouble square = x * x;
  DoubleDouble power = 1.0, sum = 1.0;  // (-x^2)^n / n!
  for (int n = 1; n <= 20; ++n) {
    power = power * -square / static_cast<double>(n);
    sum = sum + power / (2.0 * n + 1);
  }
  return tables::kTwoOverSqrtPi * x * sum;
}

// Near zero Lambert's continued fraction x/(1 + x^2/(3 + x^2/(5 + ...))), elsewhere 1 - 2/(exp(2x) + 1).
ASSAY_HD inline DoubleDouble hyperbolic_tangent(DoubleDouble x) {
  if (!(std::fabs(x.hi) < 0.35)) {
    const DoubleDouble right = 1.0 - 2.0 / (exponential(magnitude(x) * 2.0) + 1.0);
    return x.hi < 0 ? -right : right;
  }
  const DoubleDouble square = x * x;
  DoubleDouble below = 25.0;
  for (int odd = 23; odd >= 1; odd -= 2) below = square / below + static_cast<double>(odd);
  return x / below;
}

}  // namespace assay
