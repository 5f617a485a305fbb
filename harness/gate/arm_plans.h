// What the plans of both arms chose before any block is measured, and which kernels are not to be timed. Asked once a
// comparison and kept in plans.json of its folder: its blocks are of what they leave, and what failed must not be asked
// until it passes.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gate/block_meter.h"
#include "gate/latency_gate.h"

namespace assay {

// What a plan chose that differs between the arms: "algorithm: 24 -> 66, workspace: 0 -> 4194304".
struct ChangedSelection {
  std::string kernel_id, what;
};
nlohmann::json to_json(const std::vector<ChangedSelection>& selections);

// Of what a kernel described under each arm; empty where it is the same.
std::string selection_changes(const std::map<std::string, std::string>& base,
                              const std::map<std::string, std::string>& change);

// A kernel id that one of the arms does not take: `failed` where the base does, for the change was judged correct on
// it, `invalid` where nothing is known, and `not_gated` what is new.
struct NotTimed {
  std::string kernel_id;
  LatencyOutcome as;
  std::string why;
};

struct ArmPlans {
  std::vector<ChangedSelection> changed;
  std::vector<NotTimed> not_timed;
};

// Of the meter's cases; those that the folder has, if it has any. Nothing when a stop was asked for meanwhile, which
// may be what they failed by. Throws UsageError for a file that is damaged.
std::optional<ArmPlans> plans_of_arms(const BlockMeter::Settings& settings, const std::filesystem::path& folder);

}  // namespace assay
