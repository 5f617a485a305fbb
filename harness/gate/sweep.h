// A sweep of one kernel: drawn cases without end (MatrixProductOp::drawn), each launched once and verified by Freivalds
// (worker/screening.h). Touches no kernel and no device.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/op.h"
#include "gate/judge.h"
#include "gate/plan.h"

namespace assay {

struct SweepFailure {
  std::string id;  // of the kernel and the case
  Verdict verdict = Verdict::error;
  std::string reason;

  bool operator==(const SweepFailure&) const = default;
};

struct SweepJob {
  const Op* op = nullptr;  // a MatrixProductOp
  KernelInfo kernel;
  uint64_t seed = 1;    // of the draws
  Shard shard;          // of the distinct draws, counted in order
  int64_t shapes = 0;   // to stop after so many verified; 0: goes on
  double seconds = 60;  // to stop after
  StartJudge start_judge;
  std::function<bool()> stop_asked = [] { return false; };
  // Gives one that the policy lists the verdict `known`, and for its reason what the policy says.
  std::function<void(Record&)> excuse = [](Record&) {};
};

struct Sweep {
  std::string kernel;    // op/kernel
  int64_t verified = 0;  // distinct cases whose every element is right
  std::vector<SweepFailure> failures;
  bool gave_up = false;                       // after kMostFailures
  std::map<std::string, int64_t> known;       // failures that the policy lists, by why; in none of the others
  std::map<std::string, int64_t> refused;     // cases that the kernel does not take, by its reason
  std::map<std::string, int64_t> unverified;  // cases it took and that nothing is known of, by why
  int64_t not_claimed = 0;                    // draws outside the contract's domain, not asked
  double seconds = 0;                         // from the first case to the last

  bool operator==(const Sweep&) const = default;
};

// A kernel that fails everywhere is not asked for ever: each failure may cost a worker.
inline constexpr size_t kMostFailures = 20;

// A judge that dies over a case is replaced, and the case asked once more, alone; a second death is its failure.
Sweep sweep_kernel(const SweepJob& job);

// What several processes found of one kernel, at the same time.
Sweep merged(const std::vector<Sweep>& parts);

nlohmann::json to_json(const Sweep& sweep);
Sweep sweep_from_json(const nlohmann::json& value);

}  // namespace assay
