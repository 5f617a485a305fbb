#include "check/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "check/enclosure.h"
#include "check/rows.h"
#include "core/error.h"
#include "record/verdict.h"

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool finite(double x) { return std::fabs(x) <= std::numeric_limits<double>::max(); }

// The bucket of kErrorHistogramEdges, whose second and later edges are consecutive powers of two.
size_t histogram_bin(double q) {
  constexpr int kLast = static_cast<int>(kErrorHistogramEdges.size());
  static_assert(kErrorHistogramEdges[0] == 0 && kErrorHistogramEdges[1] == 0x1p-12 &&
                kErrorHistogramEdges[kLast - 1] == 0x1p6 && kLast == 1 + 19);
  if (q == 0) return 0;
  const auto bits = std::bit_cast<uint64_t>(q);
  const int floor_log2 = static_cast<int>(bits >> 52) - 1023;
  const int ceil_log2 = floor_log2 + ((bits & ((uint64_t{1} << 52) - 1)) != 0);
  return static_cast<size_t>(std::clamp(ceil_log2 + 13, 1, kLast));
}

// Running sums of one tensor; the summary takes their means at the end.
struct Totals {
  int64_t with_bound = 0;  // elements that have a q
  int64_t rounded = 0;     // elements whose ulps are counted
  int64_t misrounded = 0;
  double sum_q2 = 0, sum_signed_q = 0, sum_signed_ulps = 0;
};

template <DType T>
class Judge {
 public:
  Judge(const Reference& reference, const Bounds& bounds, const Contract& contract, ErrorSummary& summary)
      : reference_(reference),
        bounds_(bounds),
        nan_unspecified_(contract.nan_policy == ASSAY_NAN_UNSPECIFIED),
        summary_(summary) {}

  void element(int64_t i, double got) {
    const auto at = static_cast<size_t>(i);
    const double hi = reference_.hi[at];
    const double lo = reference_.lo[at];
    const Evidence evidence = bounds_.evidence[at];
    if (!finite(hi)) {
      special(i, hi, got, evidence);
      return;
    }
    const double e =
        evidence == Evidence::exact ? reference_.e_ref[at] : detail::sum_up(bounds_.e_alg[at], reference_.e_ref[at]);
    count(evidence, hi, e);
    const Interval interval = enclosure<T>(hi, lo, e);
    if (!(holds(interval, got) && zero_sign_right(hi, got)) && !excused(interval, got, evidence)) {
      fail(i, got, hi + lo, e);
    }
    if (finite(got) && evidence != Evidence::no_evidence) measure(i, got, hi, lo, e);
  }

  void finish() {
    if (totals_.with_bound > 0) {
      summary_.histogram.assign(histogram_.begin(), histogram_.end());
      const auto n = static_cast<double>(totals_.with_bound);
      summary_.rms_q = std::sqrt(totals_.sum_q2 / n);
      summary_.mean_signed_q = totals_.sum_signed_q / n;
    }
    if (totals_.rounded > 0) {
      const auto n = static_cast<double>(totals_.rounded);
      summary_.misrounded = static_cast<double>(totals_.misrounded) / n;
      summary_.mean_signed_ulps = totals_.sum_signed_ulps / n;
    }
  }

 private:
  void special(int64_t i, double hi, double got, Evidence evidence) {
    const bool r_nan = !(hi == hi);
    if (evidence == Evidence::no_evidence || (r_nan && nan_unspecified_)) {
      ++summary_.no_evidence;
      if ((r_nan && nan_unspecified_) || !finite(got)) return;
    } else {
      ++summary_.exact;
    }
    bool right;
    if constexpr (!is_float(T)) {
      right = got == (r_nan ? 0 : round_extended<T>(hi));
    } else if constexpr (T == DType::e4m3) {
      right = !(got == got);
    } else {
      right = r_nan ? !(got == got) : got == hi;
    }
    if (!right) fail(i, got, hi, 0);
  }

  void count(Evidence evidence, double hi, double e) {
    switch (evidence) {
      case Evidence::exact:
        ++summary_.exact;
        return;
      case Evidence::no_evidence:
        ++summary_.no_evidence;
        return;
      case Evidence::weak:
        ++summary_.weak;
        break;
      case Evidence::rigorous:
        ++summary_.rigorous;
        break;
    }
    if (e >= std::fabs(hi) && e > kUnderflowLevel) ++summary_.vacuous;
  }

  bool zero_sign_right(double hi, double got) const {
    return !reference_.bitwise || got != 0 || std::signbit(got) == std::signbit(hi);
  }

  // What is allowed outside the interval.
  bool excused(const Interval& interval, double got, Evidence evidence) const {
    if (finite(got)) return false;
    if (evidence == Evidence::no_evidence) return true;
    return T == DType::e4m3 && (interval.low == -kInfinity || interval.high == kInfinity);
  }

  void fail(int64_t i, double got, double want, double e) {
    if (summary_.failures++ == 0) worst(i, got, want, e);
  }

  void worst(int64_t i, double got, double want, double e) {
    summary_.worst_index = i;
    summary_.worst_got = got;
    summary_.worst_want = want;
    summary_.worst_bound = e;
  }

