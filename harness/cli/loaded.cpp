#include "cli/loaded.h"

#include "core/error.h"

namespace assay {

Loaded load_modules(const StartJudge& start, const std::vector<std::filesystem::path>& modules, const OpRegistry& ops) {
  Loaded loaded;
  auto judge = std::make_shared<std::unique_ptr<Judge>>(start());
  for (const std::filesystem::path& module : modules) {
    try {
      for (KernelInfo& kernel : (*judge)->load(module)) {
        if (ops.find(kernel.op) == nullptr) {
          loaded.broken.push_back(module.string() + ": kernel " + kernel.op + "/" + kernel.name +
                                  " is of an op that this build does not have");
        } else {
          loaded.kernels.push_back(std::move(kernel));
        }
      }
    } catch (const UsageError& e) {
      loaded.broken.emplace_back(e.what());
    } catch (const JudgeDied& e) {
      loaded.broken.push_back(module.string() + ": loading it ended the judge: " + e.what());
      *judge = start();
    }
  }
  if (loaded.kernels.empty()) {
    throw UsageError(loaded.broken.empty() ? "the modules hold no kernel" : loaded.broken.front());
  }
  loaded.start_judge = [judge, start] { return *judge ? std::move(*judge) : start(); };
  return loaded;
}

}  // namespace assay
