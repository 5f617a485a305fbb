// A gate of made-up cases that is driven block after block by deltas made by hand.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gate/latency_gate.h"
#include "gate/policy.h"

namespace assay {

inline constexpr size_t kP50 = 0, kP90 = 1, kTail = 2;

inline const LatencyPolicy& policy() {
  static const LatencyPolicy kPolicy = *read_policy(ASSAY_SOURCE_DIR "/ci/policy").latency;
  return kPolicy;
}

// Gated by p50 alone, with a margin of 2 % and a prior of 0.2 % a block.
inline GatedCase gated(const std::string& id) {
  GatedCase c{.id = id, .latency_class = "class"};
  c.margins[kP50] = {.gates = true, .least = 0.003, .margin = 0.02};
  c.priors[kP50] = {.value = 0.002 * 0.002, .freedom = 20};
  return c;
}

inline GatedCase with_tail(GatedCase c) {
  c.margins[kTail] = {.gates = true, .least = 0.002, .margin = 0.01};
  c.priors[kTail] = {.value = 0.001 * 0.001, .freedom = 20};
  return c;
}

// Deltas that lie around `centre` and add up to nothing more.
inline double around(double centre, int64_t block, double spread = 0.001) {
  return centre + spread * (block % 2 == 0 ? 1 : -1) * (1 + 0.01 * static_cast<double>(block));
}

// One more block of what is wanted; `delta` gives p50 by case and number of the block.
class Driver {
 public:
  explicit Driver(std::vector<GatedCase> cases, AlphaLedger ledger = {})
      : gate(policy(), std::move(cases), std::move(ledger)) {}

  bool step(const std::function<double(size_t, int64_t)>& p50,
            const std::function<std::optional<VoidBlock>(size_t)>& voided = nullptr) {
    const std::vector<size_t> wanted = gate.wanted();
    if (wanted.empty()) return false;
    std::vector<MeasuredCase> block;
    for (const size_t c : wanted) {
      block.push_back({.index = c, .deltas = {p50(c, blocks), 0, 0}});
      if (voided) block.back().voided = voided(c);
    }
    gate.add(block);
    ++blocks;
    return true;
  }
  LatencyResult run(const std::function<double(size_t, int64_t)>& p50) {
    while (step(p50)) {
    }
    return gate.result();
  }

  LatencyGate gate;
  int64_t blocks = 0;
};

inline std::function<double(size_t, int64_t)> all_around(double centre, double spread = 0.001) {
  return [=](size_t, int64_t block) { return around(centre, block, spread); };
}

}  // namespace assay
