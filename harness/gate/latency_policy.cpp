#include "gate/latency_policy.h"

#include <cmath>
#include <numeric>

#include "gate/toml_file.h"
#include "measure/signed_rank.h"

namespace assay {
namespace {

double fraction(TomlTable& table, const char* key) {
  const double value = table.positive(key);
  if (value >= 1) table.fail(key, "must be below 1");
  return value;
}

int64_t count_between(TomlTable& table, const char* key, int64_t least, int64_t most) {
  const uint64_t value = table.count(key);
  if (value < static_cast<uint64_t>(least) || value > static_cast<uint64_t>(most)) {
    table.fail(key, "must be from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return static_cast<int64_t>(value);
}

constexpr int64_t kMostBlocks = SignedRank::kMostBlocks;

// Counts of blocks, rising.
std::vector<int64_t> read_looks(TomlTable& table, const char* key, int64_t least) {
  std::vector<int64_t> looks;
  for (const double look : table.numbers(key)) {
    const bool rises = looks.empty() || look > static_cast<double>(looks.back());
    if (look < static_cast<double>(least) || look > kMostBlocks || look != std::floor(look) || !rises) {
      table.fail(key, "must be counts of blocks that rise, from " + std::to_string(least) + " to " +
                          std::to_string(kMostBlocks));
    }
    looks.push_back(static_cast<int64_t>(look));
  }
  return looks;
}

std::vector<double> read_spends(TomlTable& table, size_t looks) {
  std::vector<double> spends = table.numbers("spends");
  if (spends.size() != looks) table.fail("spends", "must have one share for each of `looks`");
  for (const double share : spends) {
    if (share < 0) table.fail("spends", "must not be negative");
  }
  if (std::fabs(std::accumulate(spends.begin(), spends.end(), 0.0) - 1) > 1e-9) {
    table.fail("spends", "must be 1 together");
  }
  return spends;
}

LatencyPolicy::Samples read_samples(TomlTable table) {
  table.allow({"warm", "cold", "seconds", "tail_seconds", "turns"});
  return {.warm = count_between(table, "warm", 1, 100'000),
          .cold = count_between(table, "cold", 1, 100'000),
          .seconds = table.positive("seconds"),
          .tail_seconds = table.positive("tail_seconds"),
          .turns = count_between(table, "turns", 1, 100)};
}

LatencyPolicy::Voids read_voids(TomlTable table) {
  table.allow({"steal", "foreign", "sentinel"});
  return {fraction(table, "steal"), fraction(table, "foreign"), fraction(table, "sentinel")};
}

// A table of each target.
template <class Entry>
std::map<std::string, Entry> by_target(TomlTable table, Entry (*read)(TomlTable)) {
  const std::vector<std::string> targets{"cpu", "cuda"};
  table.allow(targets);
  std::map<std::string, Entry> all;
  for (const std::string& target : targets) all[target] = read(table.table(target.c_str()));
  return all;
}

}  // namespace

LatencyPolicy read_latency_policy(TomlTable table) {
  std::vector<std::string> keys{"alpha",      "confidence",  "screens",      "looks",         "spends",
                                "void_share", "void_blocks", "tail_samples", "prior_freedom", "margin_errors"};
  for (const LatencyMetric metric : kLatencyMetrics) keys.emplace_back(word_of(metric));
  keys.insert(keys.end(), {"voids", "samples"});
  table.allow(keys);
  LatencyPolicy policy;
  policy.alpha = fraction(table, "alpha");
  policy.confidence = fraction(table, "confidence");
  policy.screens = read_looks(table, "screens", 2);
  policy.looks = read_looks(table, "looks", 1);
  policy.spends = read_spends(table, policy.looks.size());
  policy.void_share = fraction(table, "void_share");
  policy.void_blocks = count_between(table, "void_blocks", 1, 1000000);
  policy.tail_samples = count_between(table, "tail_samples", 1, 1000000);
  policy.prior_freedom = table.positive("prior_freedom");
  policy.margin_errors = table.positive("margin_errors");
  for (const LatencyMetric metric : kLatencyMetrics) {
    TomlTable changes = table.table(word_of(metric));
    changes.allow({"least", "margin", "margin_blocks"});
    auto& [least, margin, margin_blocks] = policy.changes[static_cast<size_t>(metric)];
    least = fraction(changes, "least");
    margin = fraction(changes, "margin");
    margin_blocks = count_between(changes, "margin_blocks", 1, kMostBlocks);
    if (margin <= least) changes.fail("margin", "must be more than `least`");
  }
  policy.voids = by_target(table.table("voids"), read_voids);
  policy.samples = by_target(table.table("samples"), read_samples);
  for (auto& [target, samples] : policy.samples) samples.enough = policy.tail_samples;
  return policy;
}

}  // namespace assay
