// Error rates of the latency gate on made-up machines, counted.
#pragma once

#include <gtest/gtest.h>

#include "gate/policy.h"
#include "latency_world.h"

namespace assay {

inline constexpr size_t kCases = 50;  // of a gate

inline const LatencyPolicy& policy_of_the_tree() {
  static const LatencyPolicy kPolicy = *read_policy(ASSAY_SOURCE_DIR "/ci/policy").latency;
  return kPolicy;
}

struct Unchanged {
  Rate regress, inconclusive;  // of gates
  double blocks_a_case = 0;
};

// Gates of machines that differ in their seeds, each calibrated by itself.
inline Unchanged unchanged_gates(const World& world, int machines, int gates_each, bool makes_samples = false,
                                 size_t cases = kCases) {
  Unchanged all;
  for (int seed = 1; seed <= machines; ++seed) {
    Machine machine(world, static_cast<uint64_t>(seed), makes_samples);
    const std::vector<GatedCase> gated = calibrated_cases(policy_of_the_tree(), machine, cases);
    for (int i = 0; i < gates_each; ++i) {
      LatencyGate gate(policy_of_the_tree(), gated, {});
      const LatencyResult result = run_latency_gate(gate, blocks_of(machine, policy_of_the_tree()));
      all.regress.count(result.exit_code == 1);
      all.inconclusive.count(result.exit_code == 2);
      for (const CaseResult& c : result.cases) all.blocks_a_case += static_cast<double>(c.blocks);
    }
  }
  all.blocks_a_case /= static_cast<double>(all.regress.of) * static_cast<double>(cases);
  return all;
}

// What became of cases with a known change, one in ten of a gate's.
struct Changed {
  Rate called, passed;
};

inline Changed changed_cases(Machine& machine, const std::vector<GatedCase>& gated, const KnownChange& change,
                             size_t gates) {
  Changed all;
  for (size_t i = 0; i < gates; ++i) {
    std::map<size_t, KnownChange> changes;
    for (size_t c = i % 10; c < gated.size(); c += 10) changes[c] = change;
    LatencyGate gate(policy_of_the_tree(), gated, {});
    const LatencyResult result = run_latency_gate(gate, blocks_of(machine, policy_of_the_tree(), changes));
    for (const auto& [c, what] : changes) {
      const LatencyOutcome outcome = worst_outcome(result.cases[c]);
      all.called.count(outcome == LatencyOutcome::regress);
      all.passed.count(outcome == LatencyOutcome::pass);
    }
  }
  return all;
}

inline auto every_world() { return ::testing::Values(quiet_world(), cloud_world(), harsh_world()); }

}  // namespace assay
