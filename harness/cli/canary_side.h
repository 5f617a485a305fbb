// One side of a canary, pin or candidate: a run like any other, whose workers have one version of the library.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/job.h"
#include "cli/loaded.h"
#include "cli/options.h"
#include "cli/trees.h"
#include "gate/canary_arms.h"
#include "gate/goldens.h"
#include "gate/library_recipe.h"
#include "record/fingerprint.h"
#include "record/run_folder.h"

namespace assay {

// What both sides share.
struct CanarySetting {
  Options options;
  Trees trees;
  Policy policy;  // without known issues: what fails on both sides is as before, whoever accepted it
  OpRegistry ops;
  std::vector<BenchCase> bench;
};

// Throws UsageError for what no canary can be asked.
CanarySetting canary_setting(const Options& options);

class CanarySide {
 public:
  // Loads the modules under the set. Where that cannot be done broken() says why, and nothing else is of use.
  CanarySide(const CanarySetting& setting, std::string name, LibrarySet set,
             const std::vector<std::filesystem::path>& modules, const LibraryRecipe& recipe);

  const std::string& broken() const { return broken_; }
  const std::string& name() const { return name_; }
  const LibrarySet& set() const { return set_; }
  const Loaded& loaded() const { return loaded_; }
  const Plan& plan() const { return plan_; }
  const std::filesystem::path& folder() const { return folder_; }
  Run& run() { return run_; }
  JudgeSettings settings() const;

  // Begins the side's run in `folder`, or goes on with the one that is there. `timed`: its bench cases are sampled.
  void open(const std::filesystem::path& folder, bool timed);
  RunJob job();
  // Libraries seen after the last case come to those known. When that case is done the run is written.
  void end(const RunEnding& ending);
  void see(const std::vector<LoadedLibrary>& loaded);
  // Those that the folder does not have yet. False when stopped.
  bool take_fingerprints();
  void write();

  CanaryArm arm(const std::vector<Record>& records) const { return {name_, set_, run_.libraries, records}; }

 private:
  const CanarySetting* setting_;
  std::string name_;
  LibrarySet set_;
  std::string broken_;
  Loaded loaded_;
  KernelPlatforms platforms_;
  std::unique_ptr<Goldens> goldens_;
  Plan plan_;
  Run run_;
  std::filesystem::path folder_;
  std::optional<RunFolder> records_;
};

}  // namespace assay
