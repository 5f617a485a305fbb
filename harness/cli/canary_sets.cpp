#include "cli/canary_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "cli/paths.h"
#include "core/error.h"
#include "gate/canary_arms.h"
#include "gate/library_sets.h"
#include "gate/library_versions.h"
#include "load/elf.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

LibrarySet set_of(const Options& options, const std::string& recipe, const std::string& version) {
  std::vector<std::string> notes;
  LibrarySet set = make_library_set(library_place(options), recipe, version, options.coretype, notes);
  for (const std::string& note : notes) fmt::print(stderr, "assay: {}\n", note);
  return set;
}

// What is no module is let through, so that loading it says so.
bool needs(const fs::path& module, const std::string& soname) {
  if (code_hash_of(module).empty()) return true;
  const std::vector<std::string> names = needed_by(module);
  return std::ranges::find(names, soname) != names.end();
}

// What is left over in a shell would choose for both sides, and no word of the canary would say so.
void require_own_choice(const Options& options, const LibraryRecipe& recipe) {
  if (!options.coretype.empty() || !recipe.instruction_sets) return;
  std::vector<std::string> variables = recipe.instruction_sets->aliases;
  variables.push_back(recipe.instruction_sets->variable);
  for (const std::string& variable : variables) {
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr || *value == '\0') continue;
    throw UsageError(
        fmt::format("canary {}: {}={} in the environment chooses for the library; unset it, or ask with "
                    "--coretype",
                    options.library, variable, value));
  }
}

}  // namespace

LibraryPlace library_place(const Options& options) {
  return {.root = source_root(options), .worker = program("assay-worker"), .installed = own_library_path()};
}

CanarySets canary_sets(const Options& options) {
  CanarySets sets;
  sets.recipe = find_recipe(source_root(options), options.library);
  require_own_choice(options, sets.recipe);
  for (const fs::path& module : module_files(options)) {
    if (needs(module, sets.recipe.soname)) sets.modules.push_back(module);
  }
  if (sets.modules.empty()) {
    throw UsageError("canary " + options.library + ": no module needs " + sets.recipe.soname +
                     "; build the kernels that compute with it, or see to the recipe's `soname`");
  }
  const auto make = [&](const char* side, const std::string& version, LibrarySet& set) {
    try {
      set = set_of(options, options.library, version);
    } catch (const Invalid& e) {
      set = {.library = options.library, .version = version};
      sets.broken.push_back(std::string(side) + ": cannot be loaded: " + e.what());
    }
  };
  make("pin", options.pin.empty() ? "system" : options.pin, sets.pin);
  make("candidate", options.candidate, sets.candidate);
  const auto file_of = [&](const LibrarySet& set) {
    const auto found = std::ranges::find(set.files, sets.recipe.soname, &LibrarySet::File::soname);
    return found == set.files.end() ? std::filesystem::path() : found->path;
  };
  const std::filesystem::path own = file_of(sets.candidate);
  const bool is_folder = sets.candidate.words == sets.candidate.version;  // what a folder holds, the judge proves
  if (sets.broken.empty() && !is_folder && !own.empty() && own == file_of(sets.pin)) {
    sets.broken.push_back(
        "candidate: " + options.candidate + " is the pin's own file, " + own.string() +
        "; a version that several sources have is that of the first: name the source, such as debian:" +
        sets.candidate.version);
  }
  return sets;
}

ToldPaths told_paths(const Options& options) {
  std::vector<std::string> notes;
  const char* home = std::getenv("HOME");
  return {library_cache(library_place(options), notes), home == nullptr ? "" : home};
}

LibrarySet library_set_asked_for(const Options& options) {
  if (options.library_version.empty()) {
    if (options.coretype.empty() || options.command == "canary") return {};
    throw UsageError(
        "--coretype " + options.coretype +
        ": of which library? 'assay check' and 'assay repro' take --library with it, such as openblas=system");
  }
  const size_t equals = options.library_version.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == options.library_version.size()) {
    throw UsageError("--library " + options.library_version + ": give LIBRARY=VERSION, such as openblas=0.3.29");
  }
  return set_of(options, options.library_version.substr(0, equals), options.library_version.substr(equals + 1));
}

std::vector<std::string> library_contradictions(const Options& options, const LibrarySet& set,
                                                const std::vector<LoadedLibrary>& loaded,
                                                const std::vector<Record>& records) {
  if (set.library.empty()) return {};
  const LibraryRecipe recipe = find_recipe(source_root(options), set.library);
  std::vector<Record> its_own;
  std::ranges::copy_if(records, std::back_inserter(its_own),
                       [&](const Record& record) { return recipe.concerns(record.op, record.kernel); });
  return contradictions(CanaryArm{"--library", set, loaded, its_own});
}

std::vector<std::string> library_version_lines(const Options& options) {
  std::vector<std::string> notes, lines;
  const LibraryRecipe recipe = find_recipe(source_root(options), options.library);
  for (const LibraryVersion& version : library_versions(library_place(options), recipe, notes)) {
    lines.push_back(text_of(version) +
                    (version.source.left_out.empty() ? "" : "  left out: " + version.source.left_out));
  }
  for (const std::string& note : notes) lines.push_back("note: " + note);
  return lines;
}

}  // namespace assay
