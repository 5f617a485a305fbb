#include "gate/latency_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.h"
#include "gate/kill_table.h"
#include "measure/signed_rank.h"
#include "measure/summary.h"

namespace assay {
namespace {

constexpr int64_t kRun = 12;  // consecutive blocks
constexpr const char* kAllClasses = "(all)";

// The blocks of one case that calibration has not seen, void ones too, in the order recorded.
struct HeldOut {
  std::string latency_class, case_id;
  std::vector<const RecordedBlock*> blocks;
};

bool keeps_stalls(const RecordedBlock* recorded) { return recorded->block.keeps_stalls(); }

struct Halves {
  std::vector<RecordedBlock> calibrating;
  std::vector<HeldOut> held_out;
};

Halves halves_of(std::span<const RecordedBlock> blocks) {
  std::map<std::pair<std::string, std::string>, std::vector<const RecordedBlock*>> cases;
  for (const RecordedBlock& block : blocks) cases[{block.latency_class, block.case_id}].push_back(&block);
  Halves halves;
  for (auto& [key, of_case] : cases) {
    std::ranges::sort(of_case, {}, &RecordedBlock::number);
    const auto middle = of_case.begin() + std::ssize(of_case) / 2;
    for (auto block = of_case.begin(); block != middle; ++block) halves.calibrating.push_back(**block);
    halves.held_out.push_back({key.first, key.second, {middle, of_case.end()}});
  }
  return halves;
}

// Where in their blocks the cases are that were measured together.
class Cursor {
 public:
  // At the next block, which a new coin orders.
  void step(Draw& draw) {
    if (steps_++ % kRun == 0) at_ = draw.below(uint64_t{1} << 32);
    ++at_;
    order_ = draw.one_in(2) ? BlockOrder::abba : BlockOrder::baab;
  }
  const RecordedBlock& of(const HeldOut& c) const { return *c.blocks[at_ % c.blocks.size()]; }
  BlockOrder order() const { return order_; }

 private:
  int64_t steps_ = 0;
  uint64_t at_ = 0;
  BlockOrder order_ = BlockOrder::abba;
};

GatedCase gated(const LatencyPolicy& policy, const std::map<std::string, LatencyClass>& classes, const HeldOut& c) {
  GatedCase gated = gated_case(policy, classes.at(c.latency_class), c.case_id);
  Margin& stall = gated.margins[static_cast<size_t>(LatencyMetric::stall)];
  stall.gates = stall.gates && std::ranges::all_of(c.blocks, keeps_stalls);
  return gated;
}

// A gate's cases: those of `held_out` in turn, lent again under another name when they are too few.
class ReplayedGates {
 public:
  ReplayedGates(const LatencyPolicy& policy, const std::map<std::string, LatencyClass>& classes,
                std::vector<const HeldOut*> held_out, size_t cases, uint64_t seed)
      : policy_(policy), held_out_(std::move(held_out)), draw_(seed) {
    for (size_t i = 0; i < cases; ++i) {
      const HeldOut& lent = of(i);
      cases_.push_back(gated(policy, classes, lent));
      cases_.back().id = fmt::format("{} {} #{}", lent.latency_class, lent.case_id, round(i));
    }
  }

  size_t cases() const { return cases_.size(); }
  bool has_samples(size_t c) const {
    return std::ranges::all_of(of(c).blocks, [](const RecordedBlock* block) { return block->has_samples(); });
  }
  double margin_of_p50(size_t c) const { return cases_[c].margins[0].margin; }
  Draw& draw() { return draw_; }

  // One gate; `changes` are by case.
  LatencyResult run(const std::map<size_t, KnownChange>& changes) {
    LatencyGate gate(policy_, cases_, {});
    std::map<std::pair<std::string, size_t>, Cursor> cursors;  // by class and round
    return run_latency_gate(gate, [&](const std::vector<size_t>& wanted) {
      for (auto& [key, cursor] : cursors) cursor.step(draw_);
      std::vector<MeasuredCase> measured;
      for (const size_t c : wanted) {
        const auto [found, is_new] = cursors.try_emplace({of(c).latency_class, round(c)});
        if (is_new) found->second.step(draw_);
        const auto change = changes.find(c);
        measured.push_back(measure(c, found->second, change == changes.end() ? KnownChange{} : change->second));
      }
      return measured;
    });
  }

