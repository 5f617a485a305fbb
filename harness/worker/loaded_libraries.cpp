#include "worker/loaded_libraries.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "load/elf.h"

namespace assay {
namespace {

// By which a library's modules are told.
std::string file_name(const std::string& path) { return std::filesystem::path(path).filename(); }

bool is_of(const LoadedLibrary& library, const std::string& module) {
  return std::find(library.modules.begin(), library.modules.end(), file_name(module)) != library.modules.end();
}

}  // namespace

void LoadedLibraries::note(pid_t pid, const std::string& module) {
  for (const std::string& file : mapped_files(pid)) {
    if (file.find(".so") == std::string::npos) continue;
    const std::string build_id = build_at(file);
    const auto [entry, is_new] = libraries_.try_emplace({file, build_id});
    LoadedLibrary& library = entry->second;
    if (is_new) library = {.path = file, .version = version_in_name(file), .build_id = build_id};
    if (!module.empty() && !is_of(library, module)) library.modules.push_back(file_name(module));
  }
}

// Reading a file takes long, so once for each that comes to lie at its path.
const std::string& LoadedLibraries::build_at(const std::string& path) {
  struct stat state {};
  ::stat(path.c_str(), &state);  // of one that is gone: all zeros
  const auto [entry, is_new] =
      builds_.try_emplace({path, state.st_dev, state.st_ino, state.st_ctim.tv_sec, state.st_ctim.tv_nsec});
  std::string& build = entry->second;
  if (is_new) build = build_of(path);
  return build;
}

void LoadedLibraries::note_brought(const std::string& module) { brought_.try_emplace(module, of_module(module)); }

std::vector<std::string> LoadedLibraries::late(const std::string& module) const {
  const std::set<std::string> mapped = of_module(module), &brought = brought_.at(module);
  std::vector<std::string> late;
  std::set_difference(mapped.begin(), mapped.end(), brought.begin(), brought.end(), std::back_inserter(late));
  return late;
}

std::set<std::string> LoadedLibraries::of_module(const std::string& module) const {
  std::set<std::string> all;
  for (const auto& [unused, library] : libraries_) {
    if (is_of(library, module)) all.insert(identity(library));
  }
  return all;
}

std::vector<LoadedLibrary> LoadedLibraries::all() const {
  std::vector<LoadedLibrary> all;
  for (const auto& [unused, library] : libraries_) all.push_back(library);
  return all;
}

}  // namespace assay
