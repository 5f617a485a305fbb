// Makes the set of a version (worker/library_set.h): fetches it, finds its file, and puts it into a folder of its own
// under the name by which modules need it, with as little else as it takes to be loaded here. What this machine has and
// the version can use is held: a suite's libgfortran comes in where the machine's does not do, its libc and dynamic
// loader where the library asks for a newer one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gate/library_versions.h"
#include "gate/package.h"
#include "worker/library_set.h"

namespace assay {

// A `version` of the library `recipe` of place.root's ci/libraries, in the words of find_library_version(); after
// "RECIPE:", one of another recipe for the same soname. `instruction_set`: one of the recipe's, which the library is
// asked to use; empty: none. `notes` gets lines for the reader. Throws UsageError as find_library_version() does, and
// Invalid for a version that cannot be loaded on this machine, with what it lacks.
LibrarySet make_library_set(const LibraryPlace& place, const std::string& recipe, const std::string& version,
                            const std::string& instruction_set, std::vector<std::string>& notes);

// The set asked to use an instruction set. Throws UsageError with the recipe's for one that it does not name.
LibrarySet with_instruction_set(LibrarySet set, const LibraryRecipe& recipe, const std::string& name);

// As packages_of() of gate/package.h, and of what ci/library fetched as it noted it.
std::vector<Package> packages_of_files(const std::vector<std::filesystem::path>& files);

}  // namespace assay
