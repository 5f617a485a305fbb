// The solution of T x = b for one column x, T triangular, in double-double, and the error of any substitution.
//
// Error. Let s_i = |b_i| + sum_(j != i) |t_ij| |x_j|. A computed x_i is (b_i - sum t_ij x_j) / t_ii of the computed
// x_j, evaluated in any order: off by at most gamma_k s_i / |t_ii| (N. J. Higham, "Accuracy and Stability of Numerical
// Algorithms", 2nd ed., Lemma 8.4, with the computed x_j in s_i), where k roundings are n of products and differences,
// alpha's, and two of a division or of a product with a reciprocal made beforehand. What earlier components are off by,
// e_j, is passed on: e_i <= (sum |t_ij| e_j + gamma_k (s_i + sum |t_ij| e_j)) / |t_ii|. With the weight
//   w_i = (sum |t_ij| w_j + s_i) / |t_ii|
// induction gives e_i <= gamma_k (1 + gamma_k)^n w_i: Theorem 8.5 brought forward row by row, and never more than the
// bound with the comparison matrix, Theorem 8.10. It holds of substitution, blocked and reordered however one likes,
// not of a method that multiplies by inverted blocks. Complex: with |.| the modulus, of each component; the
// components of a sum of n products are real sums of 2n (blas_products.h), which together are off by sqrt(2) gamma_2n,
// and division, by a reciprocal or as Smith does it, by at most sqrt(2) gamma_14 (Lemma 3.5).
//
// Underflow: each product, difference and quotient of row i may lose the least subnormal number, a reciprocal as much
// times s_i, the quotient of Smith's method as much times s_i / |t_ii|; passed on as errors are:
//   v_i = (sum |t_ij| v_j + 4 n + 8 + 2 s_i) / |t_ii| + 4 + s_i      times the least subnormal number.
//
// Conditions of an element, in the order of Reference::conditions: weight w, faint v, and `largest`, which no
// intermediate of the column up to it exceeds; infinite where practice differs.
//
// NaN and infinity. A NaN in row i of T or in b_i makes x_i NaN, and what depends on it. With an infinity, a zero
// beside a NaN (the reference BLAS 3.12, dtrsm.f, leaves out zeros) or a zero on the diagonal what comes out depends on
// the order of things: no evidence. The same of a NaN in one part of a complex b_i, which alpha = 1 may or may not
// spread to the other.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/blas_products.h"

namespace assay::blas_trsm {

using blas::Complex;

enum Condition : int { kWeight, kFaint, kLargest, kConditions };
inline constexpr Per kPer[kConditions] = {Per::element, Per::element, Per::element};

struct Component {
  DoubleDouble re, im;
  double e_ref = 0;
  double condition[kConditions] = {};
  enum class State { number, nan, unclear } state = State::number;
};

inline double modulus(double re, double im) {
  const double a = std::fabs(re), b = std::fabs(im), high = std::fmax(a, b), low = std::fmin(a, b);
  if (low == 0) return high;
  const double ratio = low / high;
  return high * std::sqrt(1 + ratio * ratio);
}
inline double modulus(Complex x) { return modulus(x.re, x.im); }

// What x_i is made of besides numbers.
class Taint {
 public:
  void meet(Complex t, const Component& x) {
    const bool is_nan = blas::has_nan(t) || x.state == Component::State::nan;
    const bool zero = t.is_zero() || (x.state == Component::State::number && x.re.hi == 0 && x.im.hi == 0);
    if (is_nan && !zero) nan_ = true;
    if ((is_nan && zero) || (!blas::is_finite(t) && !is_nan) || x.state == Component::State::unclear) unclear_ = true;
  }
  void meet_right_side(Complex b, bool is_complex) {
    if (blas::is_finite(b)) return;
    const bool is_nan = blas::has_nan(b) && !is_complex;
    nan_ = nan_ || is_nan;
    unclear_ = unclear_ || !is_nan;
  }
  Component::State state() const {
    if (nan_) return Component::State::nan;
    return unclear_ ? Component::State::unclear : Component::State::number;
  }

