// A judge with the command's modules loaded, and what they hold.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/op.h"
#include "gate/judge.h"

namespace assay {

struct Loaded {
  std::vector<KernelInfo> kernels;
  std::vector<std::string> broken;       // modules that could not be used, each with its reason,
  std::vector<std::string> unloadable;   // and among them those that are not merely of an op this build does not know
  std::vector<LoadedLibrary> libraries;  // that the modules brought with them
  StartJudge start_judge;                // gives the judge that loaded them first, then new ones
};

// Both, each build at a path once.
std::vector<LoadedLibrary> merged(std::vector<LoadedLibrary> all, const std::vector<LoadedLibrary>& more);

// A module that cannot be used, kills the judge, or has a kernel of an op this build does not know does not keep the
// others from loading. Throws UsageError when not one can be used.
Loaded load_modules(const StartJudge& start, const std::vector<std::filesystem::path>& modules, const OpRegistry& ops);

// What find() gives, which looks for kernels by name. Where it throws UsageError, as it knows none of that name, the
// first module that could not be loaded is named with it: the kernel may be there.
template <class Find>
auto among(const Loaded& loaded, const Find& find) {
  try {
    return find();
  } catch (const UsageError& e) {
    if (loaded.unloadable.empty()) throw;
    throw UsageError(std::string(e.what()) + "; not loaded: " + loaded.unloadable.front());
  }
}

// A line on stderr for each that could not be used. 4 where there is one, since what was loaded without it is not all;
// else 0.
int tell_broken(const Loaded& loaded);

}  // namespace assay
