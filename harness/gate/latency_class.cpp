#include "gate/latency_class.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "core/draw.h"
#include "measure/signed_rank.h"

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Of a case, from which on they tell how noisy it is.
constexpr int64_t kTellingBlocks = 24;

// Standard error of the estimate that the gate takes from `blocks` of them, by the bootstrap (Efron, "Bootstrap
// methods: another look at the jackknife", 1979): wild blocks count as little here as there, and a case whose processes
// are of two kinds is as uncertain as it is, which the interval of many blocks, divided by their root, hides. Infinite
// for too few to say.
double error_of_estimate(std::span<const double> deltas, int64_t blocks) {
  constexpr int kSamples = 400;
  constexpr size_t kLeastBlocks = 5;
  if (deltas.size() < kLeastBlocks) return kInfinity;
  Draw draw(1);
  std::vector<double> sample(static_cast<size_t>(blocks));
  double sum = 0, squares = 0;
  for (int i = 0; i < kSamples; ++i) {
    for (double& delta : sample) delta = deltas[draw.below(deltas.size())];
    const double estimate = SignedRank(sample).estimate();
    sum += estimate;
    squares += estimate * estimate;
  }
  const double mean = sum / kSamples;
  return std::sqrt(std::max(0.0, squares / kSamples - mean * mean));
}

using DeltasByCase = std::map<std::string, PerMetric<std::vector<double>>>;

void calibrate_metric(const LatencyPolicy& policy, const DeltasByCase& cases, size_t metric, LatencyClass& into) {
  std::vector<Variance> variances;
  std::vector<double*> barely_known;
  double squares = 0, counted = 0, largest = 0;
  for (const auto& [id, deltas] : cases) {
    std::vector<double> known;
    std::ranges::copy_if(deltas[metric], std::back_inserter(known), [](double delta) { return std::isfinite(delta); });
    // As in a gate, where a block that lacks a metric is void for it: a few are no reason not to gate it.
    if (known.empty() ||
        static_cast<double>(known.size()) < (1 - policy.void_share) * static_cast<double>(deltas[metric].size()))
      continue;
    variances.push_back(variance_of(known));
    const double error = error_of_estimate(known, policy.changes[metric].margin_blocks);
    into.cases[id][metric] = {variances.back(), error};
    if (std::ssize(known) < kTellingBlocks) barely_known.push_back(&into.cases[id][metric]->error);
    if (!std::isfinite(error)) continue;
    squares += error * error;
    largest = std::max(largest, error);
    ++counted;
  }
  into.prior[metric] = fit_variance_prior(variances);
  into.error[metric] = counted > 0 ? std::sqrt(squares / counted) : kInfinity;
  into.largest[metric] = largest;
  for (double* error : barely_known) *error = largest;
}

// `own`: the case's error, where it is known, or else the largest of its class: a case may be noisier than its class is
// as a whole.
Margin margin_of(const LatencyPolicy& policy, const LatencyClass& of, LatencyMetric metric, bool is_measured,
                 double own) {
  const auto i = static_cast<size_t>(metric);
  Margin here{.gates = metric == LatencyMetric::p50 || is_measured,
              .least = delta_of(metric, policy.changes[i].least),
              .margin = delta_of(metric, policy.changes[i].margin)};
  const double noise = policy.margin_errors * std::max(of.error[i], own);
  if (of.blocks == 0 || (here.gates && !std::isfinite(noise))) {
    here.blind = true;
    here.note = "not calibrated with enough blocks: what cannot be seen here is not known";
  } else if (!here.gates) {
    here.note = "not gated: its samples are of batches, coarse, or too few, or its calibration has none of this";
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
      if (metric == static_cast<size_t>(LatencyMetric::stall) && !recorded.block.keeps_stalls()) continue;
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
    const LatencyClass::Noise unknown{.error = of.largest[i]};
    const LatencyClass::Noise noise = is_known ? own->second[i].value_or(unknown) : unknown;
    gated.margins[i] = margin_of(policy, of, metric, is_measured, noise.error);
    gated.margins[i].unproven = gated.margins[i].gates && !is_known && metric != LatencyMetric::p50;
    gated.priors[i] = combine(gated.priors[i], noise.variance, policy.prior_freedom);
  }
  return gated;
}

}  // namespace assay
