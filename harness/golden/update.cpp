#include "golden/update.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// The mark of a file that becomes `after` by a run's lines: the run's own where it adds or changes one; else that of
// `before` where one of its lines stays unasked, or only an unpinned run repeats them.
std::string mark_of(const GoldenFile& before, const GoldenFile& of_run, const GoldenFile& after,
                    const std::string& unpinned) {
  const auto is_new = [&](const auto& line) {
    const auto old = before.lines.find(line.first);
    return old == before.lines.end() || old->second != line.second;
  };
  const bool adds = std::any_of(of_run.lines.begin(), of_run.lines.end(), is_new);
  const bool some_stay = after.lines.size() > of_run.lines.size();
  if (adds && !unpinned.empty()) return unpinned;
  return some_stay || !unpinned.empty() ? unpinned_mark(before) : "";
}

Keys stays_in(Extent extent, const Keys& beyond) {
  if (extent == Extent::partial) return [](const std::string&) { return true; };
  return beyond ? beyond : [](const std::string&) { return false; };
}

// The lines of `before` of which a run said nothing, and which stay.
void keep_lines(const GoldenFile& before, const Keys& stays, GoldenFile& after) {
  for (const auto& line : before.lines) {
    if (stays(line.first)) after.lines.insert(line);
  }
}

std::vector<GoldenChange> plan(const fs::path& folder, const std::map<std::string, GoldenFile>& computed,
                               const std::string& kind, Extent extent, const std::string& unpinned = "",
                               const Keys& beyond = nullptr) {
  const Keys stays = stays_in(extent, beyond);
  std::vector<GoldenChange> changes;
  const std::vector<fs::path> files = golden_files_in(folder);
  std::set<fs::path> existing(files.begin(), files.end());
  for (const auto& [op, file] : computed) {
    GoldenChange change{.path = folder / (op + ".txt"), .before = {.kind = kind}, .after = file};
    change.is_new = existing.erase(change.path) == 0;
    if (!change.is_new) change.before = read_golden_file(change.path, kind);
    if (extent == Extent::partial) {
      if (file.lines.empty()) continue;
      if (!change.is_new && platform_facts(change.before) != platform_facts(file)) {
        throw UsageError(change.path.string() +
                         ": made by another oracle version or platform; update without a filter");
      }
    }
    keep_lines(change.before, stays, change.after);
    if (change.after.lines.empty() && change.is_new) continue;
    mark_unpinned(change.after, mark_of(change.before, file, change.after, unpinned));
    if (!(change.before == change.after)) changes.push_back(std::move(change));
  }
  if (extent == Extent::complete) {
    for (const fs::path& path : existing) {
      const GoldenFile before = read_golden_file(path, kind);
      GoldenFile after{.kind = kind};
      keep_lines(before, stays, after);
      if (!after.lines.empty()) after.facts = before.facts;
      if (!(before == after)) changes.push_back({.path = path, .before = before, .after = after});
    }
  }
  return changes;
}

// `observed` with the late libraries that the lines of `path` which stay were approved with.
ObservedFile beside_what_stays(const fs::path& path, const ObservedFile& observed, const Keys& stays) {
  if (!has_golden_file(path)) return observed;
  ObservedFile merged = observed;
  const ObservedFile before = observed_file_from(read_golden_file(path, "observed"), path.string());
  for (const auto& [key, unused] : before.lines) {
    if (observed.lines.contains(key) || !stays(key)) continue;
    const std::string kernel = key.substr(0, key.find(':'));
    const auto old = before.late.find(kernel), now = observed.late.find(kernel);
    if (now != observed.late.end()) {
      for (const std::string& library : now->second) {
        if (old != before.late.end() && old->second.contains(library)) continue;
        throw UsageError(path.string() + ": " + key + " was approved without " + library + ", which " + kernel +
                         " loads after its module by now; run all that is approved of it, or delete that line");
      }
    }
    if (old != before.late.end()) merged.late[kernel] = old->second;
  }
  return merged;
}

