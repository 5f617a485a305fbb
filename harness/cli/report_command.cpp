// report: hands a run's folder to the Python package in dashboards/, with the tree's own .venv where there is one.
#include <fmt/format.h>

#include <cstdlib>

#include "cli/commands.h"
#include "cli/paths.h"
#include "cli/report.h"
#include "core/error.h"
#include "gate/program.h"
#include "record/run_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);  // npos + 1 is 0
}

std::string python_path(const fs::path& root) {
  const char* before = std::getenv("PYTHONPATH");
  const std::string own = (root / "dashboards").string();
  return before == nullptr || *before == '\0' ? own : own + ":" + before;
}

}  // namespace

Report write_report(const fs::path& root, const fs::path& run) {
  std::error_code error;
  const fs::path venv = root / ".venv" / "bin" / "python";
  const std::string python = fs::exists(venv, error) ? venv.string() : "python3";
  const ProgramEnd end =
      run_program({python, "-m", "assay_dashboards", run.string()}, {{"PYTHONPATH", python_path(root)}});
  if (end.status == 0) return {run / "report" / "index.html", ""};
  return {{},
          "report: " + python + " -m assay_dashboards ended with " + std::to_string(end.status) + ": " +
              last_line(end.output) + (end.status == 127 ? "; install Python 3" : "; ci/setup installs what it needs")};
}

int report_command(const Options& options) {
  read_run(options.run_folder);  // refuses, by name, what is no run
  const Report report = write_report(source_root(options), options.run_folder);
  if (report.page.empty()) throw UsageError(report.why);
  fmt::print("report: {}\n", report.page.string());
  return 0;
}

}  // namespace assay
