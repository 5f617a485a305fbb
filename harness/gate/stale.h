// Known issues that no longer show: the failure was excused, run after run, and nothing failed.
#pragma once

#include <filesystem>
#include <vector>

#include "gate/policy.h"
#include "record/run_json.h"

namespace assay {

inline constexpr int kCleanRuns = 20;
inline constexpr int kRunsThatCount = 100;

// One finding for each issue that kCleanRuns runs which judged it, this one included, did not show. Judged means: on
// the libraries and processors it is pinned to, a case that it names passed a check that can give its verdict. A run
// that shows it begins the count anew, and for the case and check that showed it: runs that did not judge these, being
// of another tier, a filter, a shard or a sanitizer, prove nothing about them. What it showed before the last
// kRunsThatCount runs that judged it counts no more, since that case may be gone by now, and those runs are not read.
// So an issue that nightly runs alone show needs a night among them. Earlier runs are the folders in `history`;
// unfinished ones and smoke runs, which judge few cases, do not count, nor does this run when it is one.
//
// Nothing is kept besides the runs: who cannot write to `history` cannot forge a count. A pull request's own tree must
// not be it.
std::vector<Finding> stale_known_issues(const Policy& policy, const std::filesystem::path& history, const Run& now,
                                        const std::vector<Record>& records);

}  // namespace assay
