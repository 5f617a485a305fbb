#include "gate/latency_reading.h"

#include "measure/signed_rank.h"

namespace assay {
namespace {

constexpr double kTwoSided = 0.975;  // of each bound of a 95 % interval

LatencyReading read(const auto& statistic, size_t blocks, const Margin& margin, double confidence) {
  return {.blocks = static_cast<int64_t>(blocks),
          .estimate = statistic.estimate(),
          .interval = statistic.bounds(kTwoSided),
          .upper = statistic.bounds(confidence).upper,
          .p_slower = statistic.p_above(margin.least),
          .p_faster = statistic.p_below(-margin.least)};
}

}  // namespace

LatencyReading read_by_t(std::span<const double> deltas, const Variance& prior, const Margin& margin,
                         double confidence) {
  return read(ModeratedT(deltas, prior), deltas.size(), margin, confidence);
}

LatencyReading read_by_ranks(std::span<const double> deltas, const Margin& margin, double confidence) {
  return read(SignedRank(deltas), deltas.size(), margin, confidence);
}

}  // namespace assay
