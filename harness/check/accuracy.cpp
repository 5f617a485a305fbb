#include "check/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "check/rows.h"
#include "core/error.h"
#include "record/verdict.h"

namespace assay {
namespace {

// Elements one after the other, from the first.
template <DType T>
class Judge {
 public:
  Judge(const Reference& reference, const Bounds& bounds, const Contract& contract)
      : reference_(reference),
        bounds_(bounds),
        rules_{.nan_unspecified = contract.nan_policy == ASSAY_NAN_UNSPECIFIED, .bitwise = reference.bitwise} {}

  void element(int64_t i, double got) {
    const auto at = static_cast<size_t>(i);
    const Judged j = judge_element<T>(
        {reference_.hi[at], reference_.lo[at], reference_.e_ref[at], bounds_.e_alg[at], bounds_.evidence[at]}, got,
        rules_);
    ++counts_.tier[static_cast<size_t>(j.counted)];
    counts_.vacuous += j.vacuous;
    counts_.rounded += j.rounded;
    counts_.misrounded += j.misrounded;
    lanes_[i % ErrorSums::kLanes].add(j);
    if (j.failed && counts_.failures++ == 0) failure_ = {i, 0, got, j.want, j.bound};
    if (j.has_q) {
      const double q = std::fabs(j.signed_q);
      ++counts_.with_q;
      ++counts_.histogram[detail::histogram_bin(q)];
      if (q > worst_.q || worst_.index < 0) worst_ = {i, q, got, j.want, j.bound};
    }
    if ((i + 1) % ErrorSums::kBlock == 0) close_block();
  }

  void finish(ErrorSummary& summary) {
    close_block();
    summarise(counts_, sums_, worst_.q, counts_.failures > 0 ? failure_ : worst_, summary);
  }

 private:
  void close_block() {
    sums_.add(sum_of_lanes(lanes_));
    for (ErrorSums& lane : lanes_) lane = {};
  }

  const Reference& reference_;
  const Bounds& bounds_;
  const JudgeRules rules_;
  ErrorCounts counts_;
  ErrorSums sums_, lanes_[ErrorSums::kLanes];
  WorstElement failure_, worst_;
};

}  // namespace

void summarise(const ErrorCounts& counts, const ErrorSums& sums, double max_q, const WorstElement& worst,
               ErrorSummary& summary) {
  const auto tier = [&counts](Evidence e) { return counts.tier[static_cast<size_t>(e)]; };
  summary.exact = tier(Evidence::exact);
  summary.rigorous = tier(Evidence::rigorous);
  summary.weak = tier(Evidence::weak);
  summary.no_evidence = tier(Evidence::no_evidence);
  summary.vacuous = counts.vacuous;
  summary.failures = counts.failures;
  summary.max_q = max_q;
  if (counts.with_q > 0) {
    const auto n = static_cast<double>(counts.with_q);
    summary.histogram.assign(std::begin(counts.histogram), std::end(counts.histogram));
    summary.rms_q = std::sqrt(sums.q2 / n);
    summary.mean_signed_q = sums.q / n;
  }
  if (counts.rounded > 0) {
    const auto n = static_cast<double>(counts.rounded);
    summary.misrounded = static_cast<double>(counts.misrounded) / n;
    summary.mean_signed_ulps = sums.ulps / n;
  }
  summary.worst_index = worst.index;
  summary.worst_got = worst.got;
  summary.worst_want = worst.want;
  summary.worst_bound = worst.bound;
}

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
    Judge<T> judge(reference, bounds, contract);
    for_each_row(spec, [&](const Row& row) {
      for (int64_t j = 0; j < row.count; ++j) judge.element(row.logical + j, load(T, got, row.offset + j * row.stride));
    });
    judge.finish(summary);
  });
  return summary;
}

void append(ErrorSummary& all, const ErrorSummary& more) {
  const auto with_q = [](const ErrorSummary& s) {
    return static_cast<double>(std::accumulate(s.histogram.begin(), s.histogram.end(), int64_t{0}));
  };
  const double before = with_q(all), added = with_q(more), n = before + added;
  if (n > 0) {
    const auto mean = [&](double a, double b) { return (a * before + b * added) / n; };
    all.rms_q = std::sqrt(mean(all.rms_q * all.rms_q, more.rms_q * more.rms_q));
    all.mean_signed_q = mean(all.mean_signed_q, more.mean_signed_q);
    all.misrounded = mean(all.misrounded, more.misrounded);
    all.mean_signed_ulps = mean(all.mean_signed_ulps, more.mean_signed_ulps);
  }
  const bool is_worse = more.failures > 0 || more.max_q > all.max_q || all.worst_index < 0;
  if (all.failures == 0 && is_worse && more.worst_index >= 0) {
    all.worst_index = all.elements + more.worst_index;
    all.worst_got = more.worst_got;
    all.worst_want = more.worst_want;
    all.worst_bound = more.worst_bound;
  }
  all.max_q = std::max(all.max_q, more.max_q);
  for (int64_t ErrorSummary::*count :
       {&ErrorSummary::elements, &ErrorSummary::exact, &ErrorSummary::rigorous, &ErrorSummary::weak,
        &ErrorSummary::vacuous, &ErrorSummary::no_evidence, &ErrorSummary::failures}) {
    all.*count += more.*count;
  }
  if (all.histogram.empty()) {
    all.histogram = more.histogram;
  } else if (!more.histogram.empty()) {
    std::transform(all.histogram.begin(), all.histogram.end(), more.histogram.begin(), all.histogram.begin(),
                   std::plus<>());
  }
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
