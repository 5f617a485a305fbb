#include "race.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

namespace assay::ratios {
namespace {

constexpr double kLeastSeconds = 0.03;
constexpr auto kRest = std::chrono::milliseconds(40);

double seconds_of(const std::function<void()>& run, int64_t times) {
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < times; ++i) run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void time_once(Contestant& c) {
  std::this_thread::sleep_for(kRest);
  const double once = seconds_of(c.run, 1);
  if (once >= kLeastSeconds && !c.seconds.empty()) {
    c.seconds.push_back(once);
    return;
  }
  const auto times = static_cast<int64_t>(std::clamp(kLeastSeconds / std::max(once, 1e-7), 1.0, 1e5));
  c.seconds.push_back(seconds_of(c.run, times) / static_cast<double>(times));
}

}  // namespace

void race(std::vector<Contestant>& contestants, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < contestants.size(); ++i) {
      time_once(contestants[round % 2 == 0 ? i : contestants.size() - 1 - i]);
    }
  }
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

size_t fastest(const std::vector<Contestant>& contestants, size_t begin, size_t end) {
  size_t best = begin;
  for (size_t i = begin + 1; i < end; ++i) {
    if (median(contestants[i].seconds) < median(contestants[best].seconds)) best = i;
  }
  return best;
}

std::vector<double> ratios_of(const Contestant& ours, const Contestant& theirs, double work_ratio) {
  std::vector<double> ratios(ours.seconds.size());
  for (size_t i = 0; i < ratios.size(); ++i) ratios[i] = work_ratio * theirs.seconds[i] / ours.seconds[i];
  return ratios;
}

}  // namespace assay::ratios
