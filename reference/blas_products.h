// High precision alpha sum_k a_k b_k + beta c of real or complex numbers, part by part, and the bound of whatever order
// it is computed in: what gemm, gemv, ger, syrk and trmv have in common.
//
// A complex product is taken apart, (a b).re = a.re b.re - a.im b.im, so that a part of a sum of K complex products is
// a real sum of 2K real ones, and Higham's (3.5) bounds it ("Accuracy and Stability of Numerical Algorithms", 2nd ed.,
// section 3.1) whatever the order: gamma_n(u) times the sum of magnitudes when no term passes more than n roundings.
// That holds of the conventional product alone; the one with three multiplications ("3M", section 23.2.4) is off by the
// magnitude of the other part, too, and is no plain call's.
//
// Computed as Dot2 of Ogita, Rump and Oishi (reference/gemm/oracle.h cites it) over the n = K or 2K real products, then
// in double-double, whose at most ten operations cost 2^-102 each: E_ref = gamma_(n+32)(2^-53)^2 times the terms, plus
// what products lose by underflow.
//
// With M the sum of magnitudes of a part's real products, the conditions of an element, those of gemm:
//   terms    at least |alpha.re| M + |alpha.im| M' + |beta.re c| + |beta.im c'|, where ' is the other part
//   largest  no intermediate of any order of summation exceeds it, of the finite inputs; negative where practice
//            differs, below
//   quantum  exponent e such that every product, scaled or not, and the products with c are multiples of 2^e
//   operand  at least max(1, |a|, |b|) max(1, |alpha|, |beta|): bounds a factor scaled beforehand, and what an
//   underflow
//            may be multiplied by
//
// NaN and infinity. Real sums go by IEEE 754. Where one correct library differs from another either is let pass:
//   - a product of zero and NaN or infinity, where the reference BLAS (3.12: ger, syrk, trmv) leaves out a zero factor:
//     NaN, or the sum without it;
//   - complex products with an infinity: by the formula each part is infinite or NaN, which of the two depends on
//     whether alpha is multiplied out, and Annex G of the C standard makes infinities of some NaNs; a NaN that meets no
//     infinity makes both parts NaN;
//   - beta c with a real beta of complex type and one part of c NaN or infinite: the other part is NaN by the formula
//   and
//     finite where beta is taken for real.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/blas.h"

namespace assay::blas {

struct Scaling {
  Complex alpha{1, 0}, beta{};
  bool is_complex = false;
  bool zeros_may_be_skipped = false;  // see above
};

inline bool is_nan(double x) { return !(x == x); }  // NOLINT(misc-redundant-expression)
inline bool is_finite(Complex x) { return assay::is_finite(x.re) && assay::is_finite(x.im); }
inline bool has_nan(Complex x) { return is_nan(x.re) || is_nan(x.im); }
inline bool has_infinity(Complex x) { return std::fabs(x.re) == kInfinity || std::fabs(x.im) == kInfinity; }
inline double largest_of(Complex x) { return std::fmax(std::fabs(x.re), std::fabs(x.im)); }
inline double extent_of(Complex x) { return std::fabs(x.re) + std::fabs(x.im); }
inline int quantum_of(Complex x) { return finer_of(assay::quantum_of(x.re), assay::quantum_of(x.im)); }
inline int scaled_quantum(int quantum, Complex factor) {
  return finer_of(gemm::scaled_quantum(quantum, factor.re), gemm::scaled_quantum(quantum, factor.im));
}

class ProductSum {
 public:
  explicit ProductSum(const Scaling& scaling) : scaling_(scaling) {}

  void add(Complex a, Complex b) {
    ++products_;
    if (!is_finite(a) || !is_finite(b)) {
      add_special(a, b);
      return;
    }
    largest_a_ = std::fmax(largest_a_, largest_of(a));
    largest_b_ = std::fmax(largest_b_, largest_of(b));
    if (!a.is_zero() && !b.is_zero()) quantum_ = finer_of(quantum_, quantum_of(a) + quantum_of(b));
    re_.add(a.re, b.re);
    if (!scaling_.is_complex) return;
    re_.add(-a.im, b.im);
    im_.add(a.re, b.im);
    im_.add(a.im, b.re);
  }

  // The real part (0) or the imaginary one (1) of alpha sum + beta c; c is ignored where beta is 0.
  gemm::Element finish(int part, Complex c) const;

 private:
  // Running sums of one part.
  struct Real {
    double high = 0, low = 0, magnitude = 0;
    void add(double a, double b) { gemm::add_product_exactly(a, b, high, low, magnitude); }
    DoubleDouble sum() const { return two_sum(high, low); }
  };

  void add_special(Complex a, Complex b) {
    if (scaling_.zeros_may_be_skipped && (a.is_zero() || b.is_zero())) {
      skipped_ = true;
      return;
    }
    has_special_ = true;
    has_nan_ = has_nan_ || ((has_nan(a) || has_nan(b)) && !has_infinity(a) && !has_infinity(b));
    special_ += a.re * b.re;
  }
  bool settle_special(int part, Complex c, const DoubleDouble& value, gemm::Element& e) const;

  Scaling scaling_;
  int64_t products_ = 0;
  Real re_, im_;
  double largest_a_ = 0, largest_b_ = 0;  // of the finite ones
  int quantum_ = kNoQuantum;
  bool has_special_ = false;  // a product that is not finite and that nobody leaves out
  bool has_nan_ = false;      // with a NaN and no infinity in its factors
  bool skipped_ = false;      // one that may be left out
  double special_ = 0;        // the sum of those of real numbers
};

// E_alg of sums of at most `products` products: with n = products or, complex, twice that, a term passes its product's
// rounding and n additions, that of c among them, and of alpha one more, complex three. Each product and each
// factor scaled beforehand may lose half the least subnormal number times what it is multiplied by; flushed, each
// operand, product and sum the least normal one.
gemm::Rule product_rule(const Case& c, const Contract& contract, int64_t products);
// The same of tensors of any type; narrow ones are summed in f32 at least.
gemm::Rule product_rule(DType dtype, bool of_complex, const Contract& contract, int64_t products);

}  // namespace assay::blas
