// A small value type over MPFR, the independent source for reference/math and the oracles in tests. Precision is fixed
// at 400 bits, far beyond double-double, so that its own error can be forgotten.
#pragma once

#include <mpfr.h>

#include "reference/math/dd.h"

namespace assay::testing {

class Big {
 public:
  Big() { mpfr_init2(v_, kBits); }
  Big(double x) : Big() { mpfr_set_d(v_, x, MPFR_RNDN); }                   // NOLINT: a double is exactly a Big
  Big(DoubleDouble x) : Big(x.hi) { mpfr_add_d(v_, v_, x.lo, MPFR_RNDN); }  // NOLINT
  Big(const Big& other) : Big() { mpfr_set(v_, other.v_, MPFR_RNDN); }
  Big& operator=(const Big& other) {
    mpfr_set(v_, other.v_, MPFR_RNDN);
    return *this;
  }
  ~Big() { mpfr_clear(v_); }

  // f(result, argument, rounding), such as mpfr_exp.
  template <class Function>
  Big apply(Function f) const {
    Big r;
    f(r.v_, v_, MPFR_RNDN);
    return r;
  }
  template <class Function>
  static Big combine(Function f, const Big& a, const Big& b) {
    Big r;
    f(r.v_, a.v_, b.v_, MPFR_RNDN);
    return r;
  }
  friend Big operator+(const Big& a, const Big& b) { return combine(mpfr_add, a, b); }
  friend Big operator-(const Big& a, const Big& b) { return combine(mpfr_sub, a, b); }
  friend Big operator*(const Big& a, const Big& b) { return combine(mpfr_mul, a, b); }
  friend Big operator/(const Big& a, const Big& b) { return combine(mpfr_div, a, b); }
  friend bool operator<(const Big& a, const Big& b) { return mpfr_less_p(a.v_, b.v_) != 0; }

  Big abs() const { return apply(mpfr_abs); }
  Big sqrt() const { return apply(mpfr_sqrt); }
  Big exp() const { return apply(mpfr_exp); }
  double value() const { return mpfr_get_d(v_, MPFR_RNDN); }
  bool is_zero() const { return mpfr_zero_p(v_) != 0; }
  bool is_integer() const { return mpfr_integer_p(v_) != 0; }
  bool is_nan() const { return mpfr_nan_p(v_) != 0; }

 private:
  static constexpr mpfr_prec_t kBits = 400;
  mpfr_t v_;
};

// log2(|got - want| / |want|): -infinity for equality, +infinity where want is 0 and got is not.
inline double relative_error_log2(const Big& got, const Big& want) {
  const Big difference = (got - want).abs();
  if (difference.is_zero()) return -HUGE_VAL;
  if (want.is_zero()) return HUGE_VAL;
  return (difference / want.abs()).apply(mpfr_log2).value();
}

}  // namespace assay::testing
