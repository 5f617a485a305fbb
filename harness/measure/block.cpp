#include "measure/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/error.h"
#include "measure/summary.h"

namespace assay {

bool is_change(BlockOrder order, size_t process) {
  const bool inner = process == 1 || process == 2;
  return inner == (order == BlockOrder::abba);
}

std::string_view word_of(BlockOrder order) { return order == BlockOrder::abba ? "ABBA" : "BAAB"; }

std::string_view word_of(LatencyMetric metric) {
  static constexpr PerMetric<std::string_view> kWords{"p50", "p90", "tail", "stall"};
  return kWords[static_cast<size_t>(metric)];
}

LatencyMetric metric_named(std::string_view word) {
  for (const LatencyMetric metric : kLatencyMetrics) {
    if (word_of(metric) == word) return metric;
  }
  throw UsageError("no latency metric '" + std::string(word) + "'; there are p50, p90, tail and stall");
}

bool is_fraction(LatencyMetric metric) { return metric == LatencyMetric::tail || metric == LatencyMetric::stall; }

double change_of(LatencyMetric metric, double delta) { return is_fraction(metric) ? delta : std::expm1(delta); }

double delta_of(LatencyMetric metric, double change) { return is_fraction(metric) ? change : std::log1p(change); }

std::string change_text(LatencyMetric metric, double delta) {
  return fmt::format("{:+.2f} {}", 100 * change_of(metric, delta), is_fraction(metric) ? "points" : "%");
}

ProcessLatency process_latency(std::vector<double> samples) {
  if (samples.empty()) throw Error("a process of a block has no latency samples");
  if (!std::ranges::all_of(samples, [](double us) { return us >= 0 && std::isfinite(us); })) {
    throw Error("a process of a block has a latency sample that is no duration");
  }
  std::ranges::sort(samples);
  const double p50 = quantile(samples, 0.5);
  if (p50 <= 0) throw Error("a process of a block has a median latency of 0, below what its clock resolves");
  return {.samples = std::ssize(samples),
          .p50_us = p50,
          .p90_us = quantile(samples, 0.9),
          .p99_us = quantile(samples, 0.99),
          .tail = tail_mass(samples, p50),
          .stall = stall_mass(samples, p50)};
}

CaseBlock block_of(BlockOrder order, const std::array<SampleSet, kProcessesOfABlock>& processes) {
  CaseBlock block{.order = order};
  std::array<std::vector<double>, 2> pooled;
  for (size_t i = 0; i < processes.size(); ++i) {
    const std::vector<double> samples = launch_microseconds(processes[i]);
    block.processes[i] = process_latency(samples);
    block.median_only = block.median_only || processes[i].batch > 1 || processes[i].coarse;
    std::vector<double>& arm = pooled[is_change(order, i) ? 1 : 0];
    arm.insert(arm.end(), samples.begin(), samples.end());
  }
  for (size_t arm = 0; arm < pooled.size(); ++arm) {
    std::sort(pooled[arm].begin(), pooled[arm].end());
    block.pooled_p99_us[arm] = quantile(pooled[arm], 0.99);
  }
  return block;
}

bool CaseBlock::is_measured() const {
  return std::ranges::all_of(processes, [](const ProcessLatency& one) { return one.samples > 0; });
}

bool CaseBlock::keeps_stalls() const {
  return std::ranges::none_of(processes, [](const ProcessLatency& one) { return std::isnan(one.stall); });
}

PerMetric<double> block_deltas(const CaseBlock& block, int64_t least_tail_samples) {
  PerMetric<double> deltas{};
  bool has_fractions = !block.median_only;
  for (size_t i = 0; i < block.processes.size(); ++i) {
    const ProcessLatency& process = block.processes[i];
    const double weight = is_change(block.order, i) ? 0.5 : -0.5;
    deltas[0] += weight * std::log(process.p50_us);
    deltas[1] += weight * std::log(process.p90_us);
    deltas[2] += weight * process.tail;
    deltas[3] += weight * process.stall;
    has_fractions = has_fractions && process.samples >= least_tail_samples;
  }
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  if (!block.is_measured()) return {kUnknown, kUnknown, kUnknown, kUnknown};
  if (block.median_only) deltas[1] = kUnknown;
  if (!has_fractions) deltas[2] = deltas[3] = kUnknown;
  return deltas;
}

}  // namespace assay
