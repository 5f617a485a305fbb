// report: hands the folder of a run or of a selftest to the Python package in dashboards/, with the tree's own .venv
// where there is one.
#include <fmt/format.h>

#include <cstdlib>

#include "cli/commands.h"
#include "cli/paths.h"
#include "cli/report.h"
#include "core/error.h"
#include "gate/invariances.h"
#include "gate/program.h"
#include "record/json_text.h"
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

// What the package refuses it says itself, with the remedy; the rest is about Python.
std::string why_it_ended(const std::string& python, const ProgramEnd& end) {
  const std::string said = last_line(end.output);
  if (end.status == 4) return said;
  if (end.status == 127) return python + " cannot be run; install Python 3";
  const bool missing = said.find("No module named") != std::string::npos || said.starts_with("ImportError");
  return python + " -m assay_dashboards ended with " + std::to_string(end.status) + ": " + said +
         (missing ? "; ci/setup installs what it needs" : "");
}

}  // namespace

Report write_report(const fs::path& root, const fs::path& run, const std::vector<std::string>& more) {
  std::error_code error;
  const fs::path venv = root / ".venv" / "bin" / "python";
  const std::string python = fs::exists(venv, error) ? venv.string() : "python3";
  const fs::path whole = fs::weakly_canonical(run, error);  // as the package prints it
  std::vector<std::string> command{python, "-m", "assay_dashboards", whole.string()};
  command.insert(command.end(), more.begin(), more.end());
  const ProgramEnd end = run_program(command, {{"PYTHONPATH", python_path(root)}});
  const fs::path page = run / "report" / "index.html";
  // The package prints the page once everything is written, and may still have something to say about the run.
  const std::string line = "\n" + (whole / "report" / "index.html").string() + "\n";
  const bool written = ("\n" + end.output).find(line) != std::string::npos;
  if (end.status == 0 && written) return {page, ""};
  return {written ? page : fs::path(), "report: " + why_it_ended(python, end)};
}

void keep_invariances(const fs::path& run, const std::vector<Record>& records) {
  write_file_atomically(run / "invariances.json", print_json(to_json(invariances_of(records)), 1) + "\n");
}

int report_command(const Options& options) {
  const fs::path& folder = options.run_folder;
  const bool of_selftest = fs::exists(folder / "selftest.json") && !fs::exists(folder / "run.json");
  std::vector<std::string> more;
  if (!options.selftest.empty()) more.insert(more.end(), {"--selftest", fs::absolute(options.selftest).string()});
  if (!options.before.empty()) more.insert(more.end(), {"--before", fs::absolute(options.before).string()});
  if (options.invariances || !of_selftest) read_run(folder);  // refuses, by name, what is no run
  if (options.invariances) {
    fmt::print("{}", invariance_table(invariances_of(read_records(folder))));
    return 0;
  }
  if (!of_selftest) keep_invariances(folder, read_records(folder));
  const Report report = write_report(source_root(options), folder, more);
  if (!report.page.empty()) fmt::print("report: {}\n", report.page.string());
  if (!report.why.empty()) throw UsageError(report.why);
  return 0;
}

}  // namespace assay
