#include "gate/block_meter.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/draw.h"
#include "core/error.h"

namespace assay {
namespace {

constexpr uint64_t kAny = uint64_t{1} << 62;

// Kernel ids of the wanted cases, each with what is to be timed of it, in a drawn order.
struct Visit {
  const ArmCase* arm_case = nullptr;
  bool warm = false, cold = false;
};

std::vector<Visit> visits(const std::vector<ArmCase>& cases, const std::vector<size_t>& wanted, Draw& draw) {
  std::map<std::string, Visit> by_kernel;
  for (const size_t i : wanted) {
    Visit& visit = by_kernel[cases[i].kernel_id];
    visit.arm_case = &cases[i];
    (cases[i].metric == "warm" ? visit.warm : visit.cold) = true;
  }
  std::vector<Visit> order;
  for (const auto& [unused, visit] : by_kernel) order.push_back(visit);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draw.below(i)]);
  return order;
}

double median_of_three(double a, double b, double c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); }

}  // namespace

// What one process of a block has measured.
struct BlockMeter::Sampled {
  std::map<std::string, Timed> by_kernel;  // by kernel id
  double sentinel_us = 0;
  std::string disturbed;  // by what, or nothing
};

BlockMeter::BlockMeter(Settings settings) : settings_(std::move(settings)) {}

BlockMeter::Sampled BlockMeter::run_process(bool is_change, uint64_t seed, const std::vector<size_t>& wanted) {
  Draw draw(seed);
  Sampled sampled;
  const MachineState before = settings_.machine();
  double seconds_spent = 0;
  {
    const std::unique_ptr<TimingProcess> process = settings_.start();
    const std::vector<Visit> order = visits(settings_.cases, wanted, draw);
    std::array<double, 3> sentinels{};
    sentinels[0] = process->sentinel().compute_us;
    for (size_t i = 0; i < order.size(); ++i) {
      if (i == order.size() / 2) sentinels[1] = process->sentinel().compute_us;
      const ArmCase& one = *order[i].arm_case;
      const TimePlan plan{.warm_samples = order[i].warm ? settings_.samples.warm : 0,
                          .cold_samples = order[i].cold ? settings_.samples.cold : 0,
                          .seconds_at_most = settings_.samples.seconds,
                          .scatter = 1 + draw.below(kAny)};
      sampled.by_kernel[one.kernel_id] = process->time(is_change ? one.change : one.base, one.c, plan);
    }
    sentinels[2] = process->sentinel().compute_us;
    sampled.sentinel_us = median_of_three(sentinels[0], sentinels[1], sentinels[2]);
    seconds_spent = process->seconds_spent();
  }
  sampled.disturbed = disturbance(before, settings_.machine(), seconds_spent, settings_.voids);
  return sampled;
}

std::vector<RecordedBlock> BlockMeter::measure(int64_t number, const std::vector<size_t>& wanted) {
  // Neighbouring states of a Draw are neighbours of one sequence, so a block's own is drawn.
  Draw numbered(settings_.seed ^ (static_cast<uint64_t>(number) << 32));
  Draw draw(numbered.below(kAny));
  const BlockOrder order = draw.one_in(2) ? BlockOrder::baab : BlockOrder::abba;
  std::vector<Sampled> processes;
  for (size_t place = 0; place < kProcessesOfABlock; ++place) {
    const uint64_t seed = draw.below(kAny);
    for (int attempt = 0;; ++attempt) {
      try {
        processes.push_back(run_process(is_change(order, place), seed, wanted));
        break;
      } catch (const JudgeDied&) {
        if (attempt == 1) throw;
      }
    }
  }
  return concluded(number, order, wanted, processes);
}

std::vector<RecordedBlock> BlockMeter::concluded(int64_t number, BlockOrder order, const std::vector<size_t>& wanted,
                                                 const std::vector<Sampled>& processes) const {
  std::string why;
  int whose = -1;
  for (size_t place = 0; place < processes.size() && why.empty(); ++place) {
    why = processes[place].disturbed;
    if (!why.empty()) whose = static_cast<int>(place);
  }
  const auto by_sentinel = [](const Sampled& a, const Sampled& b) { return a.sentinel_us < b.sentinel_us; };
  const auto [fastest, slowest] = std::minmax_element(processes.begin(), processes.end(), by_sentinel);
  if (why.empty() && slowest->sentinel_us > (1 + settings_.voids.sentinel) * fastest->sentinel_us) {
    why = "sentinel";
    whose = static_cast<int>(slowest - processes.begin());
  }
  std::vector<RecordedBlock> blocks;
  for (const size_t i : wanted) {
    const ArmCase& one = settings_.cases[i];
    RecordedBlock block{.latency_class = one.latency_class, .case_id = one.id(), .number = number};
    block.void_why = why;
    block.void_process = whose;
    std::array<SampleSet, kProcessesOfABlock> samples;
    bool complete = true;
    for (size_t place = 0; place < processes.size(); ++place) {
      const Timed& timed = processes[place].by_kernel.at(one.kernel_id);
      const auto found = timed.metrics.find(one.metric);
      if (found == timed.metrics.end()) {
        block.void_why = timed.refused.empty() ? "failed" : "refused";
        block.void_process = static_cast<int>(place);
        complete = false;
        break;
      }
      samples[place] = found->second;
    }
    if (complete) {
      block.block = block_of(order, samples);
      for (size_t place = 0; place < samples.size() && !block.block.median_only; ++place) {
        block.nanoseconds[place] = samples[place].nanoseconds;
      }
    } else {
      block.block.order = order;
    }
    blocks.push_back(std::move(block));
  }
  return blocks;
}

std::map<std::string, Timed> BlockMeter::planned(bool of_change) {
  const std::unique_ptr<TimingProcess> process = settings_.start();
  std::map<std::string, Timed> planned;
  for (const ArmCase& one : settings_.cases) {
    if (planned.contains(one.kernel_id)) continue;
    planned[one.kernel_id] = process->time(of_change ? one.change : one.base, one.c, {});
  }
  return planned;
}

}  // namespace assay