  void measure(int64_t i, double got, double hi, double lo, double e) {
    const double want = detail::rounded_sum<T>(hi, lo, 0);
    ++totals_.rounded;
    if (got != want) {
      ++totals_.misrounded;
      const auto from = static_cast<__int128>(position<T>(want));  // ends of f64 lie too far apart for 64 bits
      totals_.sum_signed_ulps += static_cast<double>(position<T>(got) - from);
    }
    if (!(e > 0 && finite(e))) return;
    const double signed_q = std::clamp(((got - hi) - lo) / e, -kLargestQ, kLargestQ);
    const double q = std::fabs(signed_q);
    ++totals_.with_bound;
    totals_.sum_q2 += q * q;
    totals_.sum_signed_q += signed_q;
    ++histogram_[histogram_bin(q)];
    if (q > summary_.max_q || summary_.worst_index < 0) {
      summary_.max_q = q;
      if (summary_.failures == 0) worst(i, got, hi + lo, e);
    }
  }

  const Reference& reference_;
  const Bounds& bounds_;
  const bool nan_unspecified_;
  ErrorSummary& summary_;
  Totals totals_;
  std::array<int64_t, kErrorHistogramEdges.size() + 1> histogram_{};
};

}  // namespace

ErrorSummary judge_accuracy(const TensorSpec& spec, const std::byte* got, const Reference& reference,
                            const Bounds& bounds, const Contract& contract) {
  const auto n = static_cast<size_t>(spec.elements());
  if (reference.hi.size() != n || reference.lo.size() != n || reference.e_ref.size() != n || bounds.e_alg.size() != n ||
      bounds.evidence.size() != n) {
    throw Error(fmt::format("accuracy of {}: {} elements, but the oracle has {}, {}, {} (hi, lo, e_ref), bounds {}, {}",
                            spec.name, n, reference.hi.size(), reference.lo.size(), reference.e_ref.size(),
                            bounds.e_alg.size(), bounds.evidence.size()));
  }
  if (reference.dtype != spec.dtype || reference.tensor != spec.name) {
    throw Error(fmt::format("accuracy of {} ({}): the oracle answers for {} ({})", spec.name, name_of(spec.dtype),
                            reference.tensor, name_of(reference.dtype)));
  }
  ErrorSummary summary{.tensor = spec.name, .elements = static_cast<int64_t>(n)};
  with_dtype(spec.dtype, [&](auto type) {
    constexpr DType T = decltype(type)::value;
    Judge<T> judge(reference, bounds, contract, summary);
    for_each_row(spec, [&](const Row& row) {
      for (int64_t j = 0; j < row.count; ++j) judge.element(row.logical + j, load(T, got, row.offset + j * row.stride));
    });
    judge.finish();
  });
  return summary;
}

CheckResult accuracy_check(std::span<const ErrorSummary> outputs) {
  int64_t elements = 0, exact = 0, rigorous = 0, weak = 0, vacuous = 0, no_evidence = 0;
  double max_q = 0;
  for (const ErrorSummary& s : outputs) {
    if (s.failures > 0) {
      return check_result("accuracy", Outcome::fail,
                          fmt::format("{}[{}] got {} want {} bound {} ({}); {} of {} elements fail", s.tensor,
                                      s.worst_index, s.worst_got, s.worst_want, s.worst_bound,
                                      s.worst_bound > 0 ? "T1" : "T0", s.failures, s.elements));
    }
    elements += s.elements;
    exact += s.exact;
    rigorous += s.rigorous;
    weak += s.weak;
    vacuous += s.vacuous;
    no_evidence += s.no_evidence;
    max_q = std::max(max_q, s.max_q);
  }
  if (outputs.empty()) return check_result("accuracy", Outcome::skipped, "no output was judged");
  if (exact + rigorous + weak + no_evidence != elements) {
    throw Error(fmt::format("accuracy: {} elements but {} judged", elements, exact + rigorous + weak + no_evidence));
  }
  const std::string counts = fmt::format("T0 {}, T1 {}, unknown depth {}, vacuous {}, no evidence {}; max q {:.3g}",
                                         exact, rigorous, weak, vacuous, no_evidence, max_q);
  const bool says_little = elements > 0 && 2 * (elements - vacuous - no_evidence) < elements;
  return check_result("accuracy", weak > 0 || says_little ? Outcome::weak : Outcome::pass, counts);
}

SeedStatistics seed_statistics(uint64_t seed, std::span<const ErrorSummary> outputs) {
  SeedStatistics s{.seed = seed};
  double elements = 0, sum_q2 = 0;
  for (const ErrorSummary& output : outputs) {
    const auto n = static_cast<double>(output.elements);
    elements += n;
    s.misrounded += n * output.misrounded;
    s.mean_signed_ulps += n * output.mean_signed_ulps;
    s.mean_signed_q += n * output.mean_signed_q;
    sum_q2 += n * output.rms_q * output.rms_q;
  }
  if (elements == 0) return s;
  s.misrounded /= elements;
  s.mean_signed_ulps /= elements;
  s.mean_signed_q /= elements;
  s.rms_q = std::sqrt(sum_q2 / elements);
  return s;
}

}  // namespace assay
