// The Python package in dashboards/, run with the tree's own .venv where there is one, else with python3.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace assay {

struct PackageEnd {
  int status = 0;      // exit code
  std::string output;  // all that it printed
  std::string why;     // what is wrong, and what to do: one line. Without meaning when nothing is
};
// `module`: "assay_dashboards", or a part of it that is a program of its own.
PackageEnd run_package(const std::filesystem::path& root, const std::string& module,
                       const std::vector<std::string>& arguments);

}  // namespace assay
