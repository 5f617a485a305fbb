// The latency half of a gate against a base, and the blocks of a bench: arms, cases and margins are put together here,
// measured in gate/comparison.h.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/loaded.h"
#include "cli/options.h"
#include "cli/trees.h"
#include "gate/comparison.h"
#include "gate/policy.h"

namespace assay {

// What the run of a gate has found so far.
struct JudgedRun {
  const Options* options;
  const Trees* trees;
  const Policy* policy;
  const Plan* plan;
  const Loaded* loaded;
  const std::vector<Record>* records;
  const PinLabel* pin;
  std::filesystem::path run;  // its folder
};

// Whether a run compares latencies: a gate against a base that is not told to leave it.
bool compares_latencies(const Options& options);

// The kernels of base and change, to be timed.
struct ArmKernels {
  std::vector<KernelInfo> base, change;
};
// Of a gate that compares latencies: modules are built and loaded, so that what keeps them from being compared shows
// before the first case is judged. Throws UsageError for that.
ArmKernels load_arms(const Options& options, const Trees& trees, const Policy& policy);

// Both comparisons: nothing when it was stopped. Where none can be made, it is invalid and says why, so that nothing
// that was judged is lost: with exit code 3 where the environment is not pinned, else 4.

// `arms`: where they are loaded already.
std::optional<Comparison> compare_with_base(const JudgedRun& judged, std::optional<ArmKernels> arms);

// The sides of a canary, whose processes are started with one library or the other; their modules are the same files.
struct LibraryArm {
  std::string identity;  // what tells its library, fit for a file's name
  JudgeSettings settings;
  const std::vector<Record>* records;
  SeeLibraries seen;  // told what each process of it had loaded
};
// Of the timed cases that are correct on both sides; first calls too. `pin` is the side whose records have a latency.
std::optional<Comparison> compare_libraries(const JudgedRun& judged, const LibraryArm& pin,
                                            const LibraryArm& candidate);

// bench --blocks: blocks of the passed cases with this build as both arms. False when it was stopped.
bool record_own_blocks(const JudgedRun& judged);

}  // namespace assay