void add_facts(std::string& text, const GoldenFile& file, const GoldenFile& other, char sign) {
  for (const auto& fact : file.facts) {
    if (std::find(other.facts.begin(), other.facts.end(), fact) == other.facts.end()) {
      text += fmt::format("{} # {} {}\n", sign, fact.first, fact.second);
    }
  }
}

}  // namespace

std::vector<GoldenChange> plan_truth_update(const fs::path& folder, const std::map<std::string, TruthFile>& computed,
                                            Extent extent) {
  std::map<std::string, GoldenFile> files;
  for (const auto& [op, truth] : computed) files[op] = to_golden_file(truth);
  return plan(folder, files, "truth", extent);
}

std::vector<GoldenChange> plan_observed_update(const fs::path& folder, const Platform& platform,
                                               const std::map<std::string, ObservedFile>& computed, Extent extent,
                                               const std::string& unpinned, const Keys& beyond) {
  const fs::path place = folder / platform.key();
  const Keys stays = stays_in(extent, beyond);
  std::map<std::string, GoldenFile> files;
  for (const auto& [op, observed] : computed) {
    files[op] = to_golden_file(beside_what_stays(place / (op + ".txt"), observed, stays), platform);
  }
  return plan(place, files, "observed", extent, unpinned, beyond);
}

std::vector<GoldenChange> plan_fingerprint_update(const fs::path& folder, const Platform& platform,
                                                  std::span<const Fingerprint> fingerprints, Extent extent,
                                                  const std::string& unpinned) {
  return plan(folder / "fingerprint" / platform.key(), fingerprint_files(fingerprints, platform), "fingerprint", extent,
              unpinned);
}

std::vector<GoldenChange> plan_contracts_update(const fs::path& folder, const std::vector<KernelInfo>& kernels) {
  std::set<std::string> targets;
  for (const KernelInfo& kernel : kernels) targets.insert(kernel.target);
  return plan(folder, {{fs::path(kContractsFile).stem().string(), to_golden_file(kernels)}}, "contract",
              Extent::complete, "", [&](const std::string& key) { return !targets.contains(target_of(key)); });
}

std::vector<GoldenChange> plan_cases_update(const fs::path& folder,
                                            const std::map<std::string, std::string>& why_by_case) {
  return plan(folder / "cases", stored_case_files(why_by_case), "cases", Extent::partial);
}

std::string diff_text(const std::vector<GoldenChange>& changes) {
  std::string text;
  for (const GoldenChange& change : changes) {
    std::string body;
    add_facts(body, change.before, change.after, '-');
    add_facts(body, change.after, change.before, '+');
    int added = 0, changed = 0, removed = 0;
    for (const auto& [key, value] : change.after.lines) {
      const auto old = change.before.lines.find(key);
      if (old == change.before.lines.end()) {
        ++added;
        body += fmt::format("+ {} {}\n", key, value);
      } else if (old->second != value) {
        ++changed;
        body += fmt::format("~ {}\n    was {}\n    now {}\n", key, old->second, value);
      }
    }
    for (const auto& [key, value] : change.before.lines) {
      if (change.after.lines.count(key) > 0) continue;
      ++removed;
      body += fmt::format("- {} {}\n", key, value);
    }
    text +=
        fmt::format("{}: {} added, {} changed, {} removed\n{}", change.path.string(), added, changed, removed, body);
  }
  return text;
}

void apply_changes(const std::vector<GoldenChange>& changes, bool in_ci) {
  if (in_ci) {
    throw UsageError(
        "golden update: CI is set; goldens are updated by a person, who reviews the diff and commits it, never by CI");
  }
  for (const GoldenChange& change : changes) {
    if (!change.after.lines.empty()) {
      write_golden_file(change.path, change.after);
    } else if (std::error_code error; !fs::remove(change.path, error)) {
      throw UsageError(change.path.string() + ": cannot be removed: " + error.message());
    }
  }
}

}  // namespace assay
