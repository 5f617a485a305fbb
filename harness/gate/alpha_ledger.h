// What the gates of one pair, a base and a change, have spent and found so far, so that nobody retries to green, nor is
// unlucky by retrying: saved by the caller after each block, handed to the next gate of the pair.
//
//   - Each gate may spend half of what is left of alpha, so that all of them together never exceed it. A gate that was
//     done after its screen spends nothing.
//   - What was called slower stays so, with the reading it was called by, and what failed has failed: neither is
//     measured again.
//   - What was measured further and not decided is measured further again, whatever the screen says, and must pass at
//     half the error each time: all chances to pass something that is slower by its margin add up to twice the first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gate/latency_reading.h"
#include "measure/block.h"
#include "nlohmann/json_fwd.hpp"

namespace assay {

struct LatencyPair {
  std::string case_id;
  LatencyMetric metric = LatencyMetric::p50;
  bool operator==(const LatencyPair&) const = default;
};

struct AlphaLedger {
  std::string base, change;  // what tells the arms: commits, or hashes of what was built
  int64_t gates = 0;         // begun, this one included
  uint64_t last_seed = 0;    // of the comparison that began last: none but that goes on with the ledger
  double spent = 0;          // of alpha
  struct Called {
    LatencyPair pair;
    LatencyReading reading;  // by which; of no blocks where an older ledger kept none
    std::string failure{};   // how the change failed; empty: it is slower
    bool operator==(const Called&) const = default;
  };
  std::vector<Called> regressed;
  struct Open {
    LatencyPair pair;
    int64_t gates = 0;  // that left it undecided
    bool operator==(const Open&) const = default;
  };
  std::vector<Open> open;

  bool operator==(const AlphaLedger&) const = default;
};

nlohmann::json to_json(const AlphaLedger& ledger);

// Throws UsageError that names the key, also for a ledger of another pair than (base, change).
AlphaLedger ledger_from_json(const nlohmann::json& value, const std::string& base, const std::string& change);

}  // namespace assay
