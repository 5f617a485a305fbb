#include "cli/package.h"

#include "gate/program.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);  // npos + 1 is 0
}

// Runs the module that is named second, looked for where others are not: neither the working folder nor the folder of
// the package, which is named first, may stand in for what the package imports.
constexpr const char* kRunModule =
    "import sys; sys.path = [p for p in sys.path if p] + [sys.argv.pop(1)]; "
    "import runpy; runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)";

// What the package refuses it says itself, with the remedy; the rest is about Python.
std::string why_it_ended(const std::string& program, const std::string& python, const ProgramEnd& end) {
  const std::string said = last_line(end.output);
  if (end.status == 4) return said;
  if (end.status == 127) return python + " cannot be run; install Python 3";
  const bool missing = said.find("No module named") != std::string::npos || said.starts_with("ImportError");
  return program + " ended with " + std::to_string(end.status) + ": " + said +
         (missing ? "; ci/setup installs what it needs" : "");
}

}  // namespace

PackageEnd run_package(const fs::path& root, const std::string& module, const std::vector<std::string>& arguments) {
  std::error_code error;
  const fs::path venv = root / ".venv" / "bin" / "python";
  const std::string python = fs::exists(venv, error) ? venv.string() : "python3";
  std::vector<std::string> command{python, "-c", kRunModule, (root / "dashboards").string(), module};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const ProgramEnd end = run_program(command, {});
  return {end.status, end.output, why_it_ended(python + " -m " + module, python, end)};
}

}  // namespace assay
