#include "gate/canary_latency.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr double kErrorASide = 0.025;

// In how many of all orders of the two samples U, the number of pairs of which the second is greater, is u: the
// recursion of Mann and Whitney, "On a test of whether one of two random variables is stochastically larger than the
// other" (1947), over one value of the first sample after another.
std::vector<double> orders_by_u(size_t first, size_t second) {
  // Gaussian binomial coefficient: the product of (1 - q^(second + i)) / (1 - q^i), i = 1 .. first.
  std::vector<double> ways(first * second + 1, 0);
  ways[0] = 1;
  for (size_t i = 1; i <= first; ++i) {
    for (size_t u = ways.size(); u-- > second + i;) ways[u] -= ways[u - second - i];
    for (size_t u = i; u < ways.size(); ++u) ways[u] += ways[u - i];
  }
  return ways;
}

double median(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

struct Limits {
  double delta;  // what rejects, as a delta of the metric
  const char* kind;
};

Limits limits_of(LatencyMetric metric, const CanaryPolicy& policy) {
  if (is_fraction(metric)) return {delta_of(metric, policy.tail), "tail"};
  return {delta_of(metric, policy.slower), "slower"};
}

std::string interval_text(LatencyMetric metric, const LatencyReading& reading) {
  const auto shown = [&](double bound) {
    return std::isfinite(bound) ? change_text(metric, bound) : std::string(bound < 0 ? "-inf" : "+inf");
  };
  return fmt::format("{} {}, 95 % from {} to {}, {} blocks", word_of(metric), change_text(metric, reading.estimate),
                     shown(reading.interval.lower), shown(reading.interval.upper), reading.blocks);
}

// An interval of a class that is noisy, or that nobody has calibrated, says little of tails, and a canary does not wait
// for it: only what it seems to be is held.
bool is_only_not_known(LatencyMetric metric, const PairResult& pair, const Margin& margin, double limit) {
  return is_fraction(metric) && margin.blind && pair.reading.blocks > 0 && pair.reading.estimate < limit;
}

// Cut off while it was asked whether it is faster, and for no other reason that keeps a pair below its margin open.
bool is_only_faster_perhaps(const PairResult& pair, const Margin& margin) {
  const LatencyReading& reading = pair.reading;
  return reading.blocks > 0 && reading.upper < margin.margin && reading.p_slower >= kSuspicion &&
         (pair.confirmed || !pair.needs_fresh);
}

// Why one whose reading lies below the margin is undecided.
std::string why_not_yet(const PairResult& pair, const Margin& margin) {
  if (pair.reading.blocks == 0 || !(pair.reading.upper < margin.margin)) return {};
  if (pair.reading.p_slower < kSuspicion)
    return fmt::format(", slower perhaps (p {:.1g} that it is not)", pair.reading.p_slower);
  return ", fresh blocks were to confirm it";
}

// Of what passes by a margin that is blind to the policy's, the case that may still have grown by most.
struct MostUnseen {
  std::string id;
  double delta = -std::numeric_limits<double>::infinity();
};

// No block at all was had of its median, nor then of anything else.
bool is_unread(const CaseResult& of) {
  const PairResult& median = of.pairs[static_cast<size_t>(LatencyMetric::p50)];
  return median.outcome == LatencyOutcome::inconclusive && median.reading.blocks == 0;
}

}  // namespace

GatedCase with_canary_margins(GatedCase gated, bool is_calibrated, const CanaryPolicy& policy) {
  const bool is_sampled = gated.latency_class.find("/warm/below-") != std::string::npos;
  for (const LatencyMetric metric : kLatencyMetrics) {
    Margin& margin = gated.margins[static_cast<size_t>(metric)];
    const double limit = limits_of(metric, policy).delta;
    if (is_fraction(metric) && !margin.gates && is_sampled) {
      margin = {
          .gates = true, .least = limit / 2, .margin = limit, .blind = true, .unproven = true, .note = margin.note};
    } else if (!is_fraction(metric) && !is_calibrated) {
      margin.unproven = !margin.gates;
      margin.gates = true;
      margin.margin = limit;
    }
    if (!margin.gates || margin.margin <= limit) continue;
    margin.margin = limit;
    margin.note += ", and a canary's " + change_text(metric, limit);
  }
  return gated;
}

