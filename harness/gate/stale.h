// Known issues that no longer show: the failure was excused, run after run, and nothing failed.
#pragma once

#include <filesystem>
#include <vector>

#include "gate/policy.h"
#include "record/run_json.h"

namespace assay {

inline constexpr int kCleanRuns = 20;

enum class Sighting { not_judged, clean, shown };

// What a run says about an issue. Judged means: on the libraries it is pinned to, a case that it names went through a
// check that can give its verdict.
Sighting sighting_of(const KnownIssue& issue, const Run& run, const std::vector<Record>& records);

// One finding for each issue that the last kCleanRuns runs which judged it, this one included, did not show. Earlier
// runs are the folders in `history`, the newest first; unfinished ones and smoke runs, which judge few cases, do not
// count, nor does this run when it is one. A run that shows the issue begins the count anew.
//
// Nothing is kept besides the runs: who cannot write to `history` cannot forge a count. A pull request's own tree must
// not be it.
std::vector<Finding> stale_known_issues(const Policy& policy, const std::filesystem::path& history, const Run& now,
                                        const std::vector<Record>& records);

}  // namespace assay
