// int8 product with requantization, element by element: one source for host and device.
//
//   acc = sum_k (a_ik - za) (b_kj - zb)                      exact in int32: the op refuses a longer k
//   r   = acc scale_a scale_b[j] / scale_y + zy              the real number that is then rounded
//   y   = r rounded to the nearest integer, ties to even, and saturated to int8
//
// The check rounds and saturates; both neighbours are right only where a tie lies within E of r.
// E_ref: acc and scale_a scale_b are exact in fp64; a product, a quotient and a sum are rounded, gamma_3(2^-53) terms.
//
// Conditions: terms, at least |acc scale_a scale_b[j] / scale_y| + |zy|; exact, 1 where the scales are powers of two
// and every intermediate of any order fits f32.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/hd.h"
#include "reference/math/bounds.h"
#include "reference/math/dd.h"
#include "reference/math/exact.h"
#include "reference/rule.h"

namespace assay::gemm_int8 {

enum Condition : int { kTerms, kExact, kConditions };
inline constexpr Per kPer[kConditions] = {Per::element, Per::element};

struct Element {
  double r = 0, e_ref = 0;
  double condition[kConditions] = {};
};

ASSAY_HD inline bool is_power_of_two(double x) { return x > 0 && std::ldexp(1.0, quantum_of(x)) == x; }

ASSAY_HD inline Element requantize(int32_t sum, double scale_a, double scale_b, double scale_y, int64_t zy) {
  const double scaled = static_cast<double>(sum) * (scale_a * scale_b) / scale_y;
  const double zero = static_cast<double>(zy);
  Element e;
  e.r = scaled + zero;
  const double terms = (std::fabs(scaled) + std::fabs(zero)) * (1 + 0x1p-50);
  e.condition[kTerms] = terms;
  const bool dyadic = is_power_of_two(scale_a) && is_power_of_two(scale_b) && is_power_of_two(scale_y);
  const bool sum_fits = std::fabs(static_cast<double>(sum)) <= 0x1p24;
  const int quantum = sum == 0 ? kNoQuantum : quantum_of(scaled);
  const bool adds_up = sums_are_exact(DType::f32, terms, finer_of(quantum, quantum_of(zero)), false);
  e.condition[kExact] = sum == 0 || (dyadic && sum_fits && adds_up);
  e.e_ref = e.condition[kExact] != 0 ? 0 : gamma_n(3, kDoubleRoundoff) * terms;
  return e;
}

// E_alg. The sum is exact. Requantization in at least f32, in any order: the sum's conversion, the scales' product, a
// reciprocal or quotient, the product with the sum, the zero point: fewer than kRoundings, gamma(2^-24) terms. No
// contract changes that.
struct Rule : ElementRule {
  ASSAY_HD ElementBound operator()(ElementRule::Row, double, double, const double* k) const {
    constexpr double kRoundings = 8;
    if (k[kExact] != 0) return {0, Evidence::exact};
    return {gamma_n(kRoundings, unit_roundoff(DType::f32)) * k[kTerms], Evidence::rigorous};
  }
};

}  // namespace assay::gemm_int8
