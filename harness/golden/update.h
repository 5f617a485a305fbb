// Changing goldens: plan the change, show it, and only then write it. `assay golden verify` plans and fails when
// anything differs, `diff` plans and shows, `update` plans, shows and applies.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "golden/contracts.h"
#include "golden/file.h"
#include "golden/fingerprints.h"
#include "golden/observed.h"
#include "golden/stored_cases.h"
#include "golden/truth_goldens.h"

namespace assay {

struct GoldenChange {
  std::filesystem::path path;
  GoldenFile before;  // no lines and no facts where the file is new
  GoldenFile after;   // no lines: the file goes away
  bool is_new = false;
};

enum class Extent {
  complete,  // what was computed is all there is: other lines, and files of other ops, are removed
  partial,   // a filter was used: other lines stay
};
using Keys = std::function<bool(const std::string& key)>;  // of lines

// One change a file that would differ. Facts (oracle version, libraries) are those of the new file. A partial change of
// facts throws UsageError: the lines that stay would be mislabelled.
std::vector<GoldenChange> plan_truth_update(const std::filesystem::path& folder,
                                            const std::map<std::string, TruthFile>& computed, Extent extent);
// Late libraries are an exception: those that the lines which stay were approved with stay too, where there are no
// others. For observed goldens `complete` takes away what was approved of a kernel that fails now: use it to tidy up
// only. Lines that are `beyond` what the run was asked stay all the same. `unpinned`, where it is not empty, marks
// every file in which a line is new or another; the mark goes when a run without one has all of its lines.
std::vector<GoldenChange> plan_observed_update(const std::filesystem::path& folder, const Platform& platform,
                                               const std::map<std::string, ObservedFile>& computed, Extent extent,
                                               const std::string& unpinned = "", const Keys& beyond = nullptr);

// Fingerprints of one platform's kernels, in folder/fingerprint, likewise.
std::vector<GoldenChange> plan_fingerprint_update(const std::filesystem::path& folder, const Platform& platform,
                                                  std::span<const Fingerprint> fingerprints, Extent extent,
                                                  const std::string& unpinned = "");

// Cases to be judged from now on, in folder/cases, and why; those there stay.
std::vector<GoldenChange> plan_cases_update(const std::filesystem::path& folder,
                                            const std::map<std::string, std::string>& why_by_case);

// Contracts, in folder/contracts.txt. Lines of a target of which there is no kernel stay: nobody compiled any here.
std::vector<GoldenChange> plan_contracts_update(const std::filesystem::path& folder,
                                                const std::vector<KernelInfo>& kernels);

// For review: per file "FILE: 1 added, 2 changed, 3 removed", then "+ key value", "- key value", and for a change
// "~ key" over its old and its new value. Empty when nothing changes.
std::string diff_text(const std::vector<GoldenChange>& changes);

// Writes the files. `in_ci` is whether the environment variable CI is set: goldens are approved by a person.
// Throws UsageError then, before anything is written.
void apply_changes(const std::vector<GoldenChange>& changes, bool in_ci);

}  // namespace assay
