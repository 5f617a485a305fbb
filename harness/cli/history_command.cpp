// history: hands folders of runs, or the wish to see what changed, to the Python package in dashboards/.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/package.h"
#include "cli/paths.h"
#include "core/error.h"

namespace assay {

namespace fs = std::filesystem;

int history_command(const Options& options) {
  // Joined to its flag, no value is taken for another flag.
  std::vector<std::string> arguments{options.subcommand, "--root=" + source_root(options).string()};
  if (!options.database.empty()) arguments.push_back("--db=" + options.database);
  if (!options.kernels.empty()) arguments.push_back("--kernel=" + options.kernels);
  if (!options.out.empty()) arguments.push_back("--out=" + fs::absolute(options.out).string());
  if (options.reference) arguments.emplace_back("--reference");
  for (const fs::path& run : options.runs) arguments.push_back(fs::absolute(run).string());
  const PackageEnd end = run_package(source_root(options), "assay_dashboards.history", arguments);
  if (end.status == 0) {
    fmt::print("{}", end.output);
    return 0;
  }
  // What it refuses it says last; before that, what became of each run.
  if (end.status == 4) fmt::print("{}", end.output.substr(0, end.output.rfind(end.why)));
  throw UsageError("history: " + end.why);
}

}  // namespace assay
