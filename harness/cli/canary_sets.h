// The versions of a library that a command is about, from the recipes of ci/libraries, and the kernels that are a
// canary's corpus.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/options.h"
#include "gate/library_recipe.h"
#include "gate/library_versions.h"
#include "gate/told_paths.h"
#include "record/record.h"
#include "worker/library_set.h"

namespace assay {

struct CanarySets {
  LibrarySet pin, candidate;
  std::vector<std::string> broken;             // of what cannot be loaded here, "candidate: ..."
  LibraryRecipe recipe;                        // its kernels are the corpus
  std::vector<std::filesystem::path> modules;  // that need the library
};

// Fetches what is not there yet. Throws UsageError that names the flag or the recipe.
CanarySets canary_sets(const Options& options);

// What --library and --coretype of other commands ask for; an empty set where they ask for nothing.
LibrarySet library_set_asked_for(const Options& options);

// How what was loaded, and what the library's kernels say of their plans, contradicts that set, a line each; nothing
// where it is empty.
std::vector<std::string> library_contradictions(const Options& options, const LibrarySet& set,
                                                const std::vector<LoadedLibrary>& loaded,
                                                const std::vector<Record>& records);

// How canary.json tells the paths of sets that are made here.
ToldPaths told_paths(const Options& options);

// Where this program's sets are made.
LibraryPlace library_place(const Options& options);

// The versions that a recipe's sources give now, a line each.
std::vector<std::string> library_version_lines(const Options& options);

}  // namespace assay
