// int8 product with requantization, element by element: one source for host and device.
//
//   acc = sum_k (a_ik - za) (b_kj - zb)                      exact in int32: the op refuses a longer k
//   r   = acc scale_a scale_b[j] / scale_y + zy              the real number that is then rounded
//   y   = r rounded to the nearest integer, ties to even, and saturated to int8
//
// The check rounds and saturates; both neighbours are right only where a tie lies within E of r.
// E_ref: acc and scale_a scale_b are exact in fp64; a product, a quotient and a sum are rounded, gamma_3(2^-53) terms.
//
// Conditions: terms, at least |acc scale_a scale_b[j] / scale_y| + |zy|; exact, where the scales are powers of two: 1
// when every intermediate of any order fits f64, 2 when it fits f32 too.
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
inline constexpr double kExactInF64 = 1, kExactInF32 = 2;  // kExact
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
  const int quantum = finer_of(sum == 0 ? kNoQuantum : quantum_of(scaled), quantum_of(zero));
  const bool in_f64 = dyadic && sums_are_exact(DType::f64, terms, quantum, false);
  const bool in_f32 = dyadic && sum_fits && sums_are_exact(DType::f32, terms, quantum, false);
  e.condition[kExact] = sum == 0 || in_f32 ? kExactInF32 : in_f64 ? kExactInF64 : 0;
  e.e_ref = e.condition[kExact] != 0 ? 0 : gamma_n(3, kDoubleRoundoff) * terms;
  return e;
}

// E_alg. The sum is exact. Requantization in the contract's intermediate type or a wider one, f32 unless it says f64,
// in any order: the sum's conversion, the scales' product, a reciprocal or quotient, the product with the sum, the zero
// point: fewer than kRoundings, gamma(u) terms.
struct Rule : ElementRule {
  double rounding = gamma_n(kRoundings, unit_roundoff(DType::f32));
  double exact_from = kExactInF32;  // conditions[kExact]

  ASSAY_HD ElementBound operator()(ElementRule::Row, double, double, const double* k) const {
    if (k[kExact] >= exact_from) return {0, Evidence::exact};
    return {rounding * k[kTerms], Evidence::rigorous};
  }

  static constexpr double kRoundings = 8;
};

inline Rule rule_of(const Contract& contract) {
  Rule rule;
  if (contract.arithmetic.intermediate == ASSAY_ACC_F64) {
    rule.rounding = gamma_n(Rule::kRoundings, unit_roundoff(DType::f64));
    rule.exact_from = kExactInF64;
  }
  return rule;
}

}  // namespace assay::gemm_int8
