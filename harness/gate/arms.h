// The two sides of a comparison of latencies, base and change: the kernel modules of each tree, all built at one path
// (ci/arm), and which of them can differ at all.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "worker/judge_client.h"

namespace assay {

struct Arm {
  std::string name;               // "base", "change"
  std::filesystem::path modules;  // folder
};

// Builds the modules for `device` of the source tree `tree` into a folder of `out` with `script` (ci/arm of the tree
// that judges) and the libraries of the Python environment `venv`, unless they are there already. Throws UsageError
// with the script's last line.
Arm build_arm(const std::string& name, const std::filesystem::path& script, const std::filesystem::path& tree,
              const std::filesystem::path& venv, const std::string& device, const std::filesystem::path& out);
// Modules that somebody has built. Throws UsageError where there is none.
Arm arm_of(const std::string& name, const std::filesystem::path& modules);

// A kernel in both arms.
struct Pair {
  KernelInfo base, change;
  // Why there is nothing to measure: the modules are the same, byte for byte, in all that is loaded of them, need the
  // same libraries, from nowhere that differs, and read nothing else by themselves. Empty: measure it.
  std::string unchanged;
};
struct Pairs {
  std::map<std::string, Pair> both;     // by op/kernel
  std::vector<std::string> base_alone;  // op/kernel, ascending
  std::vector<std::string> change_alone;
};
// Of the kernels of one target that the modules of each arm hold.
Pairs pair_up(const std::vector<KernelInfo>& base, const std::vector<KernelInfo>& change, const std::string& target);

// What a module reads or compiles at run time by itself, so that the same bytes may do another thing in each arm:
// "getenv, fopen". Empty: nothing that its imports tell of. Libraries it needs may do so as well, and are the same
// files in both arms.
std::string reads_at_run_time(const std::filesystem::path& module);

}  // namespace assay
