// Machines made up, on which the A/B gate's error rates can be counted: what a process does to the samples of its
// cases.
//
// A sample is its case's duration times an effect of its process, times log-normal noise, and longer when it is
// stalled. An effect multiplies quantiles and leaves the tail mass alone, so that a process of a case can be drawn as a
// summary of samples without effect, from some thousands that were made, times an effect. That is exact but for their
// finite number; a machine that makes every sample gives the same deltas (latency_worlds_test.cpp compares them).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/draw.h"
#include "gate/latency_class.h"
#include "gate/latency_gate.h"
#include "gate/latency_replay.h"
#include "measure/block.h"
#include "measure/blocks_file.h"

namespace assay {

struct World {
  std::string name;
  int samples = 200;            // of a process
  double between = 0;           // standard deviation of a process's effect on a case, of the logarithm
  bool heavy = false;           // `between` scales Student's t of 3 degrees, not a normal variable
  double within = 0.005;        // of a sample's noise
  double stalls = 0.001;        // share of samples 1.3 times as long
  double bursts = 0;            // chance that a process meets a burst: in a third of its cases 5 to 30 % of samples are
                                // 1.2 to 2 times as long
  double burst_stays = 0;       // chance that the next process is in it too
  double slow = 0;              // chance of a process all of whose cases are 10 % slower
  double drift = 0, slope = 0;  // of the machine, a process: step of a random walk, and what is added each time
};

inline World quiet_world() { return {.name = "quiet", .between = 0.002}; }
inline World cloud_world() {
  return {.name = "cloud", .between = 0.01, .within = 0.02, .stalls = 0.005, .bursts = 0.03};
}
inline World harsh_world() {
  return {.name = "harsh",
          .between = 0.01,
          .heavy = true,
          .within = 0.02,
          .stalls = 0.005,
          .bursts = 0.05,
          .burst_stays = 0.7,
          .slow = 0.05,
          .drift = 0.002,
          .slope = 0.0005};
}

class Machine {
 public:
  Machine(World world, uint64_t seed, bool makes_samples = false)
      : world_(std::move(world)), random_(seed), draw_(seed), makes_samples_(makes_samples) {}

  const World& world() const { return world_; }

  // One block of cases after another, in an order that a coin chooses. `changes` are by case. With `keep`, its samples
  // are recorded, of a machine that makes them.
  std::vector<RecordedBlock> block(const std::vector<size_t>& cases, const std::map<size_t, KnownChange>& changes = {},
                                   bool keep = false) {
    return block_in(draw_.one_in(2) ? BlockOrder::abba : BlockOrder::baab, cases, changes, keep);
  }

  std::vector<RecordedBlock> block_in(BlockOrder order, const std::vector<size_t>& cases,
                                      const std::map<size_t, KnownChange>& changes = {}, bool keep = false) {
    std::vector<RecordedBlock> blocks;
    for (const size_t c : cases) {
      blocks.push_back(
          {.latency_class = world_.name, .case_id = case_name(c), .number = blocks_, .block = {.order = order}});
    }
    ++blocks_;
    for (size_t process = 0; process < kProcessesOfABlock; ++process) {
      const double common = next_process();
      for (size_t i = 0; i < cases.size(); ++i) {
        const auto found = changes.find(cases[i]);
        const KnownChange& change = found != changes.end() && is_change(order, process) ? found->second : none_;
        const bool in_burst = burst_ && draw_.one_in(3);
        const double effect = std::exp(common + own_effect(cases[i]));
        ProcessLatency& of = blocks[i].block.processes[process];
        if (makes_samples_) {
          const std::vector<double> samples = make_samples(in_burst, change, effect);
          of = process_latency(samples);
          if (keep) blocks[i].nanoseconds[process] = nanoseconds_of(samples);
        } else {
          of = drawn_summary(in_burst, change);
          for (double* us : {&of.p50_us, &of.p90_us, &of.p99_us}) *us *= effect;
        }
      }
    }
    for (RecordedBlock& recorded : blocks) recorded.block.pooled_p99_us = {1, 1};
    return blocks;
  }

  static std::string case_name(size_t c) { return "case " + std::to_string(c); }

