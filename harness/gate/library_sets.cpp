#include "gate/library_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>

#include "check/hash.h"
#include "core/error.h"
#include "gate/library_linking.h"
#include "gate/nearest.h"
#include "gate/package.h"
#include "load/elf.h"
#include "record/run_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// What ci/library notes of a package that it unpacked, at the top of its tree.
constexpr const char* kPackageNote = ".package";

// A package's tree from a line of ci/library: KIND PACKAGE VERSION SHA256 FOLDER.
fs::path tree_in(const std::string& line) {
  std::istringstream in(line);
  std::string kind, name, version, sha256, folder;
  in >> kind >> name >> version >> sha256 >> std::ws;
  std::getline(in, folder);
  if (folder.empty()) throw Error("ci/library fetch: '" + line + "' names no folder");
  return folder;
}

fs::path fetch(const LibraryPlace& place, const std::vector<std::string>& what, std::vector<std::string>& notes) {
  std::vector<std::string> question{"fetch"};
  question.insert(question.end(), what.begin(), what.end());
  const std::vector<std::string> answer = ask_library_script(place, question, notes);
  if (answer.size() != 1) throw Error("ci/library fetch: answers " + std::to_string(answer.size()) + " lines");
  return tree_in(answer.front());
}

// The one file below `folder`, or in it, that the recipe means.
fs::path main_file(const LibraryRecipe& recipe, const fs::path& folder, bool below) {
  std::set<fs::path> found;
  std::string no_library;
  const auto look_at = [&](const fs::directory_entry& entry) {
    std::error_code error;
    if (!glob_matches(recipe.file, entry.path().filename().string()) || !entry.is_regular_file(error)) return;
    const fs::path file = fs::canonical(entry.path(), error);
    if (error) return;
    if (code_hash_of(file).empty()) {
      no_library = entry.path().filename().string();
    } else {
      found.insert(file);
    }
  };
  if (below) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) look_at(entry);
  } else {
    for (const auto& entry : fs::directory_iterator(folder)) look_at(entry);
  }
  const std::string where = recipe.name + ": " + folder.string() + ": ";
  if (found.empty() && !no_library.empty()) {
    throw Invalid(where + no_library + " is no shared library of ELF, or not all of one");
  }
  if (found.empty()) throw Invalid(where + "holds no library " + recipe.file + ", as the recipe's `file` says");
  if (found.size() == 1) return *found.begin();
  std::string names;
  for (const fs::path& file : found) {
    if (soname_of(file) == recipe.soname) return file;
    names += (names.empty() ? "" : ", ") + file.filename().string();
  }
  throw Invalid(where + "several libraries are " + recipe.file + ": " + names + "; make the recipe's `file` narrower");
}

// Files beside the library that it loads itself, each once, whatever links there are to it.
std::vector<fs::path> parts_beside(const LibraryRecipe& recipe, const fs::path& main) {
  std::set<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(main.parent_path())) {
    if (recipe.parts.empty() || !glob_matches(recipe.parts, entry.path().filename().string())) continue;
    const fs::path file = fs::canonical(entry.path(), error);
    if (!error && file != main && !soname_of(file).empty()) found.insert(file);
  }
  return {found.begin(), found.end()};
}

// As ci/library noted it; none for a file that lies in no tree of its.
std::optional<Package> noted_package(const fs::path& file) {
  for (fs::path folder = file.parent_path(); folder != folder.root_path(); folder = folder.parent_path()) {
    std::error_code error;
    if (!fs::exists(folder / kPackageNote, error)) continue;
    std::istringstream in(read_whole(folder / kPackageNote));
    std::string kind, name, version;
    Package package;
    in >> kind >> name >> version >> package.sha256;
    package.name = kind + " " + name + " " + version;
    return package;
  }
  return std::nullopt;
}

// What forwards to a library is made here and of no package.
std::vector<LibrarySet::Package> packages_of_set(const LibrarySet& set) {
  std::vector<fs::path> files;
  for (const LibrarySet::File& file : set.files) {
    const bool is_made = !set.folders.empty() && file.path.parent_path() == fs::canonical(set.folders.front());
    if (!is_made) files.push_back(file.path);
  }
  std::vector<LibrarySet::Package> packages;
  std::set<std::string> seen;
  for (const Package& package : packages_of_files(files)) {
    if (seen.insert(package.name).second) packages.push_back({package.name, package.sha256});
  }
  return packages;
}

std::string as_file_name(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '/' || c == ' ' || c == ':'; }, '_');
  return text;
}

// In the place of a path, which would say whose folder it is.
std::string hash_of(const std::string& text) { return fmt::format("{:016x}", xxh64_of(text.data(), text.size())); }

