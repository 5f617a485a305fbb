// What the blocks of one case say of one metric.
#pragma once

#include <cstdint>
#include <span>

#include "gate/latency_class.h"
#include "measure/moderated_t.h"

namespace assay {

struct LatencyReading {
  int64_t blocks = 0;
  double estimate = 0;          // of the delta
  ConfidenceInterval interval;  // of it, 95 %
  double upper = 0;             // one-sided bound at the confidence asked for
  double p_slower = 1;          // p value of "at most Margin::least"
  double p_faster = 1;          // p value of "at least -Margin::least"

  bool operator==(const LatencyReading&) const = default;
};

// By the moderated t: the estimate is the mean.
LatencyReading read_by_t(std::span<const double> deltas, const Variance& prior, const Margin& margin,
                         double confidence);

// By signed ranks: the estimate is that of Hodges and Lehmann.
LatencyReading read_by_ranks(std::span<const double> deltas, const Margin& margin, double confidence);

}  // namespace assay
