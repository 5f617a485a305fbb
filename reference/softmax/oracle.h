// Softmax of one row, y = exp(z - max z) / sum exp(z - max z) with z = scale x + mask, in double or double-double, and
// the error that any computation of that formula makes. One source for host and device.
//
// Error. Let p be the exact result, d_j = max z - z_j, and let z_j be off by u a_j, where a_j = |scale x_j| when the
// scale is not 1 (twice that when the scale itself is rounded to f32) + |z_j| when there is a mask. Whatever maximum is
// subtracted cancels, so with the subtraction's rounding the exponent of term j is off by at most A_j = u (a_j + d_j),
// and exp adds a relative eps(d_j). Hence, to first order, relative to p_i,
//   A_i + eps(d_i)                        the numerator
//   + sum_j p_j (A_j + eps(d_j))          the denominator's terms
//   + gamma_h + R (eps(0) + 2u)           their sum, h < n, and R rescalings of an online one: by exp(0), which is 1
//                                         (C17, F.10.3.1; PTX ISA, ex2), but where the maximum grows, less than n times
//   + 2u                                  division, or reciprocal and product.
// Higher orders: with A + eps <= T <= 1/4, exp(A)(1 + eps) - 1 <= (A + eps)(1 + T); and the whole, x <= 1/4, becomes at
// most x + 2 x^2. Terms with d_j > 800 and A_j <= d_j / 2 contribute less than n exp(-400), which is nothing. Where x >
// 1/4 the bound is 2 exp(A_i - d_i), at most 1. Underflow: exp and the quotient may each be off by 2 ulp of the
// subnormals, 6 half units together; flushed, by two of the smallest normal number. An element that is masked by -inf
// is exactly 0.
//
// Special values. A mask of -inf hides x. Where it meets an x that is +inf or NaN, practice differs (the IEEE sum is
// NaN, kernels that select give 0), so the row is marked unclear and may be NaN too. Otherwise as the formula gives: a
// row with a NaN or a +inf, or with every element masked, is NaN.
#pragma once

#include <cmath>
#include <cstdint>

#include "reference/math/bounds.h"
#include "reference/math/elementary.h"
#include "reference/rows.h"
#include "reference/rule.h"

namespace assay::softmax {

// One row's inputs, exact in double.
struct Row {
  const double* x = nullptr;
  const double* mask = nullptr;  // null: none
  int64_t cols = 0;
  double scale = 1;
  double scale_roundings = 0;  // how often |scale x| counts in a_j: 0, 1 or 2
};

// Condition sums of a row.
struct Conditions {
  double mean_argument = 0;  // sum p_j a_j
  double mean_distance = 0;  // sum p_j d_j
  double worst = 0;          // largest a_j + d_j of terms with d_j <= 800
  double largest = 0;        // largest |scale x_j| and |z_j| from finite inputs: what may overflow
  double unclear = 0;        // 1: see above
};

// How the formula is computed.
struct Arithmetic {
  double u = 0;
  double exp_base = 0, exp_slope = 0;  // eps(d) = base + slope d
  double gamma = 0;                    // of the sum
  double rescalings = 0;
  double underflow = 0;  // absolute, of the result
};

inline constexpr double kSignificantDistance = 800;

ASSAY_HD inline double argument_error(const Arithmetic& a, double argument, double distance) {
  return (a.u + a.exp_slope) * distance + a.u * argument + a.exp_base;
}

// Bound of |computed - p| for an element with exact result p, a_i and d_i.
ASSAY_HD inline double error_bound(const Arithmetic& a, const Conditions& row, double p, double argument,
                                   double distance) {
  if (distance == kInfinity) return 0;
  const double spread =
      argument_error(a, row.worst, kSignificantDistance < row.worst ? kSignificantDistance : row.worst);
  const double inflation = 1 + spread;
  const double sum = argument_error(a, row.mean_argument, row.mean_distance) * inflation * (1 + 0x1p-20) + a.gamma +
                     a.rescalings * (a.exp_base + 2 * a.u) + 2 * a.u;
  const double own = argument_error(a, argument, distance);
  const double first = own * (1 + own) + sum;
  if (spread <= 0.25 && first <= 0.25) {
    return add_underflow(p * (first + 2 * first * first), a.underflow, 1);
  }
  const double shifted = distance - own;
  const bool far = spread <= 0.25 && sum <= 0.25 && shifted > 1;
  return far ? larger(p, 2 * exponential(-shifted)) + a.underflow : 1 + 0x1p-10;
}

// Order of Reference::conditions: a_i and d_i of every element, then one value a row.
enum Condition : int { kArgument, kDistance, kMeanArgument, kMeanDistance, kWorst, kLargest, kUnclear, kConditions };
inline constexpr Per kPer[kConditions] = {Per::element, Per::element, Per::row, Per::row, Per::row, Per::row, Per::row};

// What a contract makes of the bound: everything that does not depend on the element.
struct Rule : ElementRule {
  Arithmetic arithmetic;
  IntermediateError narrowing;  // on the way to the output
  double limit = 0;             // of the accumulator
  bool depth_known = false;
  bool nan_unspecified = false;