 private:
  double uniform() { return std::uniform_real_distribution<>(0, 1)(random_); }
  double normal() { return std::normal_distribution<>(0, 1)(random_); }

  // Cases of a class differ: from 0.6 to 1.6 times its spread, by number.
  double own_effect(size_t c) {
    const double spread = world_.between * (0.6 + 0.1 * static_cast<double>(c % 11));
    return spread * (world_.heavy ? std::student_t_distribution<>(3)(random_) : normal());
  }

  double next_process() {
    drift_ += world_.drift * normal() + world_.slope;
    burst_ = uniform() < (burst_ ? world_.burst_stays : world_.bursts);
    return drift_ + (uniform() < world_.slow ? std::log(1.1) : 0);
  }

  // Microseconds of launches of 100 each.
  std::vector<double> make_samples(bool in_burst, const KnownChange& change, double effect) {
    const double burst_share = in_burst ? 0.05 + 0.25 * uniform() : 0;
    const double burst_times = 1.2 + 0.8 * uniform();
    std::vector<double> samples(static_cast<size_t>(world_.samples));
    for (double& sample : samples) {
      sample = 100 * effect * std::exp(world_.within * normal());
      if (uniform() < world_.stalls) sample *= 1.3;
      if (uniform() < burst_share) sample *= burst_times;
    }
    apply(change, draw_, samples);
    for (double& sample : samples) sample = std::round(1e3 * sample) / 1e3;  // what a clock of nanoseconds shows
    return samples;
  }

  static std::vector<int64_t> nanoseconds_of(const std::vector<double>& microseconds) {
    std::vector<int64_t> nanoseconds;
    for (const double us : microseconds) nanoseconds.push_back(std::llround(1e3 * us));
    return nanoseconds;
  }

  const ProcessLatency& drawn_summary(bool in_burst, const KnownChange& change) {
    std::vector<ProcessLatency>& pool = pools_[{in_burst, change.name}];
    while (pool.size() < 3000) pool.push_back(process_latency(make_samples(in_burst, change, 1)));
    return pool[draw_.below(pool.size())];
  }

  World world_;
  std::mt19937_64 random_;
  Draw draw_;
  bool makes_samples_;
  KnownChange none_;
  int64_t blocks_ = 0;
  double drift_ = 0;
  bool burst_ = false;
  std::map<std::pair<bool, std::string>, std::vector<ProcessLatency>> pools_;
};

inline std::vector<size_t> first_cases(size_t count) {
  std::vector<size_t> cases;
  for (size_t c = 0; c < count; ++c) cases.push_back(c);
  return cases;
}

// As a calibration records them: blocks in which both arms are the same.
inline std::vector<RecordedBlock> unchanged_blocks(Machine& machine, size_t cases, int64_t each, bool keep = false) {
  std::vector<RecordedBlock> recorded;
  for (int64_t i = 0; i < each; ++i) {
    for (RecordedBlock& block : machine.block(first_cases(cases), {}, keep)) recorded.push_back(std::move(block));
  }
  return recorded;
}

inline std::vector<GatedCase> calibrated_cases(const LatencyPolicy& policy, Machine& machine, size_t cases) {
  constexpr int64_t kBlocksEach = 24;
  const auto classes = calibrate(policy, unchanged_blocks(machine, cases, kBlocksEach));
  std::vector<GatedCase> gated;
  for (size_t c = 0; c < cases; ++c) {
    gated.push_back(gated_case(policy, classes.at(machine.world().name), Machine::case_name(c)));
  }
  return gated;
}

inline MeasureBlock blocks_of(Machine& machine, const LatencyPolicy& policy,
                              const std::map<size_t, KnownChange>& changes = {}) {
  return [&machine, &policy, changes](const std::vector<size_t>& cases) {
    const std::vector<RecordedBlock> blocks = machine.block(cases, changes);
    std::vector<MeasuredCase> measured;
    for (size_t i = 0; i < cases.size(); ++i) {
      measured.push_back({.index = cases[i], .deltas = block_deltas(blocks[i].block, policy.tail_samples)});
    }
    return measured;
  };
}

}  // namespace assay
