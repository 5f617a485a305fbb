// env: the facts that run.json records about this machine, and the libraries that workers load.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/job.h"
#include "cli/loaded.h"
#include "cli/paths.h"
#include "record/json_text.h"

namespace assay {

int env_command(const Options& options) {
  const Loaded loaded = load_modules(judge_process(judge_settings(options)), module_files(options), make_op_registry());
  const Facts facts = facts_of(options);
  if (options.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const LoadedLibrary& library : loaded.libraries) {
      list.push_back({{"path", library.path}, {"version", library.version}, {"build_id", library.build_id}});
    }
    fmt::print("{}\n", print_json({{"environment", facts}, {"libraries", list}, {"broken_modules", loaded.broken}}, 1));
  } else {
    for (const auto& [name, fact] : facts) fmt::print("{:<28} {}\n", name, fact);
    fmt::print("\nlibraries of the workers:\n");
    for (const LoadedLibrary& library : loaded.libraries) {
      fmt::print("{}  version {}  build-id {}\n", library.path, library.version.empty() ? "unknown" : library.version,
                 library.build_id.empty() ? "unknown" : library.build_id);
    }
  }
  for (const std::string& broken : loaded.broken) fmt::print(stderr, "assay: {}\n", broken);
  return loaded.broken.empty() ? 0 : 4;
}

}  // namespace assay
