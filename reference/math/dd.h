// Double-double arithmetic: an unevaluated sum hi + lo with |lo| <= ulp(hi)/2, for oracles of fp64 kernels. Only
// + - * / sqrt fma are used, all correctly rounded in IEEE 754, so host and device give the same bits when contraction
// is off. To add an operation: one function here, with its error bound and source, and its line in
// harness/tests/dd_test.cpp, where MPFR confirms it.
//
// Relative error of each operation, u = 2^-53, from M. Joldes, J.-M. Muller, V. Popescu, "Tight and rigorous error
// bounds for basic building blocks of double-word arithmetic", ACM TOMS 44(2), 2017 (sqrt: V. Lefevre et al.,
// "Accurate calculation of Euclidean norms using double-word arithmetic", ACM TOMS 49(1), 2023):
//   dd + double 2 u^2    dd + dd 3 u^2 + 13 u^3    dd * double 2 u^2    dd * dd 5 u^2    dd / dd 15 u^2 + 56 u^3
//   sqrt 25/8 u^2
// kDoubleDoubleRoundoff covers them all. The bounds hold while no error term underflows, that is for products and
// quotients above 2^-960 in magnitude; below it an absolute error of a few 2^-1074 is added.
// Non-finite: hi is what plain double arithmetic gives (infinity or NaN) and lo is 0.
#pragma once

#include <cmath>
#include <limits>

#include "core/hd.h"

namespace assay {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kDoubleRoundoff = 0x1p-53;
inline constexpr double kDoubleDoubleRoundoff = 0x1p-102;  // 15 u^2 + 56 u^3 < 2^-102

struct DoubleDouble {
  double hi = 0;
  double lo = 0;
  DoubleDouble() = default;
  ASSAY_HD constexpr DoubleDouble(double value) : hi(value) {}  // NOLINT: a double is a double-double
  ASSAY_HD constexpr DoubleDouble(double high, double low) : hi(high), lo(low) {}
};

ASSAY_HD inline bool is_finite(double x) { return x - x == 0; }  // NOLINT(misc-redundant-expression): else NaN
ASSAY_HD inline bool is_finite(DoubleDouble x) { return is_finite(x.hi); }

// hi + lo for |hi| >= |lo| or hi = 0, normalised (Dekker's FastTwoSum), with the non-finite rule above.
ASSAY_HD inline DoubleDouble normalized(double hi, double lo) {
  const double sum = hi + lo;
  if (is_finite(sum)) return {sum, lo - (sum - hi)};
  return is_finite(hi) && is_finite(lo) ? sum : hi;
}

// a + b exactly (Knuth's TwoSum).
ASSAY_HD inline DoubleDouble two_sum(double a, double b) {
  const double sum = a + b;
  if (!is_finite(sum)) return sum;
  const double b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

// a * b exactly, above 2^-960.
ASSAY_HD inline DoubleDouble two_prod(double a, double b) {
  const double product = a * b;
  if (!is_finite(product)) return product;
  return {product, std::fma(a, b, -product)};
}

ASSAY_HD inline DoubleDouble operator-(DoubleDouble a) { return {-a.hi, -a.lo}; }

ASSAY_HD inline DoubleDouble operator+(DoubleDouble a, double b) {
  const DoubleDouble s = two_sum(a.hi, b);
  return normalized(s.hi, s.lo + a.lo);
}

ASSAY_HD inline DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble s = two_sum(a.hi, b.hi);
  const DoubleDouble t = two_sum(a.lo, b.lo);
  const DoubleDouble v = normalized(s.hi, s.lo + t.hi);
  return normalized(v.hi, v.lo + t.lo);
}

ASSAY_HD inline DoubleDouble operator-(DoubleDouble a, DoubleDouble b) { return a + -b; }
ASSAY_HD inline DoubleDouble operator-(DoubleDouble a, double b) { return a + -b; }

ASSAY_HD inline DoubleDouble operator*(DoubleDouble a, double b) {
  const DoubleDouble p = two_prod(a.hi, b);
  return normalized(p.hi, std::fma(a.lo, b, p.lo));
}

ASSAY_HD inline DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble p = two_prod(a.hi, b.hi);
  return normalized(p.hi, p.lo + std::fma(a.hi, b.lo, std::fma(a.lo, b.hi, a.lo * b.lo)));
}

ASSAY_HD inline DoubleDouble operator/(DoubleDouble a, DoubleDouble b) {
  const double quotient = a.hi / b.hi;
  if (!is_finite(quotient) || !is_finite(b.hi)) return quotient;
  const DoubleDouble back = b * quotient;
  const double rest = (a.hi - back.hi) + (a.lo - back.lo);
  return normalized(quotient, rest / b.hi);
}

// Mixed forms that would otherwise be ambiguous.
ASSAY_HD inline DoubleDouble operator+(double a, DoubleDouble b) { return b + a; }
ASSAY_HD inline DoubleDouble operator-(double a, DoubleDouble b) { return -b + a; }
ASSAY_HD inline DoubleDouble operator*(double a, DoubleDouble b) { return b * a; }
ASSAY_HD inline DoubleDouble operator/(DoubleDouble a, double b) { return a / DoubleDouble(b); }
ASSAY_HD inline DoubleDouble operator/(double a, DoubleDouble b) { return DoubleDouble(a) / b; }

// NaN below zero, as std::sqrt.
ASSAY_HD inline DoubleDouble square_root(DoubleDouble a) {
  const double root = std::sqrt(a.hi);
  if (!is_finite(root) || root == 0) return root;
  const double rest = std::fma(-root, root, a.hi) + a.lo;
  return normalized(root, rest / (2 * root));
}
ASSAY_HD inline double square_root(double a) { return std::sqrt(a); }

// Order of the values; false when either is NaN.
ASSAY_HD inline bool operator<(DoubleDouble a, DoubleDouble b) { return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo); }
ASSAY_HD inline bool operator>(DoubleDouble a, DoubleDouble b) { return b < a; }

ASSAY_HD inline DoubleDouble magnitude(DoubleDouble a) { return a.hi < 0 ? -a : a; }
ASSAY_HD inline double magnitude(double a) { return std::fabs(a); }

// The parts, so that one template serves both precisions: value = high_part + low_part.
ASSAY_HD inline double high_part(double a) { return a; }
ASSAY_HD inline double high_part(DoubleDouble a) { return a.hi; }
ASSAY_HD inline double low_part(double) { return 0; }
ASSAY_HD inline double low_part(DoubleDouble a) { return a.lo; }
template <class Real>
ASSAY_HD Real from_parts(double hi, double lo) {
  return {hi, lo};
}
template <>
ASSAY_HD inline double from_parts<double>(double hi, double) {
  return hi;
}

// Roundoff of one operation in a precision of the oracles.
template <class Real>
inline constexpr double kRoundoff = kDoubleDoubleRoundoff;
template <>
inline constexpr double kRoundoff<double> = kDoubleRoundoff;

}  // namespace assay
