// One block of the A/B gate: four fresh processes, two an arm, in the order ABBA or BAAB, time one case. The block is
// the unit of inference: samples of one process share its layout, its clocks and its memory, and are no independent
// evidence of an arm. Either order cancels a drift that is linear in time.
//
// The order is the flip of a fair coin of its own, never alternated nor balanced: what signed_rank.h says of a machine
// that behaves anyhow rests on that and on nothing else.
//
// What sees what, beside a shift of everything:
//   p50   a shift, whatever the number of samples. Not a mode that fewer than half of the launches take.
//   p90   a second mode that a tenth of the samples or more take, once the processes have ten samples or more.
//   tail  modes and stalls rarer than that, from 5 % above the median on. It counts samples: a stall once in a hundred
//         launches shows in seven of eight blocks of 100 samples a process, in two of three of 50, in one of three
//         of 20.
//   stall launches of more than 1.4 times the median. On shared cores many launches are slower than the median by
//         5 %, by turns more and less of them, and few by 40 %: one more in a hundred of these shows where it does
//         not in the tail.
// A sample of a batch is a mean over its launches: of a second mode (one launch in five 1.1 times as long) it shows a
// shift by 2 %, of a stall (one in a hundred 1.5 times as long) one by 0.5 %, and no tail. A coarse sample is a few
// quanta of the clock. Both have a median and nothing else, and block_deltas() says so by NaN.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "measure/sampler.h"

namespace assay {

enum class BlockOrder { abba, baab };  // A: base; B: change
inline constexpr size_t kProcessesOfABlock = 4;
bool is_change(BlockOrder order, size_t process);  // by place in time, 0 to 3
std::string_view word_of(BlockOrder order);        // "ABBA", "BAAB"

// What the samples of one process say of one case.
struct ProcessLatency {
  int64_t samples = 0;
  double p50_us = 0, p90_us = 0, p99_us = 0;  // of a launch
  double tail = 0;                            // fraction above 1.05 times the process's own median
  double stall = 0;                           // above 1.4 times; NaN where a file was written before it was kept

  bool operator==(const ProcessLatency&) const = default;
};

struct CaseBlock {
  BlockOrder order = BlockOrder::abba;
  std::array<ProcessLatency, kProcessesOfABlock> processes;  // in time
  bool median_only = false;                                  // samples of batches, or coarse ones
  std::array<double, 2> pooled_p99_us{};                     // base, change: of both processes' samples; reported only

  bool is_measured() const;   // false where a kernel failed or refused in a process: then there are no samples of any
  bool keeps_stalls() const;  // false for a block of a file from before: whether its samples had any is not known
  bool operator==(const CaseBlock&) const = default;
};

// Throw Error for a process without samples, with one that is negative or not a number, or with a median of 0, whose
// logarithm is none. Samples are microseconds of a launch, in any order.
ProcessLatency process_latency(std::vector<double> samples);
CaseBlock block_of(BlockOrder order, const std::array<SampleSet, kProcessesOfABlock>& processes);

// Metrics that gate. Each of a block is a difference, change minus base:
//   p50, p90     of the mean over an arm's two processes of the logarithm of that quantile: 0.02 is 2 % slower
//   tail, stall  of the mean fraction: 0.01 is one percentage point
enum class LatencyMetric { p50, p90, tail, stall };
inline constexpr std::array kLatencyMetrics{LatencyMetric::p50, LatencyMetric::p90, LatencyMetric::tail,
                                            LatencyMetric::stall};
bool is_fraction(LatencyMetric metric);  // of the samples: tail, stall
std::string_view word_of(LatencyMetric metric);
LatencyMetric metric_named(std::string_view word);  // throws UsageError that lists the words

// A delta of p50 or p90 as the change it is, 0.02 for 2 % slower; a fraction's is one already. And the other way round.
double change_of(LatencyMetric metric, double delta);
double delta_of(LatencyMetric metric, double change);
std::string change_text(LatencyMetric metric, double delta);  // "+2.00 %", "+1.00 points"

template <class T>
using PerMetric = std::array<T, kLatencyMetrics.size()>;  // indexed by the enumeration

// NaN where the block says nothing: all of one that was not measured, all but p50 of a block of medians, fractions
// where a process has fewer than `least_tail_samples`.
PerMetric<double> block_deltas(const CaseBlock& block, int64_t least_tail_samples);

}  // namespace assay
