// GELU of a sum, t = x + bias, in double or double-double, and the error that computations of it make. One source for
// host and device. Two functions, one for each form:
//   erf    y = t Phi(t) = t/2 (1 + erf(t / sqrt 2))
//   tanh   y = t/2 (1 + tanh(w)) = t / (1 + exp(-2w)),  w = sqrt(2/pi) (t + 0.044715 t^3)
// (D. Hendrycks, K. Gimpel, "Gaussian Error Linear Units", 2016). With tail(a) = a Phi(-a) or a / (1 + exp(2 w(a))) for
// a = |t|, both are y = -tail(a) for t < 0 and a - tail(a) otherwise, without cancellation.
//
// Error of a kernel, u its roundoff, absolute, since for t < 0 the sum 1 + erf cancels:
//   t is rounded: u |t| |y'| with |y'| <= 1.13
//   erf of t / sqrt 2: argument off by 2u relative, and w erf'(w) <= 0.484; erf within 2 ulp (2u, CUDA's erff): 3u;
//   times |t| / 2: 1.5 u |t|.   tanh: w off by at most 7u relative and w tanh'(w) <= 0.448, tanh within 2 ulp (2u): 2.6
//   u |t|. Rational and exponential forms of erf and tanh to within a few ulp of 1 stay within 4u |t|, which is what is
//   charged. 1 + erf, and the product: 2u |y|; 4u |y| is charged. where exp is declared, its own error, beyond 2 ulp,
//   enters through the tail: eps_exp(t^2 / 2 or 2 |w|) tail(a)
//
// Error of this oracle: exponent t^2 / 2 or 2w off by a few u relative, which the exponent magnifies to a `magnified` u
// relative to the tail; the table's and exp's own error; a few operations.
//
// Special values: NaN gives NaN, +infinity itself. At -infinity the formula is -infinity times 0, NaN, and the limit is
// -0; practice has both, so r is -0, and may be NaN too. So it is where finite inputs have a sum below the
// accumulator's range.
#pragma once

#include <cmath>

#include "reference/math/bounds.h"
#include "reference/math/elementary.h"
#include "reference/rows.h"
#include "reference/rule.h"

namespace assay::gelu {

enum class Form { erf, tanh };

// sqrt(2/pi) = 2/sqrt(pi) sqrt(1/2), and 0.044715, to double-double.
inline constexpr DoubleDouble kSqrtTwoOverPi{0x1.9884533d43651p-1, -0x1.cbc0d30ebfd15p-55};
inline constexpr DoubleDouble kCubic{0x1.6e4e26d4801f7p-5, 0x1.441355475a31ap-59};

struct Tail {
  double value;     // a Phi(-a) or a / (1 + exp(2w)), to double
  double exponent;  // t^2 / 2 or 2w
};

template <class Real>
struct Element {
  Real y;
  double e_ref;
  Tail tail;
  double argument;  // |t|; infinite only where an input is
};

template <class Real>
ASSAY_HD Real constant(DoubleDouble value) {
  return from_parts<Real>(value.hi, value.lo);
}

// Without a branch but for the form, so that loops over it vectorise.
template <class Real>
ASSAY_HD Element<Real> bias_gelu(Form form, double x, double bias) {
  const Real t = Real(x) + bias;
  const Real a = magnitude(t);
  const double size = high_part(a), u = kRoundoff<Real>;
  Real tail, exponent;
  double magnified;
  if (form == Form::erf) {
    const Real w = a * constant<Real>(tables::kSqrtHalf);
    exponent = a * a * 0.5;
    tail = a * 0.5 * erfc_scaled_form(w) / (w * 2.0 + 1.0) * exponential(-exponent);
    magnified = 6 * high_part(exponent);
  } else {
    exponent = constant<Real>(kSqrtTwoOverPi) * 2.0 * (a + a * a * a * constant<Real>(kCubic));
    const Real e = exponential(-exponent);
    tail = a * e / (e + 1.0);
    magnified = 12 * high_part(exponent);
  }
  const bool is_left = high_part(t) < 0, is_ordinary = size < kInfinity;
  const double tail_size = high_part(tail);
  const Real right = a - tail, y = is_left ? -tail : right;
  const double of_tail = tail_size * ((magnified + 16) * u + 2 * kElementaryError<Real>);
  const double tail_error = tail_size > 0 ? of_tail : 0;
  const double error = add_underflows(tail_error + 6 * u * std::fabs(high_part(y)), 0x1p-1070);
  // Where there is no formula: the limits, and NaN.
  const double limit = is_left ? -0.0 : high_part(t);
  const bool is_x_finite = is_finite(x), is_bias_finite = is_finite(bias);
  const double argument = (is_x_finite & is_bias_finite) ? std::numeric_limits<double>::max() : size;
  return {is_ordinary ? y : Real(limit),
          is_ordinary ? error : 0,
          {is_ordinary ? tail_size : 0, is_ordinary ? high_part(exponent) : kInfinity},
          is_ordinary ? size : argument};
}

// Where one row's results go, an array each.
struct Result {
  double *hi, *lo, *error;
  double *argument, *tail, *exponent;
};

template <class Real>
ASSAY_HD void bias_gelu_at(Form form, double x, double bias, int64_t i, const Result& out) {
  const Element<Real> element = bias_gelu<Real>(form, x, bias);
  out.hi[i] = one_nan(high_part(element.y));
  out.lo[i] = low_part(element.y);
  out.error[i] = element.e_ref;
  out.argument[i] = one_nan(element.argument);
  out.tail[i] = element.tail.value;
  out.exponent[i] = element.tail.exponent;
}

// How a kernel computes.
struct Arithmetic {
  double u = 0;
  int32_t exp_kind = 0;   // none: it uses erf or tanh
  double underflows = 0;  // absolute, of all its operations
};

// Bound of |computed - y|.
ASSAY_HD inline double error_bound(const Arithmetic& a, double argument, double y, const Tail& tail) {
  const bool uses_exp = (a.exp_kind != ASSAY_EXP_NONE) & (tail.value > 0);
  const double of_exp = exp_error(a.exp_kind, a.u, tail.exponent) * tail.value;
  const double exponential_error = uses_exp ? of_exp : 0;
  return add_underflows(a.u * (5.13 * argument + 4 * std::fabs(y)) + exponential_error, a.underflows);
}

// Order of Reference::conditions, one value an element: |x + bias|, the tail and its exponent.
enum Condition : int { kArgument, kTail, kExponent, kConditions };
inline constexpr Per kPer[kConditions] = {Per::element, Per::element, Per::element};

// What a contract makes of the bound: everything that does not depend on the element.
struct Rule : ElementRule {
  Arithmetic arithmetic;
  double limit = 0;             // of the accumulator
  IntermediateError narrowing;  // on the way to the output

  ASSAY_HD ElementBound operator()(ElementRule::Row, double hi, double, const double* k) const {
    const double argument = k[kArgument];
    // -infinity times 0 may be asked for. A sum of +infinity, of whatever inputs, must come out as it is.
    const bool is_left = std::bit_cast<int64_t>(hi) < 0;
    const bool is_open = is_left & (argument * (1 + arithmetic.u) >= limit);
    const double e = error_bound(arithmetic, is_open ? 0 : argument, hi, {k[kTail], k[kExponent]});
    const double whole = e + narrowing.of(hi, e);
    return {e < kInfinity ? whole : kInfinity, is_open ? Evidence::or_nan : Evidence::rigorous};
  }
};

Rule rule_of(const Case& c, const Contract& contract);
Form form_of(const Case& c);

}  // namespace assay::gelu
