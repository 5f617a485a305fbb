// The pages of a run, of a selftest or of a canary, written by the Python package in dashboards/.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "record/record.h"

namespace assay {

struct Report {
  std::filesystem::path page;  // to open; empty when there is none
  std::string why;             // what is wrong, and what to do: one line; empty when nothing is
};
// `more`: further arguments of the package.
Report write_report(const std::filesystem::path& root, const std::filesystem::path& run,
                    const std::vector<std::string>& more = {});

// The matrix of what was promised and seen of each kernel's bytes: invariances.json of the run's folder, for the pages.
void keep_invariances(const std::filesystem::path& run, const std::vector<Record>& records);

}  // namespace assay
