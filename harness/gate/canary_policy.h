// The numbers of a canary, the table [canary] of ci/policy/policy.toml: what rejects a candidate although every margin
// of the latency gate is of smaller changes, and how long latency may take.
#pragma once

#include <map>
#include <string>

#include "core/op.h"

namespace assay {

class TomlTable;

struct CanaryPolicy {
  double slower = 0;  // p50, p90 or first call slower by more, with confidence: 0.25 is 25 %
  double tail = 0;    // likewise of the tail or the stalls: 0.02 is 2 points
  // Of a kind of device, after which what is undecided stays so.
  std::map<std::string, std::map<Tier, double>, std::less<>> latency_seconds;
};

CanaryPolicy read_canary_policy(TomlTable table);  // throws UsageError

}  // namespace assay