 private:
  bool nan_ = false, unclear_ = false;
};

// Adds component i to `x`, which has those that it depends on. t(i, j) are T's elements, [first, end) the indices of
// row i but for i itself, `scaled` alpha b_i, whose own magnitude is `size`. `n`: of the whole system.
template <class T>
Component solved(int64_t i, int64_t first, int64_t end, int64_t n, const T& t, const std::vector<Component>& x,
                 Component scaled, double size, double largest_before, Taint taint) {
  constexpr double kSlack = 4;  // a rounding of complex double-doubles is a few of real ones
  const auto rows = static_cast<double>(n);
  DoubleDouble re = scaled.re, im = scaled.im;
  double s = size, carried = 0, faint = 0;
  for (int64_t j = first; j < end; ++j) {
    if (j == i) continue;
    const Complex a = t(i, j);
    const Component& known = x[static_cast<size_t>(j)];
    taint.meet(a, known);
    re = re - (known.re * a.re - known.im * a.im);
    im = im - (known.re * a.im + known.im * a.re);
    const double factor = modulus(a);
    s += factor * modulus(known.re.hi, known.im.hi);
    carried += factor * known.condition[kWeight];
    faint += factor * known.condition[kFaint];
  }
  const Complex diagonal = t(i, i);
  const double pivot = modulus(diagonal);
  Component out;
  if (blas::has_nan(diagonal)) {
    taint.meet(diagonal, {.re = re, .im = im});
  } else if (!blas::is_finite(diagonal) || pivot == 0) {
    taint.meet({kInfinity, 0}, {.re = 1});
  }
  if (diagonal.im == 0) {
    out.re = re / diagonal.re;
    out.im = im / diagonal.re;
  } else {
    const DoubleDouble square = two_prod(diagonal.re, diagonal.re) + two_prod(diagonal.im, diagonal.im);
    out.re = (re * diagonal.re + im * diagonal.im) / square;
    out.im = (im * diagonal.re - re * diagonal.im) / square;
  }
  const double rounded_up = 1 + rows * (rows + 16) * 0x1p-51;  // the recursion was itself computed in fp64
  const double weight = (carried + s) / pivot * rounded_up;
  out.condition[kWeight] = weight;
  out.condition[kFaint] = ((faint + 4 * rows + 8 + 2 * s) / pivot + 4 + s) * rounded_up;
  out.condition[kLargest] = std::fmax(std::fmax(largest_before, 2 * s * rounded_up),
                                      std::fmax(std::fmax(2 * pivot, 2 / pivot), std::fmax(weight, size)));
  out.e_ref = kSlack * (rows + 16) * kDoubleDoubleRoundoff * weight + kSlack * 0x1p-1074 * out.condition[kFaint];
  out.state = taint.state();
  const bool overflows = !is_finite(out.re) || !is_finite(out.im) || !is_finite(out.condition[kLargest]);
  if (out.state == Component::State::number && overflows) out.state = Component::State::unclear;
  return out;
}

// E_alg and evidence of an element, as bounds_of() asks for it.
struct Rule : ElementRule {
  double rounding = 0;   // gamma_k (1 + gamma_k)^n, times w
  double underflow = 0;  // times v
  DType accumulator = DType::f64;

  ASSAY_HD ElementBound operator()(ElementRule::Row, double hi, double, const double* k) const {
    const bool may_overflow = !(k[kLargest] * (1 + 2 * rounding) <= largest_finite(accumulator));
    ElementBound b{0, may_overflow ? Evidence::no_evidence : Evidence::rigorous};
    if (is_finite(hi)) b.e_alg = charged(rounding, k[kWeight]) + charged(underflow, k[kFaint]);
    return b;
  }
};

Rule rule_of(const Case& c, const Contract& contract);

}  // namespace assay::blas_trsm
