#include "gate/canary_policy.h"

#include "gate/policy.h"
#include "gate/toml_file.h"

namespace assay {

CanaryPolicy read_canary_policy(TomlTable table) {
  table.allow({"slower", "tail", "latency_seconds"});
  CanaryPolicy policy;
  policy.slower = table.positive("slower");
  policy.tail = table.positive("tail");
  if (policy.tail >= 1) table.fail("tail", "must be below 1");
  TomlTable seconds = table.table("latency_seconds");
  seconds.allow({"cpu", "cuda"});
  std::vector<std::string> tiers;
  for (const Tier tier : kTiers) tiers.emplace_back(name_of(tier));
  for (const char* device : {"cpu", "cuda"}) {
    TomlTable of_device = seconds.table(device);
    of_device.allow(tiers);
    for (const Tier tier : kTiers) policy.latency_seconds[device][tier] = of_device.positive(name_of(tier));
  }
  return policy;
}

}  // namespace assay
