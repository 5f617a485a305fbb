// The pages of a run, written by the Python package in dashboards/.
#pragma once

#include <filesystem>
#include <string>

namespace assay {

// Empty when the pages are there; otherwise one line that says why not and what to do.
std::string write_report(const std::filesystem::path& root, const std::filesystem::path& run);

}  // namespace assay
