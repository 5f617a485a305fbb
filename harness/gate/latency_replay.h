// Error rates of the latency gate on a machine, from blocks recorded there in which base and change were one build.
//
// Of each case the first half of its blocks calibrates, and the gates are made of the second half: a run of consecutive
// blocks from a random one on, so that what lasts for several blocks does so here, then another run (the moving-block
// bootstrap: Kuensch, "The jackknife and the bootstrap for general stationary observations", 1989). Cases of a class go
// through their blocks together, as they were measured. Each block gets a new coin for its order: its processes were
// alike, so which of them were the change's was an accident. That also makes all gates unchanged ones on average, and
// hides a machine that treats the arms differently; whether it does, the order as it was recorded tells (`bias`).
//
// Stalls gate where all held-out blocks of a case kept them.
//
// A known change is put into the processes that the coin gives to the change: a shift into their quantiles, exactly; a
// tail or a second mode into the samples, where they were kept.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/draw.h"
#include "gate/latency_gate.h"
#include "measure/blocks_file.h"

namespace assay {

struct KnownChange {
  std::string name;
  double shift = 0;  // of every sample: 0.02 is 2 % slower
  double share = 0;  // of samples, drawn at random, that are `times` as long
  double times = 1;
  bool beyond_margin = false;  // the shift comes on top of the case's margin of p50

  bool needs_samples() const { return share > 0; }
};
// Those of the published table: 1, 2, 3 and 5 % slower, 1 % beyond the margin; one and two samples in a hundred 1.5
// times as long; one in five 1.1 times as long.
const std::vector<KnownChange>& known_changes();

// To the microseconds of a process's launches.
void apply(const KnownChange& change, Draw& draw, std::span<double> microseconds);

// A recorded block in another order, with the change in its arm; the pooled p99, which decides nothing, without it.
// Throws Error where the samples it needs were not kept.
CaseBlock replayed(const RecordedBlock& recorded, BlockOrder order, const KnownChange& change, Draw& draw);

struct Rate {
  int64_t seen = 0, of = 0;
  void count(bool is_one) {
    ++of;
    seen += is_one;
  }
  void operator+=(const Rate& other) {
    seen += other.seen;
    of += other.of;
  }
  double share() const { return static_cast<double>(seen) / static_cast<double>(of); }
  ConfidenceInterval interval() const;  // 95 %, Clopper and Pearson (1934)
};
std::string text_of(const Rate& rate);  // "0.10 % (0.01 to 0.36) of 2000"

struct ReplayOptions {
  int64_t gates = 2000;    // unchanged ones, of each class
  size_t cases = 50;       // of a gate; a class with fewer lends some more than once
  int64_t changed = 1000;  // cases with each known change, one in ten of a gate's
  uint64_t seed = 1;
};

struct ReplayedClass {
  std::string name;  // "(all)": gates of the cases of every class
  size_t cases = 0;
  int64_t calibrating = 0, held_out = 0, voids = 0;  // blocks of single cases; void ones are in neither
  // Of the cases for which the metric gates; none of them in "(all)".
  struct Margins {
    int64_t cases = 0, blind = 0;
    double smallest = 0, largest = 0;
  };
  PerMetric<Margins> margins{};
  Rate regress, inconclusive, invalid;  // of unchanged gates, by exit code
  double blocks_a_case = 0;             // that such a gate measures
  struct Power {
    KnownChange change;
    Rate regress, inconclusive;  // of changed cases, by their worst metric; of none where no samples were kept
  };
  std::vector<Power> power;
  // p value, two-sided, of "the order of a block does not matter" over the recorded ones' median cases.
  PerMetric<double> bias{1, 1, 1};
};

// By class, then all of them where there are several. Throws UsageError for a class none of whose cases has two blocks.
std::vector<ReplayedClass> replay(const LatencyPolicy& policy, std::span<const RecordedBlock> blocks,
                                  const ReplayOptions& options);

std::string markdown(const std::vector<ReplayedClass>& classes, const ReplayOptions& options);

}  // namespace assay
