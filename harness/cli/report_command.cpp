// report: hands the folder of a run or of a selftest to the Python package in dashboards/.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/package.h"
#include "cli/paths.h"
#include "cli/report.h"
#include "core/error.h"
#include "gate/canary_report.h"
#include "gate/invariances.h"
#include "record/json_text.h"
#include "record/run_folder.h"

namespace assay {

namespace fs = std::filesystem;

Report write_report(const fs::path& root, const fs::path& run, const std::vector<std::string>& more) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(run, error);  // as the package prints it
  std::vector<std::string> arguments{whole.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const PackageEnd end = run_package(root, "assay_dashboards", arguments);
  const fs::path page = run / "report" / "index.html";
  // The package prints the page once everything is written, and may still have something to say about the run.
  const std::string line = "\n" + (whole / "report" / "index.html").string() + "\n";
  const bool written = ("\n" + end.output).find(line) != std::string::npos;
  if (end.status == 0 && written) return {page, ""};
  return {written ? page : fs::path(), "report: " + end.why};
}

void keep_invariances(const fs::path& run, const std::vector<Record>& records) {
  write_file_atomically(run / "invariances.json", print_json(to_json(invariances_of(records)), 1) + "\n");
}

int report_command(const Options& options) {
  const fs::path& folder = options.run_folder;
  const bool is_run = is_there(folder / "run.json");
  const bool is_no_run = !is_run && (is_there(folder / "selftest.json") || is_there(folder / kCanaryFile));
  std::vector<std::string> more;
  if (!options.selftest.empty()) more.insert(more.end(), {"--selftest", fs::absolute(options.selftest).string()});
  if (!options.before.empty()) more.insert(more.end(), {"--before", fs::absolute(options.before).string()});
  if (options.invariances || !is_no_run) read_run(folder);  // refuses, by name, what is no run
  if (options.invariances) {
    fmt::print("{}", invariance_table(invariances_of(read_records(folder))));
    return 0;
  }
  if (!is_no_run) keep_invariances(folder, read_records(folder));
  const Report report = write_report(source_root(options), folder, more);
  if (!report.page.empty()) fmt::print("report: {}\n", report.page.string());
  if (!report.why.empty()) throw UsageError(report.why);
  return 0;
}

}  // namespace assay
