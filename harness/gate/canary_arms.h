// Whether the two arms of a canary are what was asked for: each ran under its own version of the library and no other,
// the candidate's files are not the pin's, and what a library was told to choose is what it chose.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "record/record.h"
#include "worker/library_set.h"

namespace assay {

struct CanaryArm {
  std::string name;  // "pin", "candidate"
  LibrarySet set;
  std::vector<LoadedLibrary> loaded;  // after the last case
  std::span<const Record> records;
};

// What contradicts what was asked of one arm, a line each, with its name first. Empty: it is proved, or nothing was.
std::vector<std::string> contradictions(const CanaryArm& arm);
// Of both, and of the one beside the other. Empty: both are proved.
std::vector<std::string> contradictions(const CanaryArm& pin, const CanaryArm& candidate);

// The versions that the library told kernels of itself, in what they describe as "library". One, unless it told
// several.
std::set<std::string> versions_told(const CanaryArm& arm);
// The version that was asked for; of a folder, which says nothing of it, with what the library tells.
std::string version_text(const CanaryArm& arm);

// Whether both load the same builds, whatever their paths.
bool are_same_build(const LibrarySet& a, const LibrarySet& b);
// Whether those that both name are the same byte for byte, as loaded by the same loader, and asked the same: nothing of
// one can be slower than the other.
bool are_same_bytes(const LibrarySet& a, const LibrarySet& b);

}  // namespace assay
