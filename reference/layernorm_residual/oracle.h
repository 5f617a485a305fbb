// Layer normalisation of one row with a fused residual, s = x + residual, y = (s - mu) R g + b with mu = mean s,
// R = 1/sqrt(mean (s - mu)^2 + eps), in double or double-double, and the error that any two-pass or Welford computation
// of that formula makes. One source for host and device.
//
// Error, for roundoff u, summation depth h, n terms, c_i = s_i - mu, rms and sigma^2 = var over the row (after
// N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., sections 1.9 and 3.1; the algebra is ours):
//   mean        |dmu| <= gamma_(h+4) mean|s| =: M                    (s rounded, h additions, division; h <= 2n, as n
//               updates of Welford's round no more than n + 2 + 2 (1 + 1/2 + ... + 1/(n - 1)) times)
//   deviations  c is off by a part common to the row, at most M, and a part of its own, at most
//               eta_i = u |s_i| + u (|c_i| + M + u |s_i|)            (s rounded, subtraction rounded)
//   variance    with sum c = 0 the common part enters squared only: sum (c + dc)^2 / n lies within
//               2 sigma rms(eta) + (M + rms(eta))^2 of var; squares, sum and division: gamma_(h+4) of the result
//   R           v = var + eps is off by dv = dvar + 2u (v + dvar); with x = dv / v <= 1/2, |(1 + x)^(-1/2) - 1| <= x/2
//   + 0.7
//               x^2; then rsqrt's own error. Where x > 1/2, R lies in [0, eps^(-1/2)], as the sum of squares is no less
//               than 0.
//   y           |g| (|dc_i| R' + |c_i| dR) + 3u |g| (|c_i| + |dc_i|) R' + u |y|, R' = R + dR, the last where a bias is
//   added
// A one-pass variance (mean of squares less the square of the mean) is off by h u mu^2, and does not stay inside.
//
// Sums are scaled by a power of two when s is near overflow in double, so that r is right there.
// Special values: as the formula gives. A row with an infinity and no NaN has mean +-infinity (NaN for both signs; a
// Welford kernel gives NaN: that too) and NaN in R and y; a NaN gives NaN everywhere.
#pragma once

#include <cmath>
#include <cstdint>

#include "reference/math/bounds.h"
#include "reference/math/elementary.h"
#include "reference/rows.h"
#include "reference/rule.h"

