// The folder from which a worker loads one version of a library: links to its file and to what else it takes, found by
// asking the dynamic loader itself what it lacks.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gate/library_versions.h"

namespace assay {

struct Linking {
  const LibraryPlace& place;
  const LibraryRecipe& recipe;
  std::filesystem::path main;                // the library's file
  std::vector<std::filesystem::path> parts;  // that it loads itself, by their sonames
  std::vector<std::filesystem::path> trees;  // in which what it needs is looked for
  // One more such tree, when those are not enough; none when there is no more.
  std::function<std::optional<std::filesystem::path>()> more = [] { return std::nullopt; };
};

struct Linked {
  std::filesystem::path folder;
  std::filesystem::path loader;  // within it; empty: the system's does
};

// Below the folder of ci/library, under `name`. It is whole under that name, and one that does already stays as it is.
// Throws Invalid when the library, or the worker under it, cannot be loaded, with what is lacking.
Linked link_library(Linking& linking, const std::filesystem::path& name, std::vector<std::string>& notes);

// What a dynamic loader says it lacks of a file: sonames of libraries that are absent or too old, each with the words
// it says so in.
struct Lacking {
  std::string soname, words;
  bool operator==(const Lacking&) const = default;
};
// Of what `ld.so --list FILE` prints. `rest`: its last line, when it says something else.
std::vector<Lacking> lacking_in(const std::string& output, std::string& rest);

}  // namespace assay
