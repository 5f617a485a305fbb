#include "measure/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/error.h"

namespace assay {
namespace {

double share_above(std::span<const double> values, double limit) {
  const auto above = std::ranges::count_if(values, [&](double value) { return value > limit; });
  return values.empty() ? std::numeric_limits<double>::quiet_NaN()
                        : static_cast<double>(above) / static_cast<double>(values.size());
}

}  // namespace

double quantile(std::span<const double> sorted, double p) {
  if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double position = static_cast<double>(sorted.size() - 1) * p;
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (position - static_cast<double>(below));
}

double tail_mass(std::span<const double> values, double median) { return share_above(values, 1.05 * median); }

double stall_mass(std::span<const double> values, double median) { return share_above(values, 1.4 * median); }

std::vector<double> launch_microseconds(const SampleSet& samples) {
  std::vector<double> values;
  values.reserve(samples.nanoseconds.size());
  for (const int64_t ns : samples.nanoseconds) {
    values.push_back(static_cast<double>(ns) / (1e3 * static_cast<double>(samples.batch)));
  }
  return values;
}

LatencySummary summarize(std::string metric, const SampleSet& samples, std::string samples_file) {
  std::vector<double> sorted = launch_microseconds(samples);
  if (sorted.empty()) throw Error("no latency samples of '" + metric + "' to summarise");
  std::sort(sorted.begin(), sorted.end());
  const double p50 = quantile(sorted, 0.5);
  std::vector<double> clocks = samples.sm_mhz;
  std::erase(clocks, 0);
  std::sort(clocks.begin(), clocks.end());
  return {.metric = std::move(metric),
          .samples = std::ssize(sorted),
          .p50_us = p50,
          .p90_us = quantile(sorted, 0.9),
          .p99_us = quantile(sorted, 0.99),
          .mean_us = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size()),
          .tail_mass = tail_mass(sorted, p50),
          .quantum_us = static_cast<double>(samples.quantum_ns) * 1e-3,
          .batch = static_cast<double>(samples.batch),
          .coarse = samples.coarse,
          .samples_file = std::move(samples_file),
          .involuntary_switches = samples.involuntary_switches,
          .sm_mhz = clocks.empty() ? 0 : quantile(clocks, 0.5),
          .sm_mhz_low = clocks.empty() ? 0 : clocks.front()};
}

}  // namespace assay