// A recipe's name before a colon: that recipe, and the rest of the words.
std::pair<LibraryRecipe, std::string> recipe_and_words(const LibraryPlace& place, const std::string& name,
                                                       const std::string& words) {
  LibraryRecipe recipe = find_recipe(place.root, name);
  const size_t colon = words.find(':');
  if (colon == std::string::npos) return {recipe, words};
  const std::vector<std::string> names = recipe_names(place.root);
  if (std::find(names.begin(), names.end(), words.substr(0, colon)) == names.end()) return {recipe, words};
  LibraryRecipe other = find_recipe(place.root, words.substr(0, colon));
  if (other.soname != recipe.soname) {
    throw UsageError(name + " " + words + ": modules need " + recipe.soname + ", and " + other.name + " is " +
                     other.soname);
  }
  return {other, words.substr(colon + 1)};
}

}  // namespace

std::vector<Package> packages_of_files(const std::vector<fs::path>& files) {
  std::vector<Package> packages;
  std::vector<fs::path> of_machine;
  std::vector<size_t> places;
  for (const fs::path& file : files) {
    const std::optional<Package> noted = noted_package(file);
    packages.push_back(noted.value_or(Package{}));
    if (noted) continue;
    places.push_back(packages.size() - 1);
    of_machine.push_back(file);
  }
  const std::vector<Package> installed = packages_of(of_machine);
  for (size_t i = 0; i < places.size(); ++i) packages[places[i]] = installed[i];
  return packages;
}

LibrarySet with_instruction_set(LibrarySet set, const LibraryRecipe& recipe, const std::string& name) {
  if (!recipe.instruction_sets) {
    throw UsageError(recipe.name + ": its recipe has no [instruction_set], so that none can be asked for");
  }
  const auto& sets = *recipe.instruction_sets;
  const auto found = std::find(sets.values.begin(), sets.values.end(), name);
  if (found == sets.values.end()) {
    throw UsageError(recipe.name + ": '" + name + "' is no value of its instruction_set" +
                     suggestion(name, sets.values));
  }
  set.environment[sets.variable] = name;
  set.expected[sets.shown_as] = sets.shown[static_cast<size_t>(found - sets.values.begin())];
  return set;
}

LibrarySet make_library_set(const LibraryPlace& place, const std::string& recipe_name, const std::string& version,
                            const std::string& instruction_set, std::vector<std::string>& notes) {
  const auto [recipe, words] = recipe_and_words(place, recipe_name, version);
  const LibraryVersion chosen = find_library_version(place, recipe, words, notes);
  LibrarySet set{.library = recipe.name, .version = chosen.version, .words = words_for(chosen)};
  fs::path main;
  std::vector<fs::path> trees;
  if (chosen.kind == "system") {
    main = fs::canonical(chosen.from);
  } else if (chosen.kind == "folder") {
    main = main_file(recipe, chosen.from, false);
    trees.emplace_back(chosen.from);
  } else {
    const bool debian = chosen.kind == "debian";
    const std::string& package = chosen.source.package;
    trees.push_back(debian ? fetch(place, {"debian", chosen.from, package + "=" + chosen.version}, notes)
                           : fetch(place, {"wheel", package, chosen.version}, notes));
    main = main_file(recipe, trees.back(), true);
  }
  const std::vector<fs::path> parts = parts_beside(recipe, main);
  if (chosen.kind == "system" && recipe.symbol_prefix.empty()) {
    // As every program on this machine gets it; only named, so that it can be proved.
    const fs::path folders[] = {fs::path(chosen.from).parent_path()};
    set.files = files_needed(recipe.soname, folders);
  } else {
    Linking linking{.place = place, .recipe = recipe, .main = main, .parts = parts, .trees = trees};
    size_t next = 0;
    linking.more = [&, &chosen = chosen]() -> std::optional<fs::path> {
      const std::vector<std::string>& needs = chosen.source.needs;
      if (chosen.kind != "debian" || next == needs.size()) return std::nullopt;
      return fetch(place, {"debian", chosen.from, needs[next++]}, notes);
    };
    const std::string build = build_of(main);
    const std::string which = chosen.kind == "folder" ? hash_of(chosen.version) : as_file_name(chosen.version);
    const std::string name = chosen.kind + "-" + which + "-" + build.substr(0, 17);
    const Linked linked = link_library(linking, fs::path("sets") / recipe.name / name, notes);
    set.folders = {linked.folder};
    set.loader = linked.loader;
    set.files = files_needed(recipe.soname, set.folders);
  }
  for (const fs::path& part : parts) {
    const auto is_it = [&](const LibrarySet::File& file) { return file.path == part; };
    if (std::ranges::any_of(set.files, is_it)) continue;
    set.files.push_back({soname_of(part), part, version_in_name(part.string()), build_of(part), true});
  }
  set.packages = packages_of_set(set);
  return instruction_set.empty() ? set : with_instruction_set(set, recipe, instruction_set);
}

}  // namespace assay
