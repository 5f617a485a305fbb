// How one output element is judged (the rules stand in accuracy.h) and how the statistics of a tensor are summed: one
// source for host and device, the same bits on both.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "check/enclosure.h"
#include "core/op.h"
#include "record/record.h"

namespace assay {

// Larger values of q are reported as this, so that sums of squares stay finite.
inline constexpr double kLargestQ = 1e100;

// A bound no larger than this comes from underflow terms and is as good as the format: it is not called vacuous where r
// is zero or tiny (masked softmax).
inline constexpr double kUnderflowLevel = 0x1p-100;

inline constexpr int kHistogramBins = static_cast<int>(kErrorHistogramEdges.size()) + 1;

// What an element is judged by.
struct Expected {
  double hi = 0, lo = 0, e_ref = 0, e_alg = 0;
  Evidence evidence = Evidence::rigorous;
};
struct JudgeRules {
  bool nan_unspecified = false;  // the contract's NaN policy
  bool bitwise = false;          // Reference::bitwise
};

struct Judged {
  Evidence counted = Evidence::exact;  // the tier it is counted in
  bool failed = false;
  bool vacuous = false;
  bool rounded = false;     // has a distance from round(r): r and got are finite, and it is evidence
  bool misrounded = false;  // got != round(r)
  bool has_q = false;
  double ulps = 0;      // got - round(r), in units of the type
  double signed_q = 0;  // (got - r) / E
  double want = 0, bound = 0;
};

namespace detail {

ASSAY_HD inline bool finite(double x) { return std::fabs(x) <= std::numeric_limits<double>::max(); }

// The bucket of kErrorHistogramEdges, whose second and later edges are consecutive powers of two.
ASSAY_HD inline int histogram_bin(double q) {
  constexpr int kLast = kHistogramBins - 1;
  static_assert(kErrorHistogramEdges[0] == 0 && kErrorHistogramEdges[1] == 0x1p-12 &&
                kErrorHistogramEdges[kLast - 1] == 0x1p6 && kLast == 1 + 19);
  if (q == 0) return 0;
  const auto bits = std::bit_cast<uint64_t>(q);
  const int floor_log2 = static_cast<int>(bits >> 52) - 1023;
  const int bin = floor_log2 + ((bits & ((uint64_t{1} << 52) - 1)) != 0) + 13;
  return bin < 1 ? 1 : bin > kLast ? kLast : bin;
}

// position(got) - position(want), which for the ends of f64 takes 65 bits, rounded once.
template <DType T>
ASSAY_HD double distance_in_ulps(double got, double want) {
  const int64_t a = position<T>(got), b = position<T>(want);
  if ((a < 0) == (b < 0)) return static_cast<double>(a - b);
  const uint64_t apart = static_cast<uint64_t>(a < 0 ? -a : a) + static_cast<uint64_t>(b < 0 ? -b : b);
  return a < 0 ? -static_cast<double>(apart) : static_cast<double>(apart);
}

// Whether a `got` that is not finite is allowed whatever r is.
ASSAY_HD inline bool is_excused(Evidence evidence, double got) {
  const bool is_nan = !(got == got);  // NOLINT(misc-redundant-expression): of a NaN alone
  return evidence == Evidence::no_evidence ? !finite(got) : evidence == Evidence::or_nan && is_nan;
}

ASSAY_HD inline Evidence counted_as(Evidence evidence) {
  return evidence == Evidence::or_nan ? Evidence::no_evidence : evidence;
}

// r is a NaN or an infinity.
template <DType T>
ASSAY_HD Judged judge_special(const Expected& r, double got, const JudgeRules& rules) {
  Judged j;
  j.want = r.hi;
  const bool r_nan = !(r.hi == r.hi);  // NOLINT(misc-redundant-expression): of a NaN alone
  const bool anything_goes = r_nan && rules.nan_unspecified;
  if (counted_as(r.evidence) == Evidence::no_evidence || anything_goes) {
    j.counted = Evidence::no_evidence;
    if (anything_goes || is_excused(r.evidence, got)) return j;
  }
  if constexpr (!is_float(T)) {
    j.failed = !(got == (r_nan ? 0 : round_extended<T>(r.hi)));
  } else if constexpr (T == DType::e4m3) {
    j.failed = got == got;
  } else {
    j.failed = !(r_nan ? !(got == got) : got == r.hi);
  }
  return j;
}

}  // namespace detail

template <DType T>
ASSAY_HD Judged judge_element(const Expected& r, double got, const JudgeRules& rules) {
  if (!detail::finite(r.hi)) return detail::judge_special<T>(r, got, rules);
  Judged j;
  j.counted = detail::counted_as(r.evidence);
  const double e = r.evidence == Evidence::exact ? r.e_ref : detail::sum_up(r.e_alg, r.e_ref);
  j.bound = e;
  j.want = r.hi + r.lo;
  const bool counts_bound = r.evidence == Evidence::rigorous || r.evidence == Evidence::weak;
  j.vacuous = counts_bound && e >= std::fabs(r.hi) && e > kUnderflowLevel;

  const double nearest = detail::rounded<T>(r.hi, r.lo);
  bool inside = got == nearest && e >= 0;  // rounding is monotone: no need to form the interval
  if (!inside) {
    const Interval interval = enclosure<T>(r.hi, r.lo, e);
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const bool open_end = interval.low == -kInfinity || interval.high == kInfinity;
    const bool is_end = T == DType::e4m3 && open_end && !detail::finite(got);
    inside = holds(interval, got) || is_end || detail::is_excused(r.evidence, got);
  }
  const bool wrong_zero = rules.bitwise && got == 0 && std::signbit(got) != std::signbit(r.hi);
  j.failed = !inside || wrong_zero;
  if (!detail::finite(got) || j.counted == Evidence::no_evidence) return j;

  j.rounded = true;
  j.misrounded = got != nearest;
  if (j.misrounded) j.ulps = detail::distance_in_ulps<T>(got, nearest);
  if (e > 0 && detail::finite(e)) {
    j.has_q = true;
    const double q = ((got - r.hi) - r.lo) / e;
    j.signed_q = std::fabs(q) > kLargestQ ? std::copysign(kLargestQ, q) : q;
  }
  return j;
}

// The sums behind means. Floating-point sums depend on their order, so it is fixed: a block of kBlock elements in
// logical order has kLanes running sums, each over every kLanes-th element; those are added by halving, and blocks one
// after the other.
struct ErrorSums {
  static constexpr int kLanes = 32;
  static constexpr int64_t kBlock = 2048;