  ASSAY_HD ElementBound operator()(ElementRule::Row, double hi, double, const double* k) const {
    const Conditions row{k[kMeanArgument], k[kMeanDistance], k[kWorst], k[kLargest], k[kUnclear]};
    const bool overflows = !(row.largest * (1 + 4 * arithmetic.u) < limit);
    const bool unclear = row.unclear != 0;
    // One reading of an unclear row is NaN, of which some kernels promise nothing.
    const bool is_free = overflows || (unclear && nan_unspecified);
    ElementBound b{0, depth_known ? Evidence::rigorous : Evidence::weak};
    if (overflows) {
      b.evidence = Evidence::no_evidence;
    } else if (unclear) {
      b.evidence = Evidence::or_nan;
    }
    const double e = error_bound(arithmetic, row, hi, k[kArgument], k[kDistance]);
    b.e_alg = is_free || !(e < kInfinity) ? kInfinity : e + narrowing.of(hi, e);
    return b;
  }
};

Rule rule_of(const Case& c, const Contract& contract);

// How often |scale x| counts in a_j.
inline double scale_roundings(double scale) {
  if (scale == 1) return 0;
  return round_to(DType::f32, scale) == scale ? 1 : 2;
}

// Writes r = hi + lo, e_ref, a_i and d_i of every element and returns the row's conditions. x may be hi, and mask lo.
template <class Real, class Team = Alone>
ASSAY_HD Conditions softmax_row(const Row& row, double* hi, double* lo, double* e_ref, double* argument,
                                double* distance, const Team& team = {}) {
  Conditions conditions;
  Real max = -kInfinity;
  int64_t max_at = row.cols;
  bool is_nan = false;
  const bool masked = row.mask != nullptr;
  for (int64_t j = team.begin(); j < row.cols; j += team.step()) {
    const double x = row.x[j], mask = masked ? row.mask[j] : 0;
    const Real scaled = Real(x) * row.scale;
    const bool hidden = masked && mask == -kInfinity;
    const Real z = hidden ? Real(-kInfinity) : !masked ? scaled : scaled + mask;
    const double magnitude_scaled = std::fabs(high_part(scaled)), magnitude_z = std::fabs(high_part(z));
    if (hidden && !(high_part(scaled) < kInfinity)) conditions.unclear = 1;
    if (is_finite(x)) conditions.largest = larger(conditions.largest, magnitude_scaled);
    if (is_finite(x) && masked && is_finite(mask)) {
      conditions.largest = larger(conditions.largest, magnitude_z);
    }
    if (!(high_part(z) == high_part(z))) is_nan = true;
    if (max < z) {
      max = z;
      max_at = j;
    }
    argument[j] = one_nan(row.scale_roundings * magnitude_scaled + (masked ? magnitude_z : 0));
    hi[j] = high_part(z);
    lo[j] = low_part(z);
  }
  max = team.first_largest(max, max_at);
  is_nan = team.any(is_nan) || !is_finite(high_part(max));
  conditions.unclear = team.any(conditions.unclear != 0);
  conditions.largest = team.largest(conditions.largest);

  typename Team::template Sum<Real> sum;
  typename Team::template Sum<double> weighted_argument, weighted_distance;
  for (int64_t j = team.begin(); j < row.cols; j += team.step()) {
    const Real difference = from_parts<Real>(hi[j], lo[j]) - max;
    const Real e = exponential(difference);
    distance[j] = one_nan(-high_part(difference));
    sum.add(j, e);
    if (distance[j] <= kSignificantDistance) {
      weighted_argument.add(j, high_part(e) * argument[j]);
      weighted_distance.add(j, high_part(e) * distance[j]);
      conditions.worst = larger(conditions.worst, argument[j] + distance[j]);
    }
    hi[j] = high_part(e);
    lo[j] = low_part(e);
  }
  const Real total = team.total(sum);
  conditions.mean_argument = one_nan(team.total(weighted_argument) / high_part(total));
  conditions.mean_distance = one_nan(team.total(weighted_distance) / high_part(total));
  conditions.worst = team.largest(conditions.worst);

  const Arithmetic own{.u = kRoundoff<Real>,
                       .exp_base = kElementaryError<Real>,
                       .gamma = gamma_n(LaneSum<Real>::depth(row.cols), kRoundoff<Real>),
                       .underflow = 0x1p-1072};
  for (int64_t j = team.begin(); j < row.cols; j += team.step()) {
    const Real p = is_nan ? Real(std::numeric_limits<double>::quiet_NaN()) : from_parts<Real>(hi[j], lo[j]) / total;
    hi[j] = high_part(p);
    lo[j] = low_part(p);
    e_ref[j] = is_nan ? 0 : one_nan(error_bound(own, conditions, hi[j], argument[j], distance[j]));
  }
  return conditions;
}

}  // namespace assay::softmax
