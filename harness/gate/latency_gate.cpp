#include "gate/latency_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <numeric>
#include <set>

#include "core/error.h"
#include "record/verdict.h"

namespace assay {
namespace {

constexpr double kVoidImbalance = 0.001;  // level of a finding

struct OutcomeRow {
  std::string_view word;
  int exit_code;
};
constexpr std::array<OutcomeRow, 7> kOutcomes{{{"not gated", 0},
                                               {"pass", 0},
                                               {"improved", 0},
                                               {"inconclusive", 2},
                                               {"invalid", 3},
                                               {"regress", 1},
                                               {"failed", 1}}};

std::string reason_of(LatencyMetric metric, const PairResult& result, const Margin& margin) {
  const LatencyReading& reading = result.reading;
  const std::string seen = fmt::format("{} ({} to {}) in {} blocks", change_text(metric, reading.estimate),
                                       change_text(metric, reading.interval.lower),
                                       change_text(metric, reading.interval.upper), reading.blocks);
  switch (result.outcome) {
    case LatencyOutcome::regress:
      return fmt::format("{}: more than {}, p {:.1g}", seen, change_text(metric, margin.least), reading.p_slower);
    case LatencyOutcome::improved:
      return fmt::format("{}: less than {}, p {:.1g}", seen, change_text(metric, -margin.least), reading.p_faster);
    case LatencyOutcome::inconclusive:
      return fmt::format("{}: neither below {} nor, beyond doubt, above {}", seen, change_text(metric, margin.margin),
                         change_text(metric, margin.least));
    default:
      return fmt::format("{}: below {}", seen, change_text(metric, margin.margin));
  }
}

bool is_open(const auto& state) {
  return std::ranges::any_of(state.pairs, [](const auto& pair) { return pair.open; });
}

void close(auto& pair, LatencyOutcome outcome, const std::string& reason) {
  pair.open = false;
  pair.result.outcome = outcome;
  pair.result.reason = reason;
}

void close_all(auto& state, LatencyOutcome outcome, const std::string& reason) {
  for (auto& pair : state.pairs) {
    if (pair.open) close(pair, outcome, reason);
  }
}

}  // namespace

std::string_view word_of(LatencyOutcome outcome) { return kOutcomes[static_cast<size_t>(outcome)].word; }
int exit_code_of(LatencyOutcome outcome) { return kOutcomes[static_cast<size_t>(outcome)].exit_code; }

LatencyOutcome worst_outcome(const CaseResult& of) {
  return std::ranges::max(of.pairs, {}, &PairResult::outcome).outcome;
}

std::vector<bool> holm_rejections(std::span<const double> p, double alpha) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return p[i]; });
  std::vector<bool> rejected(p.size(), false);
  for (size_t rank = 0; rank < order.size(); ++rank) {
    if (p[order[rank]] * static_cast<double>(order.size() - rank) > alpha) break;
    rejected[order[rank]] = true;
  }
  return rejected;
}

LatencyGate::LatencyGate(LatencyPolicy policy, std::vector<GatedCase> cases, AlphaLedger ledger)
    : policy_(std::move(policy)), cases_(std::move(cases)), ledger_(std::move(ledger)), states_(cases_.size()) {
  if (cases_.empty()) throw UsageError("no case to gate; name some that the base and the change both have");
  std::set<std::string> ids;
  for (size_t i = 0; i < cases_.size(); ++i) {
    const GatedCase& c = cases_[i];
    if (!ids.insert(c.id).second) throw UsageError("case '" + c.id + "' is given to the gate twice");
    for (const LatencyMetric metric : kLatencyMetrics) {
      Pair& pair = states_[i].pairs[static_cast<size_t>(metric)];
      const Margin& margin = c.margins[static_cast<size_t>(metric)];
      const LatencyPair key{c.id, metric};
      pair.open = margin.gates;
      if (!margin.gates) pair.result.reason = margin.note;
      const auto called = std::ranges::find(ledger_.regressed, key, &AlphaLedger::Called::pair);
      if (called != ledger_.regressed.end()) {
        const bool failed = !called->failure.empty();
        pair.open = false;
        pair.result = {failed ? LatencyOutcome::failed : LatencyOutcome::regress, called->reading, true,
                       "called so by an earlier gate of this base and change, and not measured again"};
        if (failed) {
          pair.result.reason += ": " + called->failure;
        } else if (called->reading.blocks > 0) {
          pair.result.reason += ": " + reason_of(metric, pair.result, margin);
        }
      }
      const auto before = std::ranges::find(ledger_.open, key, &AlphaLedger::Open::pair);
      pair.result.needs_fresh = c.is_suspect || before != ledger_.open.end();
      if (before == ledger_.open.end()) continue;
      pair.suspect = pair.open;
      pair.earlier = before->gates;
    }
  }
  budget_ = std::max(0.0, policy_.alpha - ledger_.spent) / 2;
  ++ledger_.gates;
  done_ = std::ranges::none_of(states_, is_open<State>);
}