std::vector<CanaryReason> latency_reasons(const Comparison& latency, const CanaryPolicy& policy, bool out_of_time) {
  std::vector<CanaryReason> reasons;
  const auto add = [&](CanaryVerdict asks, std::string kind, const std::string& what, std::string text) {
    reasons.push_back({asks, std::move(kind), what.substr(0, what.find(':')), what, std::move(text)});
  };
  if (!latency.invalid.empty()) add(CanaryVerdict::invalid, "voids", "", latency.invalid);
  int64_t not_gated = 0;
  PerMetric<MostUnseen> most_unseen{};
  for (const CaseResult& of : latency.result.cases) {
    for (const LatencyMetric metric : kLatencyMetrics) {
      const auto i = static_cast<size_t>(metric);
      const PairResult& pair = of.pairs[i];
      const Limits limits = limits_of(metric, policy);
      const std::string text = interval_text(metric, pair.reading);
      switch (pair.outcome) {
        case LatencyOutcome::regress:
          // An earlier gate's call comes without its reading: nothing says that it was of so much.
          if (pair.reading.blocks > 0 && pair.reading.interval.lower > limits.delta) {
            add(CanaryVerdict::reject, limits.kind, of.id,
                fmt::format("{}: more than {} with confidence", text, change_text(metric, limits.delta)));
          } else {
            add(CanaryVerdict::hold, limits.kind, of.id,
                fmt::format("{}slower beyond doubt{}", pair.reading.blocks > 0 ? text + ": " : "",
                            pair.reason.empty() ? "" : "; " + pair.reason));
          }
          break;
        case LatencyOutcome::inconclusive:
          if (is_only_faster_perhaps(pair, of.margins[i])) break;
          if (pair.reading.blocks == 0 && metric != LatencyMetric::p50 && is_unread(of)) break;  // its median says so
          if (is_only_not_known(metric, pair, of.margins[i], limits.delta)) {
            ++not_gated;
          } else {
            const bool seems_to_reject = pair.reading.blocks > 0 && pair.reading.interval.lower > limits.delta;
            add(CanaryVerdict::hold, seems_to_reject ? limits.kind : "unknown", of.id,
                fmt::format("inconclusive, {}{}{}", pair.reading.blocks > 0 ? text : "no look was had",
                            why_not_yet(pair, of.margins[i]), out_of_time ? ": the time for latency was up" : ""));
          }
          break;
        case LatencyOutcome::invalid:
          add(CanaryVerdict::invalid, "voids", of.id, pair.reason);
          break;
        case LatencyOutcome::failed:
          add(CanaryVerdict::reject, "newly-wrong", of.id, pair.reason);
          break;
        case LatencyOutcome::not_gated:
          ++not_gated;
          break;
        case LatencyOutcome::pass:
          if (of.margins[i].blind && pair.reading.upper > most_unseen[i].delta) {
            most_unseen[i] = {of.id, pair.reading.upper};
          }
          break;
        case LatencyOutcome::improved:
          break;
      }
    }
  }
  for (const Finding& finding : latency.result.findings) {
    add(CanaryVerdict::hold, finding.kind == "voids" ? "voids" : "unknown", "", finding.text);
  }
  for (const LatencyMetric metric : kLatencyMetrics) {
    const auto& [id, delta] = most_unseen[static_cast<size_t>(metric)];
    if (id.empty()) continue;
    add(CanaryVerdict::promote, "note", "",
        fmt::format(
            "not every change shows on this machine: of what passes, the {} that may have grown by most is that of "
            "{}, by {} at most at 95 % confidence",
            word_of(metric), id, change_text(metric, delta)));
  }
  if (not_gated > 0) {
    add(CanaryVerdict::promote, "note", "",
        fmt::format("{} quantiles and tails of {} timed cases are not gated: whether they moved is not known",
                    not_gated, latency.result.cases.size()));
  }
  if (latency.result.cases.empty() && latency.invalid.empty()) {
    add(CanaryVerdict::promote, "note", "", "no case of these is timed: nothing is known of their latency");
  }
  return reasons;
}

std::vector<CanaryReason> first_call_reasons(const std::vector<FirstCall>& calls, const CanaryPolicy& policy) {
  std::vector<CanaryReason> reasons;
  for (const FirstCall& call : calls) {
    if (!(call.low > 1 + policy.slower)) continue;
    reasons.push_back({CanaryVerdict::hold, "first-call", call.kernel_id.substr(0, call.kernel_id.find(':')),
                       call.kernel_id,
                       fmt::format("the first call takes {:.2f} times as long, 95 % from {:.2f} to {:.2f}: {:.1f} us, "
                                   "{:.1f} us under the pin, in {} processes each",
                                   call.ratio, call.low, call.high, call.candidate_us, call.pin_us, call.processes)});
  }
  return reasons;
}

FirstCall compare_first_calls(const std::string& kernel_id, std::span<const double> pin,
                              std::span<const double> candidate) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  FirstCall call{.kernel_id = kernel_id,
                 .processes = static_cast<int64_t>(std::min(pin.size(), candidate.size())),
                 .pin_us = median(pin),
                 .candidate_us = median(candidate),
                 .ratio = kNone,
                 .low = kNone,
                 .high = kNone};
  // A clock that did not tick measured nothing that a ratio could be of.
  const auto is_measured = [](double us) { return us > 0; };
  if (!std::ranges::all_of(pin, is_measured) || !std::ranges::all_of(candidate, is_measured)) return call;
  std::vector<double> shifts;
  for (const double before : pin) {
    for (const double now : candidate) shifts.push_back(std::log(now / before));
  }
  std::ranges::sort(shifts);
  call.ratio = std::exp(median(shifts));
  const std::vector<double> ways = orders_by_u(pin.size(), candidate.size());
  double all = 0, below = 0;
  for (const double one : ways) all += one;
  size_t outside = 0;  // of the shifts at either end: P(U < outside) is at most the error
  while (outside < ways.size() && below + ways[outside] <= kErrorASide * all) below += ways[outside++];
  if (outside == 0) return call;
  call.low = std::exp(shifts[outside - 1]);
  call.high = std::exp(shifts[shifts.size() - outside]);
  return call;
}

}  // namespace assay
