// The sampling loop of a timing worker: how long one launch takes, many times, in the order it happened.
//
// Method. Google Benchmark drives (manual time, a fixed number of iterations) and decides nothing: raw durations go to
// a preallocated buffer and every number of a report is computed from those. The clock is CLOCK_MONOTONIC_RAW, which
// nothing slews. Its quantum and the duration of an empty pair of readings are measured first; a launch shorter than
// 10 us or 20 quanta is timed in batches, whose samples are means and hide single stalls, so the batch is part of the
// result. A cold launch cannot be batched, since only the first of a batch would be cold; it says `coarse` instead.
// Nothing is subtracted and no sample is dropped. Threads and affinity are the caller's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace assay {

struct SamplerOptions {
  std::string name;  // of the benchmark: kernel id and metric
  // Samples by the class of the launch's duration.
  int64_t below_50us = 500, below_500us = 200, longer = 50;
  // Fewer are taken when this would be exceeded, down to `least`.
  double budget_seconds = 2;
  int64_t least = 11;
  // Fewer than `enough` are taken when this longer time would be exceeded: what needs that many samples to be seen at
  // all is worth it, and does not come and go with how busy the machine is.
  int64_t enough = 0;
  double enough_seconds = 0;
  // Warm-up: whichever is longer.
  int64_t warm_up_launches = 5;
  double warm_up_seconds = 0.020;
  // A sample is of one launch, however short, and is not `coarse`: for one near the shortest that is worth timing, of
  // which some turns would give batches and others single launches.
  bool single = false;
};

struct SampleSet {
  std::vector<int64_t> nanoseconds;  // of a whole batch, in the order taken
  int64_t batch = 1;                 // launches a sample
  bool coarse = false;               // shorter than the clock resolves well, and could not be batched
  int64_t warm_up_launches = 0;      // done before the first sample
  int64_t quantum_ns = 0;            // smallest step of the clock seen
  int64_t empty_pair_ns = 0;         // median of two readings with nothing between
  int64_t involuntary_switches = 0;  // of the process while sampling
  // On a GPU, the clock of a multiprocessor during each sample; 0 where one was too short to tell. Empty elsewhere.
  std::vector<double> sm_mhz;
};

// Runs `launch` (which returns when the work is done) and before every sample, outside the interval, `before_each`:
// empty for warm, a cache flush for cold. With `before_last` there is one launch more, right behind the samples and not
// timed, after that was called: what it leaves can be looked at. What any of them throws comes out of here, and no
// sample with it.
SampleSet sample(const SamplerOptions& options, const std::function<void()>& launch,
                 const std::function<void()>& before_each = nullptr,
                 const std::function<void()>& before_last = nullptr);

// CLOCK_MONOTONIC_RAW in nanoseconds.
int64_t now_ns();

struct ClockFacts {
  int64_t quantum_ns = 0, empty_pair_ns = 0;
};
ClockFacts measure_clock(const std::function<int64_t()>& clock = now_ns);

// Shortest interval worth timing with that clock: 10 us or 20 quanta, whichever is longer.
int64_t shortest_interval_ns(const ClockFacts& clock);

// Launches a sample: 1 when `launches_ns(1)` is long enough, else the smallest power of two for which it is.
// `launches_ns(n)` runs n launches and gives their duration.
int64_t batch_for(int64_t shortest_ns, const std::function<int64_t(int64_t)>& launches_ns);

// How many samples of a given duration fit the options.
int64_t sample_count(const SamplerOptions& options, double sample_seconds, double launch_seconds);

}  // namespace assay