bool LatencyGate::is_too_many(int64_t voids, int64_t of) const {
  return static_cast<double>(voids) > policy_.void_share * static_cast<double>(of);
}

bool LatencyGate::is_wanted(const State& state) const {
  return !done_ && std::ranges::any_of(state.pairs, [&](const Pair& pair) {
    const int64_t voids = state.voids + pair.lacking, counted = std::ssize(pair.deltas);
    return pair.open && (counted < target() || is_too_many(voids, counted + voids));
  });
}

std::vector<size_t> LatencyGate::wanted() const {
  std::vector<size_t> cases;
  for (size_t i = 0; i < states_.size(); ++i) {
    if (is_wanted(states_[i])) cases.push_back(i);
  }
  return cases;
}

void LatencyGate::add(std::span<const MeasuredCase> block) {
  const auto index = [](const MeasuredCase& measured) { return measured.index; };
  if (block.empty() || !std::ranges::equal(block, wanted(), {}, index)) {
    throw Error("a block of other cases than the latency gate wants");
  }
  for (const MeasuredCase& measured : block) take(measured);
  count_voids(block);
  while (!done_ && std::ranges::none_of(states_, [&](const State& state) { return is_wanted(state); })) end_look();
}

void LatencyGate::take(const MeasuredCase& measured) {
  State& state = states_[measured.index];
  if (measured.failure) {
    take_failure(state, *measured.failure);
  } else if (measured.voided) {
    take_void(state, measured.voided->why);
  } else {
    ++state.all_blocks;
    for (const LatencyMetric metric : kLatencyMetrics) take_delta(measured, metric);
  }
}

void LatencyGate::take_void(State& state, const std::string& why) {
  ++state.voids;
  ++state.all_voids[why];
  if (!is_too_many(state.voids, std::max(2 * target(), policy_.void_blocks))) return;
  std::string reason = fmt::format("too many of its blocks were void, {} were not:", state.all_blocks);
  for (const auto& [cause, count] : state.all_voids) reason += fmt::format(" {} ({})", cause, count);
  close_all(state, LatencyOutcome::invalid, reason);
}

void LatencyGate::take_failure(State& state, const KernelFailure& failure) {
  if (failure.of_base) ++state.base_failures;
  if (!failure.of_change && state.all_blocks == 0 && state.base_failures == policy_.screens.front()) {
    ++state.all_voids["the base " + failure.why];  // no disturbance that passes
    close_all(state, LatencyOutcome::invalid,
              fmt::format("the base gave no sample in the first {} blocks: it {}", state.base_failures, failure.why));
  } else if (!failure.of_change) {
    take_void(state, "the base " + failure.why);
  } else if (state.base_failures > 0) {
    close_all(state, LatencyOutcome::invalid, "while it was timed, in both arms: " + failure.why);
  } else {
    close_all(state, LatencyOutcome::failed, "while it was timed, the change alone: " + failure.why);
  }
}

void LatencyGate::take_delta(const MeasuredCase& measured, LatencyMetric metric) {
  const auto i = static_cast<size_t>(metric);
  Pair& pair = states_[measured.index].pairs[i];
  if (!pair.open) return;
  if (std::isfinite(measured.deltas[i])) {
    pair.deltas.push_back(measured.deltas[i]);
  } else if (is_too_many(++pair.lacking, 2 * std::max(target(), policy_.screens.back()))) {
    const bool is_unproven = cases_[measured.index].margins[i].unproven;
    close(pair, is_unproven ? LatencyOutcome::not_gated : LatencyOutcome::invalid,
          fmt::format("{}too many of its blocks had no {}: {} of {}", is_unproven ? "not gated: " : "", word_of(metric),
                      pair.lacking, pair.lacking + std::ssize(pair.deltas)));
  }
}

