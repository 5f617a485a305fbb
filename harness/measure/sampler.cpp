#include "measure/sampler.h"

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <exception>
#include <limits>

#include "core/error.h"

namespace assay {
namespace {

constexpr int64_t kShortestNs = 10'000;
constexpr int64_t kShortestQuanta = 20;
constexpr int64_t kLargestBatch = int64_t{1} << 22;
constexpr int kClockReadings = 2001;

struct SilentReporter : benchmark::BenchmarkReporter {
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

int64_t involuntary_switches() {
  rusage usage{};
  ASSAY_SYSTEM(getrusage(RUSAGE_SELF, &usage));
  return usage.ru_nivcsw;
}

// Median seconds of the warm-up's samples, and how many launches it took.
struct WarmUp {
  double launch_seconds = 0;
  double sample_seconds = 0;  // with what precedes it
  int64_t launches = 0;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

WarmUp warm_up(const SamplerOptions& options, const std::function<void()>& launch,
               const std::function<void()>& before_each) {
  std::vector<double> launches, samples;
  const int64_t begin = now_ns();
  const auto enough_ns = static_cast<int64_t>(options.warm_up_seconds * 1e9);
  while (std::ssize(launches) < std::max<int64_t>(1, options.warm_up_launches) || now_ns() - begin < enough_ns) {
    const int64_t before = now_ns();
    if (before_each) before_each();
    const int64_t start = now_ns();
    launch();
    const int64_t end = now_ns();
    launches.push_back(static_cast<double>(end - start) * 1e-9);
    samples.push_back(static_cast<double>(end - before) * 1e-9);
  }
  return {median(launches), median(samples), std::ssize(launches)};
}

}  // namespace

int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

ClockFacts measure_clock(const std::function<int64_t()>& clock) {
  std::vector<double> pairs;
  int64_t quantum = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < kClockReadings; ++i) {
    const int64_t first = clock();
    const int64_t second = clock();
    pairs.push_back(static_cast<double>(second - first));
    int64_t stepped = second;
    while (stepped == first) stepped = clock();
    quantum = std::min(quantum, stepped - first);
  }
  return {quantum, static_cast<int64_t>(median(pairs))};
}

int64_t shortest_interval_ns(const ClockFacts& clock) {
  return std::max(kShortestNs, kShortestQuanta * clock.quantum_ns);
}

int64_t batch_for(int64_t shortest_ns, const std::function<int64_t(int64_t)>& launches_ns) {
  for (int64_t batch = 1;; batch *= 2) {
    // The shortest of three: one interruption must not make a short launch look long enough.
    const int64_t duration = std::min({launches_ns(batch), launches_ns(batch), launches_ns(batch)});
    if (duration >= shortest_ns || batch == kLargestBatch) return batch;
  }
}

int64_t sample_count(const SamplerOptions& options, double sample_seconds, double launch_seconds) {
  const int64_t wanted = launch_seconds < 50e-6    ? options.below_50us
                         : launch_seconds < 500e-6 ? options.below_500us
                                                   : options.longer;
  if (!(sample_seconds > 0)) return wanted;
  const auto affordable = [&](double seconds) { return static_cast<int64_t>(std::min(seconds / sample_seconds, 1e9)); };
  const int64_t count = std::max({affordable(options.budget_seconds), options.least,
                                  std::min(options.enough, affordable(options.enough_seconds))});
  return std::min(wanted, count);
}

SampleSet sample(const SamplerOptions& options, const std::function<void()>& launch,
                 const std::function<void()>& before_each, const std::function<void()>& before_last) {
  const ClockFacts clock = measure_clock();
  const int64_t shortest = shortest_interval_ns(clock);
  SampleSet set{.quantum_ns = clock.quantum_ns, .empty_pair_ns = clock.empty_pair_ns};

  const WarmUp warm = warm_up(options, launch, before_each);
  set.warm_up_launches = warm.launches;
  double sample_seconds = warm.sample_seconds;
  const bool is_short = !options.single && warm.launch_seconds * 1e9 < static_cast<double>(shortest);
  if (before_each) {
    set.coarse = is_short;
  } else if (is_short) {
    int64_t last_duration = 0;
    set.batch = batch_for(shortest, [&](int64_t launches) {
      set.warm_up_launches += launches;
      const int64_t start = now_ns();
      for (int64_t i = 0; i < launches; ++i) launch();
      return last_duration = now_ns() - start;
    });
    set.coarse = last_duration < shortest;  // only where the largest batch is still too short
    sample_seconds = std::max(sample_seconds, static_cast<double>(last_duration) * 1e-9);
  }

  const int64_t count = sample_count(options, sample_seconds, warm.launch_seconds);
  set.nanoseconds.assign(static_cast<size_t>(count), 0);
  std::exception_ptr thrown;
  size_t taken = 0;
  const auto body = [&](benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) {
      try {
        if (before_each) before_each();
        const int64_t start = now_ns();
        for (int64_t i = 0; i < set.batch; ++i) launch();
        const int64_t duration = now_ns() - start;
        if (taken < set.nanoseconds.size()) set.nanoseconds[taken] = duration;
        ++taken;
        state.SetIterationTime(static_cast<double>(duration) * 1e-9);
      } catch (...) {
        thrown = std::current_exception();
        state.SkipWithError("the launch threw");
        break;
      }
    }
  };
  SilentReporter reporter;
  benchmark::ClearRegisteredBenchmarks();
  benchmark::RegisterBenchmark(options.name.c_str(), body)->Iterations(count)->UseManualTime();
  const int64_t switches = involuntary_switches();
  benchmark::RunSpecifiedBenchmarks(&reporter, ".");
  set.involuntary_switches = involuntary_switches() - switches;
  benchmark::ClearRegisteredBenchmarks();
  if (thrown) std::rethrow_exception(thrown);
  if (taken != set.nanoseconds.size()) {
    throw Error("the benchmark driver ran " + std::to_string(taken) + " of " + std::to_string(count) + " iterations");
  }
  if (before_last) {
    before_last();
    if (before_each) before_each();
    launch();
  }
  return set;
}

}  // namespace assay