 private:
  const HeldOut& of(size_t c) const { return *held_out_[c % held_out_.size()]; }
  size_t round(size_t c) const { return c / held_out_.size(); }

  MeasuredCase measure(size_t c, const Cursor& cursor, const KnownChange& change) {
    const RecordedBlock& recorded = cursor.of(of(c));
    if (recorded.is_void()) {
      VoidBlock voided{.why = recorded.void_why};
      if (recorded.void_process >= 0) {
        voided.of_change = is_change(cursor.order(), static_cast<size_t>(recorded.void_process));
      }
      return {.index = c, .voided = std::move(voided)};
    }
    return {.index = c,
            .deltas = block_deltas(replayed(recorded, cursor.order(), change, draw_), policy_.tail_samples)};
  }

  const LatencyPolicy& policy_;
  std::vector<const HeldOut*> held_out_;
  std::vector<GatedCase> cases_;
  Draw draw_;
};

void count_unchanged(ReplayedGates& gates, int64_t count, ReplayedClass& into) {
  double blocks = 0;
  for (int64_t gate = 0; gate < count; ++gate) {
    const LatencyResult result = gates.run({});
    into.regress.count(result.exit_code == exit_code_of(LatencyOutcome::regress));
    into.inconclusive.count(result.exit_code == exit_code_of(LatencyOutcome::inconclusive));
    into.invalid.count(result.exit_code == exit_code_of(LatencyOutcome::invalid));
    for (const CaseResult& c : result.cases) blocks += static_cast<double>(c.blocks + c.voids);
  }
  into.blocks_a_case = blocks / static_cast<double>(count) / static_cast<double>(gates.cases());
}

void count_changed(ReplayedGates& gates, int64_t count, ReplayedClass::Power& into) {
  std::vector<size_t> usable;
  for (size_t c = 0; c < gates.cases(); ++c) {
    if (!into.change.needs_samples() || gates.has_samples(c)) usable.push_back(c);
  }
  while (!usable.empty() && into.regress.of < count) {
    std::map<size_t, KnownChange> changes;
    for (size_t i = 0; i < std::max<size_t>(gates.cases() / 10, 1); ++i) {
      const size_t c = gates.draw().one_of(usable);
      KnownChange& change = changes[c] = into.change;
      if (change.beyond_margin) change.shift += change_of(LatencyMetric::p50, gates.margin_of_p50(c));
    }
    const LatencyResult result = gates.run(changes);
    for (const auto& [c, change] : changes) {
      const LatencyOutcome outcome = worst_outcome(result.cases[c]);
      into.regress.count(outcome == LatencyOutcome::regress);
      into.inconclusive.count(outcome == LatencyOutcome::inconclusive);
    }
  }
}

void count_margins(const GatedCase& c, PerMetric<ReplayedClass::Margins>& into) {
  for (size_t metric = 0; metric < into.size(); ++metric) {
    const Margin& margin = c.margins[metric];
    if (!margin.gates) continue;
    ReplayedClass::Margins& of = into[metric];
    of.smallest = of.cases == 0 ? margin.margin : std::min(of.smallest, margin.margin);
    of.largest = std::max(of.largest, margin.margin);
    of.blind += margin.blind;
    ++of.cases;
  }
}

// "p50 +2.00 % to +2.34 % (blind: 1 of 2), stall +1.00 points"
std::string text_of(const PerMetric<ReplayedClass::Margins>& margins) {
  std::string text;
  for (const LatencyMetric metric : kLatencyMetrics) {
    const auto& [cases, blind, smallest, largest] = margins[static_cast<size_t>(metric)];
    if (cases == 0) continue;
    const std::string from = change_text(metric, smallest), to = change_text(metric, largest);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", word_of(metric), from);
    if (from != to) text += " to " + to;
    if (blind > 0) text += blind == cases ? " (blind)" : fmt::format(" (blind: {} of {})", blind, cases);
  }
  return text.empty() ? "of each class" : text;
}

// Of each number that the recorded blocks have, the median of its cases; the processes of a block are common to them.
PerMetric<double> order_bias(const LatencyPolicy& policy, std::span<const RecordedBlock* const> blocks) {
  std::map<int64_t, PerMetric<std::vector<double>>> by_number;
  for (const RecordedBlock* recorded : blocks) {
    if (recorded->is_void()) continue;
    const PerMetric<double> deltas = block_deltas(recorded->block, policy.tail_samples);
    for (size_t metric = 0; metric < deltas.size(); ++metric) {
      if (std::isfinite(deltas[metric])) by_number[recorded->number][metric].push_back(deltas[metric]);
    }
  }
  PerMetric<double> p;
  for (size_t metric = 0; metric < p.size(); ++metric) {
    std::vector<double> medians;
    for (auto& [number, deltas] : by_number) {
      if (deltas[metric].empty() || std::ssize(medians) == SignedRank::kMostBlocks) continue;
      std::ranges::sort(deltas[metric]);
      medians.push_back(quantile(deltas[metric], 0.5));
    }
    p[metric] = 1;
    if (medians.empty()) continue;
    const SignedRank test(medians);
    p[metric] = std::min(1.0, 2 * std::min(test.p_above(0), test.p_below(0)));
  }
  return p;
}

}  // namespace

const std::vector<KnownChange>& known_changes() {
  static const std::vector<KnownChange> kChanges{{.name = "+1 %", .shift = 0.01},
                                                 {.name = "+2 %", .shift = 0.02},
                                                 {.name = "+3 %", .shift = 0.03},
                                                 {.name = "+5 %", .shift = 0.05},
                                                 {.name = "margin + 1 %", .shift = 0.01, .beyond_margin = true},
                                                 {.name = "1 in 100 x1.5", .share = 0.01, .times = 1.5},
                                                 {.name = "2 in 100 x1.5", .share = 0.02, .times = 1.5},
                                                 {.name = "1 in 5 x1.1", .share = 0.2, .times = 1.1}};
  return kChanges;
}

void apply(const KnownChange& change, Draw& draw, std::span<double> microseconds) {
  constexpr uint64_t kParts = 1000000;
  const auto part = static_cast<uint64_t>(std::llround(change.share * static_cast<double>(kParts)));
  for (double& us : microseconds) {
    us *= 1 + change.shift;
    if (part > 0 && draw.below(kParts) < part) us *= change.times;
  }
}

CaseBlock replayed(const RecordedBlock& recorded, BlockOrder order, const KnownChange& change, Draw& draw) {
  if (change.needs_samples() && !recorded.has_samples()) {
    throw Error("block " + std::to_string(recorded.number) + " of " + recorded.case_id + " has no samples to change");
  }
  CaseBlock block = recorded.block;
  if (order != block.order) std::swap(block.pooled_p99_us[0], block.pooled_p99_us[1]);
  block.order = order;
  for (size_t i = 0; i < kProcessesOfABlock; ++i) {
    if (!is_change(order, i)) continue;
    ProcessLatency& process = block.processes[i];
    if (change.needs_samples()) {
      std::vector<double> microseconds(recorded.nanoseconds[i].begin(), recorded.nanoseconds[i].end());
      for (double& us : microseconds) us *= 1e-3;
      apply(change, draw, microseconds);
      process = process_latency(std::move(microseconds));
    } else {
      for (double* us : {&process.p50_us, &process.p90_us, &process.p99_us}) *us *= 1 + change.shift;
    }
  }
  return block;
}

ConfidenceInterval Rate::interval() const {
  constexpr double kEach = 0.975;
  return {1 - upper_bound_of_rate(of - seen, of, kEach), upper_bound_of_rate(seen, of, kEach)};
}

std::string text_of(const Rate& rate) {
  if (rate.of == 0) return "none";
  const ConfidenceInterval interval = rate.interval();
  return fmt::format("{:.2f} % ({:.2f} to {:.2f}) of {}", 100 * rate.share(), 100 * interval.lower,
                     100 * interval.upper, rate.of);
}

std::vector<ReplayedClass> replay(const LatencyPolicy& policy, std::span<const RecordedBlock> blocks,
                                  const ReplayOptions& options) {
  const Halves halves = halves_of(blocks);
  const std::map<std::string, LatencyClass> classes = calibrate(policy, halves.calibrating);
  std::map<std::string, std::vector<const HeldOut*>> sets;
  for (const HeldOut& held_out : halves.held_out) {
    if (!classes.contains(held_out.latency_class)) {
      throw UsageError("class '" + held_out.latency_class + "': too few blocks to calibrate by one half; record more");
    }
    sets[held_out.latency_class].push_back(&held_out);
  }
  if (sets.size() > 1) {
    for (const HeldOut& held_out : halves.held_out) sets[kAllClasses].push_back(&held_out);
  }
  std::vector<ReplayedClass> results;
  for (const auto& [name, held_out] : sets) {
    ReplayedClass& of = results.emplace_back(ReplayedClass{.name = name, .cases = held_out.size()});
    std::vector<const RecordedBlock*> recorded;
    for (const RecordedBlock& block : blocks) {
      if (name != kAllClasses && block.latency_class != name) continue;
      recorded.push_back(&block);
      of.voids += block.is_void();
    }
    for (const HeldOut* c : held_out) of.held_out += std::ssize(c->blocks);
    of.calibrating = std::ssize(recorded) - of.held_out;
    if (name != kAllClasses) {
      for (const HeldOut* c : held_out) count_margins(gated(policy, classes, *c), of.margins);
      of.bias = order_bias(policy, recorded);
    }
    ReplayedGates gates(policy, classes, held_out, options.cases, options.seed);
    count_unchanged(gates, options.gates, of);
    for (const KnownChange& change : known_changes()) {
      count_changed(gates, options.changed, of.power.emplace_back(ReplayedClass::Power{.change = change}));
    }
  }
  return results;
}

std::string markdown(const std::vector<ReplayedClass>& classes, const ReplayOptions& options) {
  std::string text = fmt::format("Gates of {} cases made of held-out blocks; 95 % intervals; seed {}.\n\n",
                                 options.cases, options.seed);
  text +=
      "| class | cases | blocks: calibrating, held out (void) | margins | REGRESS | INCONCLUSIVE | INVALID | blocks a "
      "case | order bias p |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const ReplayedClass& of : classes) {
    text += fmt::format("| {} | {} | {}, {} ({}) | {} | {} | {} | {} | {:.1f} | {:.2g}, {:.2g}, {:.2g} |\n", of.name,
                        of.cases, of.calibrating, of.held_out, of.voids, text_of(of.margins), text_of(of.regress),
                        text_of(of.inconclusive), text_of(of.invalid), of.blocks_a_case, of.bias[0], of.bias[1],
                        of.bias[2]);
  }
  text += "\nOf changed cases, called REGRESS (the rest inconclusive or passed):\n\n| class |";
  for (const KnownChange& change : known_changes()) text += " " + change.name + " |";
  text += "\n| --- |";
  for (size_t i = 0; i < known_changes().size(); ++i) text += " --- |";
  for (const ReplayedClass& of : classes) {
    text += "\n| " + of.name + " |";
    for (const ReplayedClass::Power& power : of.power)
      text += " " + (power.regress.of > 0 ? text_of(power.regress) : "no samples") + " |";
  }
  return text + "\n";
}

}  // namespace assay
