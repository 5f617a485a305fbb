// A plane rotation in twice fp64, element by element.
//
// Real: with sigma the sign of the larger of a and b, of b where |a| = |b|,
//   r = sigma sqrt(a^2 + b^2), c = a / r, s = b / r;  z = s where |a| > |b|, otherwise 1 / c, and 1 where c is 0
// and c = 1, s = z = 0, r = a where b is 0; c = 0, s = z = 1, r = b where a is. E_alg: the classic way (scale = |a| +
// |b|, reference BLAS up to 3.9) and Anderson's round r at most 4 times, c and s twice more and z thrice: 8 u relative.
// r itself is rounded to a subnormal number where it is that small, and c, s and z are formed of it: that error is
// theirs too, so that `operand` is the element over r.
//
// Complex: c = |a| / h, s = (a / |a|) conj(b) / h, r = (a / |a|) h with h = sqrt(|a|^2 + |b|^2), and c = 1, s = 0, r =
// a where b is 0. Where a is 0 and b is not, c = 0 and either s = 1 and r = b (reference BLAS up to 3.9) or s = conj(b)
// / |b| and r = |b| (3.10 and later): whatever lies between is let pass. Each is a product or quotient of at most 5
// factors, of which |.| takes 4 roundings, and h 8: 24 u covers the sum of the magnitudes of s's two terms. Parts whose
// squares are near the ends of the format, or far from one another's, go through scalings that differ: no evidence.
//
// Of infinities and NaNs nothing but that r is not finite.
#pragma once

#include "reference/blas.h"

namespace assay::blas_rotg {

using blas::Complex;
using gemm::Element;

inline constexpr double kRealRoundings = 8, kComplexRoundings = 24;

struct Rotation {
  Element r, z, c, s;
};
struct ComplexRotation {
  Element r[2], c, s[2];
};

inline Element exactly(double value) {
  Element e;
  e.hi = value;
  e.condition[gemm::kQuantum] = kNoQuantum;
  e.condition[gemm::kOperand] = 1;
  return e;
}

// `value` 2^exponent, off by a few of dd's operations; terms, at least its magnitude, bounds E_alg.
inline Element nearly(DoubleDouble value, int exponent, double terms, double operand = 1) {
  Element e = exactly(0);
  e.hi = std::ldexp(value.hi, exponent);
  if (!(std::fabs(e.hi) < 0x1.fffffp1023)) return blas::anything();  // at the end of fp64
  e.lo = std::ldexp(value.lo, exponent);
  e.condition[gemm::kTerms] = terms * (1 + 0x1p-50);
  e.condition[gemm::kQuantum] = -kNoQuantum;  // never exact
  e.condition[gemm::kOperand] = operand;
  e.e_ref = 0x1p-98 * terms + (std::fabs(e.hi) < 0x1p-900 ? 0x1p-1070 : 0);
  return e;
}

inline Rotation rotation_of(double a, double b, DType dtype) {
  if (!is_finite(a) || !is_finite(b)) {
    return {blas::anything_not_finite(), blas::anything(), blas::anything(), blas::anything()};
  }
  if (b == 0) return {exactly(a), exactly(0), exactly(1), exactly(0)};
  if (a == 0) return {exactly(b), exactly(1), exactly(0), exactly(1)};
  const bool a_leads = std::fabs(a) > std::fabs(b);
  const double larger = a_leads ? a : b;
  const int exponent = std::ilogb(larger);
  const DoubleDouble x = std::ldexp(a, -exponent), y = std::ldexp(b, -exponent);
  DoubleDouble h = square_root(x * x + y * y);
  if (larger < 0) h = -h;
  const DoubleDouble c = x / h, s = y / h;
  const double r = std::fmax(std::ldexp(std::fabs(h.hi), exponent), smallest_subnormal(dtype));
  const auto element = [&](DoubleDouble value) {
    if (!(r * (1 + 0x1p-16) < largest_finite(dtype))) return blas::anything();
    const double size = std::fabs(value.hi);
    return nearly(value, 0, size, 1 + 2 * size / r);
  };
  Rotation of{nearly(h, exponent, r), {}, element(c), element(s)};
  if (a_leads) {
    of.z = of.s;
  } else if (std::fabs(c.hi) < std::ldexp(16.0, format_of(dtype).min_exponent)) {
    of.z = blas::anything();  // 1 / c of a c that is subnormal or lost
  } else {
    of.z = element(h / x);
  }
  return of;
}

// A number between x and y, both among what may be.
inline Element between(double x, double y) {
  Element e = nearly(DoubleDouble(x / 2) + y / 2, 0, std::fmax(std::fabs(x), std::fabs(y)));
  e.e_ref += std::fabs(x / 2 - y / 2) * (1 + 0x1p-50);
  return e;
}

inline ComplexRotation rotation_of(Complex a, Complex b, DType dtype) {
  const double parts[4] = {a.re, a.im, b.re, b.im};
  bool finite = true, ordinary = true;
  const double most = std::ldexp(1.0, format_of(dtype).max_exponent / 4);
  for (const double part : parts) {
    finite = finite && is_finite(part);
    const double size = std::fabs(part);
    ordinary = ordinary && (size == 0 || (size < most && size * most > 1));
  }
  if (!finite) {
    const Element r = blas::anything(), s = blas::anything();
    return {{r, r}, blas::anything(), {s, s}};
  }
  if (a.is_zero() && b.is_zero()) {
    return {{exactly(0), exactly(0)}, between(0, 1), {between(0, 1), exactly(0)}};
  }
  if (!ordinary) {
    const Element any = blas::anything();
    return {{any, any}, any, {any, any}};
  }
  const auto whole = [](DoubleDouble value) { return nearly(value, 0, std::fabs(value.hi)); };
  if (b.is_zero()) return {{whole(a.re), whole(a.im)}, whole(1), {exactly(0), exactly(0)}};
  const DoubleDouble b2 = two_prod(b.re, b.re) + two_prod(b.im, b.im);
  if (a.is_zero()) {
    const DoubleDouble size = square_root(b2);
    return {{between(b.re, size.hi), between(b.im, 0)},
            exactly(0),
            {between(1, (b.re / size).hi), between(0, (-b.im / size).hi)}};
  }
  const DoubleDouble a2 = two_prod(a.re, a.re) + two_prod(a.im, a.im);
  const DoubleDouble size = square_root(a2), h = square_root(a2 + b2);
  const DoubleDouble unit = size * h;
  const auto sum_of = [&](double p, double q, double v, double w) {  // (p q + v w) / (|a| h)
    const DoubleDouble first = two_prod(p, q), second = two_prod(v, w);
    return nearly((first + second) / unit, 0, (std::fabs(first.hi) + std::fabs(second.hi)) / unit.hi);
  };
  const DoubleDouble stretch = h / size;
  return {{whole(stretch * a.re), whole(stretch * a.im)},
          whole(size / h),
          {sum_of(a.re, b.re, a.im, b.im), sum_of(a.im, b.re, -a.re, b.im)}};
}

}  // namespace assay::blas_rotg