void LatencyGate::count_voids(std::span<const MeasuredCase> block) {
  struct Arms {
    bool base = false, change = false;
  };
  std::map<std::string, Arms> arms;  // a block counts once, however many cases it has
  for (const MeasuredCase& measured : block) {
    if (!measured.voided) continue;
    Arms& of = arms[measured.voided->why];
    of.base = of.base || !measured.voided->of_change.value_or(true);
    of.change = of.change || measured.voided->of_change.value_or(false);
  }
  for (const auto& [why, of] : arms) {
    VoidCount& count = voids_[why];
    ++count.blocks;
    if (of.base && !of.change) ++count.base;
    if (of.change && !of.base) ++count.change;
  }
}

void LatencyGate::end_look() {
  const auto for_each_open = [&](const auto& action) {
    for (size_t i = 0; i < cases_.size(); ++i) {
      for (size_t metric = 0; metric < kLatencyMetrics.size(); ++metric) {
        Pair& pair = states_[i].pairs[metric];
        if (pair.open) action(i, metric, pair);
      }
    }
  };
  for_each_open([&](size_t i, size_t metric, Pair&) { read(i, metric); });
  if (!confirms_) {
    for_each_open([&](size_t i, size_t metric, Pair& pair) { pass_or_suspect(pair, cases_[i].margins[metric]); });
  } else {
    const double alpha = budget_ * policy_.spends[look_];
    call(&Pair::suspect, &LatencyReading::p_slower, LatencyOutcome::regress, alpha);
    call(&Pair::hopeful, &LatencyReading::p_faster, LatencyOutcome::improved, alpha);
    for_each_open([&](size_t i, size_t metric, Pair& pair) { pass_or_go_on(pair, cases_[i].margins[metric]); });
  }
  begin_next_look();
}

// The first look of a screen has too few blocks for signed ranks to say anything.
void LatencyGate::read(size_t c, size_t metric) {
  Pair& pair = states_[c].pairs[metric];
  const Margin& margin = cases_[c].margins[metric];
  const auto deltas = std::span(pair.deltas).first(static_cast<size_t>(target()));
  const double error = (1 - policy_.confidence) * std::exp2(-static_cast<double>(pair.earlier));
  pair.result.reading = !confirms_ && look_ == 0 ? read_by_t(deltas, cases_[c].priors[metric], margin, 1 - error)
                                                 : read_by_ranks(deltas, margin, 1 - error);
  pair.result.confirmed = confirms_;
}

void LatencyGate::pass_or_suspect(Pair& pair, const Margin& margin) {
  const LatencyReading& reading = pair.result.reading;
  pair.hopeful = reading.p_faster < kSuspicion;
  pair.open =
      pair.result.needs_fresh || pair.hopeful || reading.upper >= margin.margin || reading.p_slower < kSuspicion;
  pair.suspect = pair.open;
  if (!pair.open) pair.result.outcome = LatencyOutcome::pass;
}

// Holm counts the whole family that the screen left, whatever became of it since: what was called is a hypothesis that
// does not hold, what passed is not rejected any more.
void LatencyGate::call(bool Pair::*family, double LatencyReading::*p, LatencyOutcome outcome, double alpha) {
  std::vector<Pair*> pairs;
  std::vector<double> values;
  for (State& state : states_) {
    for (Pair& pair : state.pairs) {
      if (!(pair.*family)) continue;
      pairs.push_back(&pair);
      values.push_back(pair.open ? pair.result.reading.*p : pair.result.outcome == outcome ? 0 : 1);
    }
  }
  const bool tests_any = std::ranges::any_of(pairs, [](const Pair* pair) { return pair->open; });
  if (outcome == LatencyOutcome::regress && tests_any) ledger_.spent += alpha;
  const std::vector<bool> rejected = holm_rejections(values, alpha);
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (!rejected[i] || !pairs[i]->open) continue;
    pairs[i]->open = false;
    pairs[i]->result.outcome = outcome;
  }
}

void LatencyGate::pass_or_go_on(Pair& pair, const Margin& margin) {
  const LatencyReading& reading = pair.result.reading;
  const bool moved = reading.p_slower < kSuspicion || (pair.hopeful && reading.p_faster < kSuspicion);
  const bool passes = reading.upper < margin.margin && (is_last_look() || !moved);
  pair.open = !passes && !is_last_look();
  if (!pair.open) pair.result.outcome = passes ? LatencyOutcome::pass : LatencyOutcome::inconclusive;
}

