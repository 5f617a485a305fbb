#include "gate/stale.h"

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "gate/nearest.h"
#include "record/run_folder.h"
#include "record/verdict.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct PastRun {
  fs::path folder;
  Run run;
};

// Nothing for a folder that holds no finished run of a kind that counts, or one nobody can read here.
std::optional<PastRun> past_run(const fs::path& folder) {
  std::error_code error;
  if (fs::is_symlink(folder, error) || !fs::exists(folder / "run.json", error)) return std::nullopt;
  try {
    PastRun past{folder, read_run(folder)};
    if (!past.run.exit_code || past.run.asked.tier == name_of(Tier::smoke)) return std::nullopt;
    return past;
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

// A run that was copied twice counts once.
std::vector<PastRun> newest_first(const fs::path& history, const std::string& before) {
  std::vector<PastRun> runs;
  std::error_code error;
  for (fs::directory_iterator entry(history, error), end; !error && entry != end; entry.increment(error)) {
    if (auto past = past_run(entry->path()); past && past->run.started < before) runs.push_back(std::move(*past));
  }
  const auto started = [](const PastRun& past) { return past.run.started; };
  std::ranges::sort(runs, std::greater{}, started);
  const auto copies = std::ranges::unique(runs, {}, started);
  runs.erase(copies.begin(), copies.end());
  return runs;
}

struct Count {
  const KnownIssue* issue;
  int clean = 1;  // this run
  bool shown = false;
  bool decided() const { return shown || clean >= kCleanRuns; }
};

}  // namespace

Sighting sighting_of(const KnownIssue& issue, const Run& run, const std::vector<Record>& records) {
  if (!is_pinned(issue, run.libraries)) return Sighting::not_judged;
  Sighting sighting = Sighting::not_judged;
  for (const Record& record : records) {
    if (!glob_matches(issue.kernel, record.kernel_id)) continue;
    for (const CheckResult& result : record.checks) {
      if (result.verdict != issue.verdict) continue;
      if (result.outcome == Outcome::fail) return Sighting::shown;
      if (result.outcome == Outcome::pass || result.outcome == Outcome::weak) sighting = Sighting::clean;
    }
  }
  return sighting;
}

std::vector<Finding> stale_known_issues(const Policy& policy, const fs::path& history, const Run& now,
                                        const std::vector<Record>& records) {
  std::vector<Count> counts;
  for (const KnownIssue& issue : policy.known_issues) {
    if (now.asked.tier == name_of(Tier::smoke)) break;
    if (sighting_of(issue, now, records) == Sighting::clean) counts.push_back({&issue});
  }
  const auto open = [&] { return !std::ranges::all_of(counts, &Count::decided); };
  if (!open()) return {};
  for (const PastRun& past : newest_first(history, now.started)) {
    std::vector<Record> then;
    try {
      then = read_records(past.folder);
    } catch (const UsageError&) {
      continue;
    }
    for (Count& count : counts) {
      if (count.decided()) continue;
      const Sighting sighting = sighting_of(*count.issue, past.run, then);
      if (sighting == Sighting::clean) ++count.clean;
      if (sighting == Sighting::shown) count.shown = true;
    }
    if (!open()) break;
  }
  std::vector<Finding> findings;
  for (const Count& count : counts) {
    if (count.clean < kCleanRuns) continue;
    findings.push_back({"policy", "known issue of " + count.issue->kernel + " (" + count.issue->owner + ") is stale: " +
                                      std::to_string(kCleanRuns) + " runs that judged it did not show '" +
                                      std::string(word_of(count.issue->verdict)) + "'; take it out"});
  }
  return findings;
}

}  // namespace assay
