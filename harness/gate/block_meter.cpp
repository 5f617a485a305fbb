#include "gate/block_meter.h"

#include <algorithm>
#include <array>
#include <future>
#include <map>
#include <set>
#include <utility>

#include "core/draw.h"
#include "core/error.h"

namespace assay {
namespace {

constexpr uint64_t kAny = uint64_t{1} << 62;

// One turn's samples to those of earlier turns. A metric that a turn did not give is gone.
void add(const Timed& turn, Timed& into) {
  const bool is_first = into.metrics.empty() && into.refused.empty() && into.failed.empty();
  if (is_first) {
    into = turn;
    return;
  }
  if (into.refused.empty()) into.refused = turn.refused;
  if (into.failed.empty()) into.failed = turn.failed;
  std::erase_if(into.metrics, [&](const auto& metric) { return !turn.metrics.contains(metric.first); });
  for (auto& [name, set] : into.metrics) {
    const SampleSet& more = turn.metrics.at(name);
    for (const int64_t ns : more.nanoseconds) set.nanoseconds.push_back(ns * set.batch / more.batch);
    set.coarse = set.coarse || more.coarse;
    // Samples of batches and of single launches are no distribution of launches together.
    if (set.batch == 1 && more.batch > 1) set.coarse = true;
  }
}

std::string why_without(const std::string& metric, const Timed& timed) {
  if (!timed.refused.empty()) return "refused: " + timed.refused;
  return "failed: " + (timed.failed.empty() ? "no samples of " + metric : timed.failed);
}

// The first process that failed is named, unless one of the other arm did too.
void note_failure(const std::string& why, int place, RecordedBlock& block) {
  const auto is_of_change = [&](int process) { return is_change(block.block.order, static_cast<size_t>(process)); };
  if (!block.is_void()) {
    block.void_why = why;
    block.void_process = place;
  } else if (block.void_process >= 0 && is_of_change(place) != is_of_change(block.void_process)) {
    block.void_process = -1;
  }
}

// Asked again, once, where a judge died.
template <class Ask>
auto asked_twice(const Ask& ask) {
  try {
    return ask();
  } catch (const JudgeStopped&) {
    throw;
  } catch (const JudgeDied&) {
    return ask();
  }
}

double median_of_three(double a, double b, double c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); }

}  // namespace

// A kernel id of the wanted cases, with what is to be timed of it.
struct BlockMeter::Visit {
  const ArmCase* arm_case = nullptr;
  std::set<std::string> metrics{}, single{};
};

// In a drawn order.
std::vector<BlockMeter::Visit> BlockMeter::visits(const std::vector<size_t>& wanted, Draw& draw) const {
  std::map<std::string, Visit> by_kernel;
  for (const size_t i : wanted) {
    const ArmCase& one = settings_.cases[i];
    Visit& visit = by_kernel[one.kernel_id];
    visit.arm_case = &one;
    visit.metrics.insert(one.metric);
    if (one.is_single()) visit.single.insert(one.metric);
  }
  std::vector<Visit> order;
  for (const auto& [unused, visit] : by_kernel) order.push_back(visit);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draw.below(i)]);
  return order;
}

// One process of a block.
struct BlockMeter::Running {
  std::unique_ptr<TimingProcess> process;
  bool is_change = false;
  Draw draw;
  ConditionsOfProcess watched{};
  std::vector<double> sentinels_us{};
  std::string lost{};                        // how it ended between two turns
  std::map<std::string, Timed> by_kernel{};  // by kernel id
};

struct BlockMeter::Measured {
  std::array<std::map<std::string, Timed>, kProcessesOfABlock> by_kernel;
  std::array<ProcessConditions, kProcessesOfABlock> conditions;
  std::array<std::string, kProcessesOfABlock> lost;
};

BlockMeter::BlockMeter(Settings settings) : settings_(std::move(settings)) {}

void BlockMeter::prepare_at_once(std::vector<Running>& all, const std::vector<Visit>& cases) const {
  std::vector<std::future<void>> at_work;
  for (Running& one : all) {
    at_work.push_back(std::async(std::launch::async, [this, &one, &cases] {
      for (const Visit& visit : cases) {
        if (settings_.stop_asked()) return;
        one.process->prepare(one.is_change ? visit.arm_case->change : visit.arm_case->base, visit.arm_case->c);
      }
    }));
  }
  for (std::future<void>& one : at_work) one.wait();
  for (std::future<void>& one : at_work) one.get();
}

void BlockMeter::take_turn(Running& running, const Visit& visit) {
  const ArmCase& one = *visit.arm_case;
  const LatencyPolicy::Samples& all = settings_.samples;
  const TimePlan plan{.warm_samples = visit.metrics.contains("warm") ? all.warm : 0,
                      .cold_samples = visit.metrics.contains("cold") ? all.cold : 0,
                      .seconds_at_most = all.seconds,
                      .enough = all.enough,
                      .enough_seconds = all.tail_seconds,
                      .turns = all.turns,
                      .single = visit.single,
                      .scatter = 1 + running.draw.below(kAny)};
  const Timed timed = running.process->time(running.is_change ? one.change : one.base, one.c, plan);
  add(timed, running.by_kernel[one.kernel_id]);
}