void LatencyGate::begin_next_look() {
  done_ = std::ranges::none_of(states_, is_open<State>);
  if (done_) return;
  if (!is_last_look()) {
    ++look_;
    return;
  }
  confirms_ = true;
  look_ = 0;
  for (State& state : states_) {
    state.voids = 0;
    for (Pair& pair : state.pairs) {
      pair.deltas.clear();
      pair.lacking = 0;
    }
  }
}

AlphaLedger LatencyGate::ledger() const {
  AlphaLedger ledger = ledger_;
  for (size_t i = 0; i < cases_.size(); ++i) {
    for (const LatencyMetric metric : kLatencyMetrics) {
      const Pair& pair = states_[i].pairs[static_cast<size_t>(metric)];
      const LatencyPair key{cases_[i].id, metric};
      const auto is_this = [&](const AlphaLedger::Open& open) { return open.pair == key; };
      const LatencyOutcome outcome = pair.result.outcome;
      if (pair.suspect && outcome != LatencyOutcome::failed) {
        std::erase_if(ledger.open, is_this);
        const bool undecided =
            pair.open || outcome == LatencyOutcome::inconclusive || outcome == LatencyOutcome::invalid;
        if (undecided) ledger.open.push_back({key, pair.earlier + 1});
      }
      const bool is_told =
          std::ranges::find(ledger.regressed, key, &AlphaLedger::Called::pair) != ledger.regressed.end();
      if (is_told) continue;
      if (outcome == LatencyOutcome::regress) ledger.regressed.push_back({key, pair.result.reading});
      if (outcome == LatencyOutcome::failed) ledger.regressed.push_back({key, {}, pair.result.reason});
    }
  }
  return ledger;
}

LatencyResult LatencyGate::result() const {
  LatencyResult result;
  for (size_t i = 0; i < cases_.size(); ++i) {
    const State& state = states_[i];
    CaseResult& of = result.cases.emplace_back(CaseResult{.id = cases_[i].id,
                                                          .latency_class = cases_[i].latency_class,
                                                          .margins = cases_[i].margins,
                                                          .blocks = state.all_blocks});
    for (const auto& [why, count] : state.all_voids) of.voids += count;
    for (size_t metric = 0; metric < state.pairs.size(); ++metric) {
      PairResult& pair = of.pairs[metric] = state.pairs[metric].result;
      if (state.pairs[metric].open) {
        pair.outcome = LatencyOutcome::inconclusive;
        pair.reason = "the gate did not end";
      } else if (pair.reason.empty()) {
        pair.reason = reason_of(kLatencyMetrics[metric], pair, of.margins[metric]);
      }
    }
    result.exit_code = combine_exit_codes(result.exit_code, exit_code_of(worst_outcome(of)));
  }
  add_earlier_regressions(ledger_, cases_, result);
  for (const auto& [why, count] : voids_) {
    result.void_blocks[why] = count.blocks;
    const int64_t all = count.base + count.change;
    if (all == 0) continue;
    const boost::math::binomial_distribution<double> fair(static_cast<double>(all), 0.5);
    const auto most = static_cast<double>(std::max(count.base, count.change));
    const double p = std::min(1.0, 2 * boost::math::cdf(boost::math::complement(fair, most - 1)));
    if (p >= kVoidImbalance) continue;
    result.exit_code = combine_exit_codes(result.exit_code, exit_code_of(LatencyOutcome::inconclusive));
    result.findings.push_back(
        {"voids", fmt::format("{} blocks were void by '{}' of the change's processes alone and {} of "
                              "the base's (p {:.1g}): one of them may cause it",
                              count.change, why, count.base, p)});
  }
  return result;
}

void add_earlier_regressions(const AlphaLedger& ledger, std::span<const GatedCase> cases, LatencyResult& result) {
  for (const auto& [pair, unused, failure] : ledger.regressed) {
    if (std::ranges::find(cases, pair.case_id, &GatedCase::id) != cases.end()) continue;
    result.exit_code = combine_exit_codes(result.exit_code, exit_code_of(LatencyOutcome::regress));
    result.findings.push_back(
        {"latency", fmt::format("{} {}: called {} by an earlier gate of this base and change, and not among the cases "
                                "now",
                                pair.case_id, word_of(pair.metric), failure.empty() ? "slower" : "failed")});
  }
}

LatencyResult run_latency_gate(LatencyGate& gate, const MeasureBlock& measure) {
  for (std::vector<size_t> cases = gate.wanted(); !cases.empty(); cases = gate.wanted()) gate.add(measure(cases));
  return gate.result();
}

}  // namespace assay
