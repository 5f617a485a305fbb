#include "cli/loaded.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace assay {
namespace {

struct Module {
  std::vector<KernelInfo> kernels;
  std::vector<LoadedLibrary> libraries;
};

// As in a run: a judge that dies is replaced once and the question repeated.
Module load_module(const StartJudge& start, std::unique_ptr<Judge>& judge, const std::filesystem::path& file) {
  std::string deaths;
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      if (!judge) judge = start();
      Module module{load_steadily(*judge, file), {}};
      module.libraries = judge->libraries();
      return module;
    } catch (const JudgeStopped&) {
      throw;
    } catch (const JudgeDied& e) {
      judge.reset();
      deaths += (deaths.empty() ? "" : "; then: ") + std::string(e.what());
    }
  }
  throw UsageError(file.string() + ": loading it ended the judge twice: " + deaths);
}

}  // namespace

std::vector<LoadedLibrary> merged(std::vector<LoadedLibrary> all, const std::vector<LoadedLibrary>& more) {
  for (const LoadedLibrary& library : more) {
    const auto same = [&](const LoadedLibrary& known) {
      return known.path == library.path && known.build_id == library.build_id;
    };
    const auto known = std::find_if(all.begin(), all.end(), same);
    if (known == all.end()) {
      all.push_back(library);
      continue;
    }
    for (const std::string& module : library.modules) {
      const auto end = known->modules.end();
      if (std::find(known->modules.begin(), end, module) == end) known->modules.push_back(module);
    }
  }
  return all;
}

Loaded load_modules(const StartJudge& start, const std::vector<std::filesystem::path>& modules, const OpRegistry& ops) {
  Loaded loaded;
  auto judge = std::make_shared<std::unique_ptr<Judge>>();
  for (const std::filesystem::path& file : modules) {
    try {
      Module module = load_module(start, *judge, file);
      loaded.libraries = merged(std::move(loaded.libraries), module.libraries);
      for (KernelInfo& kernel : module.kernels) {
        if (ops.find(kernel.op) == nullptr) {
          loaded.broken.push_back(file.string() + ": kernel " + kernel.op + "/" + kernel.name +
                                  " is of an op that this build does not have");
        } else {
          loaded.kernels.push_back(std::move(kernel));
        }
      }
    } catch (const UsageError& e) {
      loaded.broken.emplace_back(e.what());
      loaded.unloadable.emplace_back(e.what());
    }
  }
  if (loaded.kernels.empty()) {
    throw UsageError(loaded.broken.empty() ? "the modules hold no kernel" : loaded.broken.front());
  }
  // Judges are started by several threads, and this one belongs to the one that is here.
  loaded.start_judge = [judge, start, here = std::this_thread::get_id()] {
    return std::this_thread::get_id() == here && *judge ? std::move(*judge) : start();
  };
  return loaded;
}

int tell_broken(const Loaded& loaded) {
  for (const std::string& broken : loaded.broken) fmt::print(stderr, "assay: {}\n", broken);
  return loaded.broken.empty() ? 0 : 4;
}

}  // namespace assay
