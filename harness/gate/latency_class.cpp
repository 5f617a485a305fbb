#include "gate/latency_class.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "measure/signed_rank.h"

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Of the estimate that the gate takes, from its own interval, so that wild blocks count as little here as there.
// Nothing for fewer blocks than have one.
double error_of_one_block(std::span<const double> deltas) {
  constexpr double kConfidence = 0.95, kNormalQuantile = 1.6448536269514722;
  const auto used = deltas.first(std::min<size_t>(deltas.size(), SignedRank::kMostBlocks));
  const ConfidenceInterval bounds = SignedRank(used).bounds(kConfidence);
  const double blocks = static_cast<double>(used.size());
  return (bounds.upper - bounds.lower) / (2 * kNormalQuantile) * std::sqrt(blocks);
}

using DeltasByCase = std::map<std::string, PerMetric<std::vector<double>>>;

void calibrate_metric(const LatencyPolicy& policy, const DeltasByCase& cases, size_t metric, LatencyClass& into) {
  std::vector<Variance> variances;
  double squares = 0, counted = 0;
  for (const auto& [id, deltas] : cases) {
    if (!std::ranges::all_of(deltas[metric], [](double delta) { return std::isfinite(delta); })) continue;
    variances.push_back(variance_of(deltas[metric]));
    into.cases[id][metric] = variances.back();
    const double error = error_of_one_block(deltas[metric]);
    if (!std::isfinite(error)) continue;
    squares += error * error;
    ++counted;
  }
  into.prior[metric] = fit_variance_prior(variances);
  const double one = counted > 0 ? std::sqrt(squares / counted) : kInfinity;
  into.error[metric] = one / std::sqrt(static_cast<double>(policy.margin_blocks));
}

Margin margin_of(const LatencyPolicy& policy, const LatencyClass& of, LatencyMetric metric, bool is_measured) {
  const auto i = static_cast<size_t>(metric);
  Margin here{.gates = metric == LatencyMetric::p50 || is_measured,
              .least = delta_of(metric, policy.changes[i].least),
              .margin = delta_of(metric, policy.changes[i].margin)};
  const double noise = policy.margin_errors * of.error[i];
  if (of.blocks == 0 || (here.gates && !std::isfinite(noise))) {
    here.blind = true;
    here.note = "not calibrated with enough blocks: what cannot be seen here is not known";
  } else if (!here.gates) {
    here.note = "not gated: its samples are of batches, coarse, or too few";
  } else if (noise > here.margin) {
    here.note = fmt::format("too noisy to see {} of {}: the margin is {}", change_text(metric, here.margin),
                            word_of(metric), change_text(metric, noise));
    here.margin = noise;
    here.blind = true;
  }
  return here;
}

}  // namespace

std::map<std::string, LatencyClass> calibrate(const LatencyPolicy& policy, std::span<const RecordedBlock> blocks) {
  std::map<std::string, DeltasByCase> deltas;
  std::map<std::string, LatencyClass> classes;
  for (const RecordedBlock& recorded : blocks) {
    if (recorded.is_void()) continue;
    ++classes[recorded.latency_class].blocks;
    const PerMetric<double> of_block = block_deltas(recorded.block, policy.tail_samples);
    for (size_t metric = 0; metric < of_block.size(); ++metric) {
      deltas[recorded.latency_class][recorded.case_id][metric].push_back(of_block[metric]);
    }
  }
  for (auto& [name, of] : classes) {
    of.name = name;
    for (size_t metric = 0; metric < kLatencyMetrics.size(); ++metric) {
      calibrate_metric(policy, deltas[name], metric, of);
    }
  }
  return classes;
}

GatedCase gated_case(const LatencyPolicy& policy, const LatencyClass& of, const std::string& id) {
  GatedCase gated{.id = id, .latency_class = of.name, .priors = of.prior};
  const auto own = of.cases.find(id);
  for (const LatencyMetric metric : kLatencyMetrics) {
    const auto i = static_cast<size_t>(metric);
    const bool is_known = own != of.cases.end();
    const bool is_measured = is_known ? own->second[i].has_value() : of.prior[i].freedom > 0;
    gated.margins[i] = margin_of(policy, of, metric, is_measured);
    gated.margins[i].unproven = gated.margins[i].gates && !is_known && metric != LatencyMetric::p50;
    const Variance past = is_known ? own->second[i].value_or(Variance{}) : Variance{};
    gated.priors[i] = combine(gated.priors[i], past, policy.prior_freedom);
  }
  return gated;
}

}  // namespace assay
