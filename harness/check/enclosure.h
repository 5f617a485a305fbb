// The interval an output element must lie in: round(r - E) .. round(r + E), where r = hi + lo is the oracle's
// unevaluated double-double and round() is the output type's own rounding (to nearest even; floats overflow to an
// infinity, integers saturate). Rounding is monotone, so whatever y a kernel forms with |y - r| <= E before its one
// final rounding lies inside, ties, subnormals and overflow included. Both ends are rounded once from the exact sum, in
// f64 too: a correct result never fails, and the interval is never wider than that.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "check/number.h"

namespace assay {

struct Interval {
  double low = 0;
  double high = 0;
};

namespace detail {

struct Sum {
  double value;
  double error;  // value + error is exact
};

// TwoSum (Knuth): exact unless it overflows.
ASSAY_HD inline Sum two_sum(double a, double b) {
  const double s = a + b;
  const double bb = s - a;
  return {s, (a - (s - bb)) + (b - bb)};
}

// A sum rounded to odd: an inexact one takes the neighbour whose last bit is 1, so that rounding it again to a shorter
// type, or adding it to a larger number, never rounds twice (Boldo and Melquiond, 2008).
ASSAY_HD inline double to_odd(const Sum& s) {
  const auto bits = std::bit_cast<uint64_t>(s.value);
  if (s.error == 0 || (bits & 1) != 0) return s.value;
  return std::bit_cast<double>((s.error > 0) == (s.value > 0) ? bits + 1 : bits - 1);
}
ASSAY_HD inline double add_to_odd(double a, double b) { return to_odd(two_sum(a, b)); }

// hi + lo + x, correctly rounded once to T.
template <DType T>
ASSAY_HD double rounded_sum(double hi, double lo, double x) {
  const Sum low = two_sum(lo, x);
  const Sum high = two_sum(hi, low.value);
  if (!(std::fabs(high.value) <= std::numeric_limits<double>::max())) return round_extended<T>(hi + x);
  double rest = add_to_odd(high.error, low.error);
  // TwoSum itself can overflow where hi is the largest double (Boldo, Graillat and Muller, 2017).
  if (!(std::fabs(rest) <= std::numeric_limits<double>::max())) rest = 0;
  if constexpr (T == DType::f64) return high.value + rest;
  return round_extended<T>(add_to_odd(high.value, rest));
}

// hi + lo, correctly rounded once to T: rounded_sum of nothing more.
template <DType T>
ASSAY_HD double rounded(double hi, double lo) {
  const Sum sum = two_sum(hi, lo);
  if (!(std::fabs(sum.value) <= std::numeric_limits<double>::max())) return round_extended<T>(hi);
  if constexpr (T == DType::f64) return sum.value;
  return round_extended<T>(to_odd(sum));
}

// An upper bound of a + b for a, b >= 0; NaN stays NaN.
ASSAY_HD inline double sum_up(double a, double b) {
  const Sum s = two_sum(a, b);
  return s.error > 0 ? std::bit_cast<double>(std::bit_cast<uint64_t>(s.value) + 1) : s.value;
}

}  // namespace detail

// hi is finite, e >= 0 and may be infinite. A NaN e gives an interval that holds nothing.
template <DType T>
ASSAY_HD Interval enclosure(double hi, double lo, double e) {
  if (!(e <= std::numeric_limits<double>::max())) {
    if (!(e >= 0)) return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
    return {round_extended<T>(-e), round_extended<T>(e)};
  }
  return {detail::rounded_sum<T>(hi, lo, -e), detail::rounded_sum<T>(hi, lo, e)};
}

ASSAY_HD inline bool holds(const Interval& interval, double got) { return interval.low <= got && got <= interval.high; }

}  // namespace assay