namespace assay::layernorm {

// Exact moments of a row, to double precision.
struct Moments {
  double mean_magnitude = 0;  // mean |s|
  double mean_square = 0;     // mean s^2
  double variance = 0;        // mean c^2
};

// How the formula is computed.
struct Arithmetic {
  double u = 0;
  double gamma = 0;      // gamma_(h+4)
  double rsqrt = 0;      // relative error of 1/sqrt
  double underflow = 0;  // absolute, of one operation
};

struct RowErrors {
  double mean = 0;               // M
  double deviation = 0;          // of the factor R
  double largest_deviation = 0;  // R'
};

// `root`: sqrt(epsilon), also where epsilon is below what a double holds.
ASSAY_HD inline RowErrors row_errors(const Arithmetic& a, const Moments& m, double deviation, double epsilon,
                                     double root) {
  RowErrors e;
  const double sigma = std::sqrt(m.variance), rms = std::sqrt(m.mean_square);
  e.mean = add_underflow(a.gamma * m.mean_magnitude, a.underflow, 2);
  const double own = a.u * (1 + 2 * a.u) * rms + a.u * (sigma + e.mean) + 2 * a.underflow;
  const double spread = 2 * sigma * own + (e.mean + own) * (e.mean + own);
  const double variance = spread + a.gamma * (m.variance + spread) + 2 * a.underflow;
  const double v = m.variance + epsilon;
  const double x = (variance + 2 * a.u * (v + variance)) / v;
  const double rsqrt = a.rsqrt + 2 * a.u;
  if (x <= 0.5) {
    const double relative = x / 2 + 0.7 * x * x;
    e.deviation = deviation * (relative + rsqrt * (1 + relative));
  } else {
    e.deviation = larger(deviation, (1 + rsqrt + 4 * a.u) / root);
  }
  e.largest_deviation = deviation + e.deviation;
  return e;
}

// Bound of |computed - y| for an element with |s|, |c|, |g| and exact y; `bias`: whether b is added.
ASSAY_HD inline double error_bound(const Arithmetic& a, const RowErrors& row, double s, double c, double g, double y,
                                   bool bias) {
  const double dc = row.mean + a.u * s + a.u * (c + row.mean + a.u * s);
  const double factor = row.largest_deviation;
  const double product = g * (dc * factor + c * row.deviation) + 3 * a.u * g * (c + dc) * factor * (1 + 2 * a.u);
  const double sum = bias ? a.u * (1 + a.u) * (std::fabs(y) + product) : 0;
  return add_underflow(product + sum, a.underflow, 4 + 4 * g * (1 + factor));
}

// One row's inputs, exact in double.
struct Row {
  const double* x = nullptr;
  const double* residual = nullptr;
  const double* gamma = nullptr;
  const double* beta = nullptr;  // null: none
  int64_t cols = 0;              // at least 1
  double epsilon = 0;
};

// Where one row's results go: an array an element, or a place for one number.
struct Result {
  double *y_hi, *y_lo, *y_error;
  double *sum_magnitude, *centred_magnitude;  // |s_i| and |c_i|
  double *mean_hi, *mean_lo, *mean_error;
  double *deviation_hi, *deviation_lo, *deviation_error;
};

// x may be y_hi, and residual y_lo.
template <class Real, class Team = Alone>
ASSAY_HD Moments layernorm_row(const Row& row, const Result& out, const Team& team = {}) {
  double largest = 0;
  for (int64_t i = team.begin(); i < row.cols; i += team.step()) {
    largest = larger(largest, larger(std::fabs(row.x[i]), std::fabs(row.residual[i])));
  }
  largest = team.largest(largest);
  const double down = is_finite(largest) && largest > 0x1p400 ? 0x1p-600 : 1;
  const double up = 1 / down, n = static_cast<double>(row.cols);

  Moments m;
  typename Team::template Sum<Real> sum, centred_squares;
  typename Team::template Sum<double> magnitudes, squares;
  for (int64_t i = team.begin(); i < row.cols; i += team.step()) {
    const Real s = Real(row.x[i] * down) + row.residual[i] * down;
    const double magnitude = std::fabs(high_part(s));
    sum.add(i, s);
    magnitudes.add(i, magnitude);
    squares.add(i, magnitude * magnitude);
    out.y_hi[i] = high_part(s);
    out.y_lo[i] = low_part(s);
    out.sum_magnitude[i] = magnitude;
  }
  const Real mean = team.total(sum) / n;
  for (int64_t i = team.begin(); i < row.cols; i += team.step()) {
    const Real c = from_parts<Real>(out.y_hi[i], out.y_lo[i]) - mean;
    centred_squares.add(i, c * c);
    out.y_hi[i] = high_part(c);
    out.y_lo[i] = low_part(c);
    out.centred_magnitude[i] = std::fabs(high_part(c));
  }
  const Real variance = team.total(centred_squares) / n;
  const double epsilon = row.epsilon * down * down;  // may be too small for a double, which shows beside zero alone
  const Real deviation =
      Real(1.0) / (high_part(variance) == 0 ? square_root(Real(row.epsilon)) * down : square_root(variance + epsilon));
  m.mean_magnitude = team.total(magnitudes) / n;
  m.mean_square = team.total(squares) / n;
  m.variance = high_part(variance);

  const double u = kRoundoff<Real>;
  const Arithmetic own{
      .u = u, .gamma = gamma_n(LaneSum<Real>::depth(row.cols) + 4, u), .rsqrt = rsqrt_error(u), .underflow = 0x1p-1074};
  const RowErrors errors = row_errors(own, m, high_part(deviation), epsilon, std::sqrt(row.epsilon) * down);
  for (int64_t i = team.begin(); i < row.cols; i += team.step()) {
    const Real c = from_parts<Real>(out.y_hi[i], out.y_lo[i]);
    const Real scaled = c * deviation * row.gamma[i];
    const Real y = row.beta == nullptr ? scaled : scaled + row.beta[i];
    out.y_hi[i] = one_nan(high_part(y));
    out.y_lo[i] = low_part(y);
    out.y_error[i] = one_nan(error_bound(own, errors, out.sum_magnitude[i], out.centred_magnitude[i],
                                         std::fabs(row.gamma[i]), high_part(y), row.beta != nullptr));
    out.sum_magnitude[i] = one_nan(out.sum_magnitude[i] * up);
    out.centred_magnitude[i] = one_nan(out.centred_magnitude[i] * up);
  }
  const double mean_hi = one_nan(high_part(mean) * up);
  *out.mean_hi = mean_hi;
  *out.mean_lo = is_finite(mean_hi) ? low_part(mean) * up : 0;
  *out.mean_error = one_nan(errors.mean * up);
  *out.deviation_hi = one_nan(high_part(deviation) * down);
  *out.deviation_lo = low_part(deviation) * down;
  *out.deviation_error = one_nan(errors.deviation * down + 0x1p-1073);
  return {one_nan(m.mean_magnitude * up), one_nan(m.mean_square * up * up), one_nan(m.variance * up * up)};
}

// Order of Reference::conditions: one value a row in every output; of y also |s| and |c| of every element and |gamma|
// of every column.
enum Condition : int {
  kMeanMagnitude,
  kMeanSquare,
  kVariance,
  kDeviation,
  kRowConditions,
  kSum = kRowConditions,
  kCentred,
  kFactor,
  kConditions
};
inline constexpr Per kPer[kConditions] = {Per::row,     Per::row,     Per::row,   Per::row,
                                          Per::element, Per::element, Per::column};

enum class Output { y, mean, rstd };

// What a contract makes of the bound: everything that does not depend on the row.
struct Rule {
  struct Row {
    RowErrors errors;
    bool overflows;
  };

