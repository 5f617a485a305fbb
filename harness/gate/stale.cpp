#include "gate/stale.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "core/error.h"
#include "gate/nearest.h"
#include "gate/record_libraries.h"
#include "record/run_folder.h"
#include "record/verdict.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct PastRun {
  fs::path folder;
  Run run;
  std::string text;  // its run.json
};

// Nothing for a folder that holds no finished run of a kind that counts, or one nobody can read here.
std::optional<PastRun> past_run(const fs::path& folder) {
  std::error_code error;
  if (fs::is_symlink(folder, error) || !fs::exists(folder / "run.json", error)) return std::nullopt;
  try {
    PastRun past{folder, read_run(folder), read_whole(folder / "run.json")};
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
  // Those of one second may differ: only the whole text tells a copy.
  const auto key = [](const PastRun& past) { return std::tie(past.run.started, past.text); };
  std::ranges::sort(runs, std::greater{}, key);
  const auto copies = std::ranges::unique(runs, {}, key);
  runs.erase(copies.begin(), copies.end());
  return runs;
}

// Whether a check that passed could have failed with that verdict. A case beside the record's that is told of was
// right.
bool can_give(const CheckResult& passed, Verdict verdict) {
  return passed.verdict == verdict || (passed.check == "launch" && verdict == Verdict::timeout) ||
         (!passed.of_case.empty() && verdict == Verdict::wrong);
}

// What runs say of one issue, each older than the one before.
class Testimony {
 public:
  explicit Testimony(const KnownIssue& issue) : issue_(&issue) {}
  const KnownIssue& issue() const { return *issue_; }
  int clean_runs() const { return clean_runs_; }
  bool is_clean() const { return clean_runs_ > 0 && !shown_; }
  bool is_complete() const { return clean_runs_ >= kRunsThatCount; }

  void add(const Run& run, const LibrariesByKernel& brought, const std::vector<Record>& records) {
    if (is_complete()) return;
    bool judged = false;
    for (const Record& record : records) {
      const auto own = brought.find(record.op + "/" + record.kernel);
      if (own == brought.end() || !why_another(*issue_, own->second, record, run.environment).empty()) continue;
      for (const CheckResult& result : record.checks) {
        if (!is_of(*issue_, record, result.of_case)) continue;
        int& since = clean_since_[{record.kernel_id, result.check}];
        if (result.outcome == Outcome::fail && result.verdict == issue_->verdict && since < kCleanRuns) shown_ = true;
        const bool is_right_beside = result.outcome == Outcome::not_applicable && !result.of_case.empty() &&
                                     glob_matches(issue_->kernel, result.of_case);
        if (result.outcome != Outcome::pass && result.outcome != Outcome::weak && !is_right_beside) continue;
        ++since;
        judged = judged || can_give(result, issue_->verdict);
      }
    }
    if (judged) ++clean_runs_;
  }

 private:
  const KnownIssue* issue_;
  std::map<std::pair<std::string, std::string>, int> clean_since_;  // runs, by case and check
  int clean_runs_ = 0;
  bool shown_ = false;
};

}  // namespace

std::vector<Finding> stale_known_issues(const Policy& policy, const fs::path& history, const Run& now,
                                        const std::vector<Record>& records) {
  if (now.asked.tier == name_of(Tier::smoke)) return {};
  std::vector<Testimony> all;
  const LibrariesByKernel brought_now = brought_libraries(now, records);
  for (const KnownIssue& issue : policy.known_issues) {
    Testimony testimony(issue);
    testimony.add(now, brought_now, records);
    if (testimony.is_clean()) all.push_back(std::move(testimony));
  }
  if (all.empty()) return {};
  for (const PastRun& past : newest_first(history, now.started)) {
    if (std::ranges::all_of(all, &Testimony::is_complete)) break;
    std::vector<Record> then;
    try {
      then = read_records(past.folder);
    } catch (const UsageError&) {
      continue;
    }
    const LibrariesByKernel brought = brought_libraries(past.run, then);
    for (Testimony& testimony : all) testimony.add(past.run, brought, then);
    std::erase_if(all, [](const Testimony& testimony) { return !testimony.is_clean(); });
    if (all.empty()) return {};
  }
  std::vector<Finding> findings;
  for (const Testimony& testimony : all) {
    if (testimony.clean_runs() < kCleanRuns) continue;
    const KnownIssue& issue = testimony.issue();
    findings.push_back(
        {"policy", "known issue of " + issue.kernel + " (" + issue.owner + ") is stale: " + std::to_string(kCleanRuns) +
                       " runs that judged it did not show '" + std::string(word_of(issue.verdict)) + "'; take it out"});
  }
  return findings;
}

}  // namespace assay
