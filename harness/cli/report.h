// The pages of a run, written by the Python package in dashboards/.
#pragma once

#include <filesystem>
#include <string>

namespace assay {

struct Report {
  std::filesystem::path page;  // to open; empty when there is none
  std::string why;             // what is wrong, and what to do: one line; empty when nothing is
};
Report write_report(const std::filesystem::path& root, const std::filesystem::path& run);

}  // namespace assay