  double q2 = 0, q = 0, ulps = 0;

  ASSAY_HD void add(const Judged& j) {
    q2 += j.signed_q * j.signed_q;
    q += j.signed_q;
    if (j.misrounded) ulps += j.ulps;
  }
  ASSAY_HD void add(const ErrorSums& other) {
    q2 += other.q2;
    q += other.q;
    ulps += other.ulps;
  }
};

// What a block's lanes come to.
inline ErrorSums sum_of_lanes(ErrorSums (&lanes)[ErrorSums::kLanes]) {
  for (int half = ErrorSums::kLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) lanes[lane].add(lanes[lane + half]);
  }
  return lanes[0];
}

// What is counted, in any order.
struct ErrorCounts {
  int64_t tier[4] = {};  // by Judged::counted
  int64_t failures = 0, vacuous = 0, rounded = 0, misrounded = 0, with_q = 0;
  int64_t histogram[kHistogramBins] = {};

  void add(const ErrorCounts& other) {
    for (int i = 0; i < 4; ++i) tier[i] += other.tier[i];
    failures += other.failures;
    vacuous += other.vacuous;
    rounded += other.rounded;
    misrounded += other.misrounded;
    with_q += other.with_q;
    for (int i = 0; i < kHistogramBins; ++i) histogram[i] += other.histogram[i];
  }
};

// The element that a summary shows.
struct WorstElement {
  int64_t index = -1;
  double q = 0;
  double got = 0, want = 0, bound = 0;
};

// `worst`: the first failure, or the first of the largest q when nothing fails.
void summarise(const ErrorCounts& counts, const ErrorSums& sums, double max_q, const WorstElement& worst,
               ErrorSummary& summary);

}  // namespace assay
