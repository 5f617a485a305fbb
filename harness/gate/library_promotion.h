// A candidate becomes the pin: ci/pins/PLATFORM.toml as it would be with the candidate's files in place of the
// library's. Nothing else rewrites a library's entries, and a person reviews the diff.
#pragma once

#include <filesystem>
#include <string>

#include "gate/pin_file.h"
#include "worker/library_set.h"

namespace assay {

// `to`'s files take the place of those of their sonames under `from`, the set that was the pin; what a candidate brings
// beyond is added, such as a libc of its own, and the parts that it lacks are removed. Throws UsageError when the pin
// does not list the library as `from` has it.
Pin promoted(const Pin& pin, const LibrarySet& from, const LibrarySet& to);

// Rewrites the file, whole or not at all. Returns the unified diff, empty where nothing changes.
std::string promote(const std::filesystem::path& pin_file, const LibrarySet& from, const LibrarySet& to);

}  // namespace assay