  Output output = Output::y;
  Arithmetic arithmetic;
  IntermediateError narrowing;  // on the way to the output
  double n = 0, epsilon = 0;
  double limit = 0;  // of intermediates
  bool depth_known = false;
  bool bias = false;

  ASSAY_HD Row of_row(const double* k) const {
    const Moments moments{k[kMeanMagnitude], k[kMeanSquare], k[kVariance]};
    const bool sum_overflows = !(n * moments.mean_magnitude < limit);
    return {row_errors(arithmetic, moments, k[kDeviation], epsilon, std::sqrt(epsilon)),
            sum_overflows || (output != Output::mean && !(n * moments.variance < limit))};
  }

  ASSAY_HD ElementBound operator()(const Row& row, double hi, double, const double* k) const {
    double e = output == Output::mean ? row.errors.mean : row.errors.deviation;
    bool factor_overflows = false;
    if (output == Output::y) {
      const double factor = k[kFactor];
      e = error_bound(arithmetic, row.errors, k[kSum], k[kCentred], factor, hi, bias);
      factor_overflows = factor * std::fmax(1, k[kCentred]) * std::fmax(1, row.errors.largest_deviation) >= limit;
    }
    // An infinite mean is a NaN where it is updated step by step. A NaN comes from the inputs, and must come out.
    const bool is_nan = !(hi == hi);
    const bool is_infinite = std::fabs(hi) == kInfinity;
    ElementBound b{0, depth_known ? Evidence::rigorous : Evidence::weak};
    if (is_infinite && output == Output::mean) {
      b.evidence = Evidence::or_nan;
    } else if (!is_nan && (row.overflows || factor_overflows || is_infinite)) {
      b.evidence = Evidence::no_evidence;
    }
    b.e_alg = row.overflows || !(e < kInfinity) ? kInfinity : e + narrowing.of(hi, e);
    return b;
  }
};

Rule rule_of(const Case& c, const Contract& contract, Output output);

}  // namespace assay::layernorm