// Nothing once a stop is asked for.
std::optional<BlockMeter::Measured> BlockMeter::run_processes(BlockOrder order, Draw draw,
                                                              const std::vector<size_t>& wanted) {
  std::vector<Running> all;
  const MachineState began = settings_.machine();
  for (size_t place = 0; place < kProcessesOfABlock; ++place) {
    const bool of_change = is_change(order, place);
    all.push_back({start(of_change), of_change, Draw(draw.below(kAny))});
  }
  const auto read_sentinels = [&] {
    for (Running& one : all) {
      const SentinelTime time = one.process->sentinel();
      one.sentinels_us.push_back(time.us);
      if (one.lost.empty()) one.lost = time.failed;
    }
  };
  const std::vector<Visit> cases = visits(wanted, draw);
  if (settings_.prepares_at_once) prepare_at_once(all, cases);
  read_sentinels();
  for (size_t i = 0; i < cases.size(); ++i) {
    if (i == cases.size() / 2) read_sentinels();
    MachineState before = settings_.machine();
    for (int64_t turn = 0; turn < settings_.samples.turns; ++turn) {
      if (settings_.stop_asked()) return std::nullopt;
      for (Running& one : all) {
        take_turn(one, cases[i]);
        const MachineState after = settings_.machine();
        one.watched.add(before, after);
        before = after;
      }
    }
  }
  read_sentinels();
  // While they live: what a process spends on its end it cannot tell any more.
  double seconds_spent = 0;
  for (Running& one : all) seconds_spent += one.process->seconds_spent();
  const double foreign = foreign_share(began, settings_.machine(), seconds_spent);
  for (Running& one : all) one.process.reset();
  Measured measured;
  for (size_t place = 0; place < all.size(); ++place) {
    measured.conditions[place] = all[place].watched.conditions();
    measured.conditions[place].foreign = foreign;
    const std::vector<double>& us = all[place].sentinels_us;
    measured.conditions[place].sentinel_us = median_of_three(us[0], us[1], us[2]);
    measured.by_kernel[place] = std::move(all[place].by_kernel);
    measured.lost[place] = all[place].lost;
  }
  return measured;
}

std::vector<RecordedBlock> BlockMeter::measure(int64_t number, const std::vector<size_t>& wanted) {
  // Neighbouring states of a Draw are neighbours of one sequence, so a block's own is drawn.
  Draw numbered(settings_.seed ^ (static_cast<uint64_t>(number) << 32));
  Draw draw(numbered.below(kAny));
  const BlockOrder order = draw.one_in(2) ? BlockOrder::baab : BlockOrder::abba;
  const std::optional<Measured> measured = asked_twice([&] { return run_processes(order, draw, wanted); });
  if (!measured) return {};
  return concluded(number, order, wanted, *measured);
}

std::vector<RecordedBlock> BlockMeter::concluded(int64_t number, BlockOrder order, const std::vector<size_t>& wanted,
                                                 const Measured& measured) const {
  std::vector<RecordedBlock> blocks;
  for (const size_t i : wanted) {
    const ArmCase& one = settings_.cases[i];
    RecordedBlock block{.latency_class = one.latency_class, .case_id = one.id(), .number = number};
    block.conditions = measured.conditions;
    block.block.order = order;
    std::array<SampleSet, kProcessesOfABlock> samples;
    for (size_t place = 0; place < samples.size(); ++place) {
      const Timed& timed = measured.by_kernel[place].at(one.kernel_id);
      const auto found = timed.metrics.find(one.metric);
      // Any of its kernels may have left behind what ended it.
      if (!measured.lost[place].empty()) {
        note_failure("failed: between two turns, " + measured.lost[place], static_cast<int>(place), block);
      } else if (found != timed.metrics.end()) {
        samples[place] = found->second;
      } else {
        note_failure(why_without(one.metric, timed), static_cast<int>(place), block);
      }
    }
    if (!block.is_void()) {
      block.block = block_of(order, samples);
      for (size_t place = 0; place < samples.size() && !block.block.median_only; ++place) {
        block.nanoseconds[place] = samples[place].nanoseconds;
      }
      apply_void_rules(settings_.voids, block);
    }
    blocks.push_back(std::move(block));
  }
  return blocks;
}

std::map<std::string, Timed> BlockMeter::planned(bool of_change) {
  return asked_twice([&] {
    const std::unique_ptr<TimingProcess> process = start(of_change);
    std::map<std::string, Timed> planned;
    for (const ArmCase& one : settings_.cases) {
      if (planned.contains(one.kernel_id)) continue;
      planned[one.kernel_id] = process->time(of_change ? one.change : one.base, one.c, {});
    }
    return planned;
  });
}

}  // namespace assay
