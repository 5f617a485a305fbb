#include "worker/library_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "check/hash.h"
#include "core/error.h"
#include "load/elf.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string canonical_text(const fs::path& file) {
  std::error_code error;
  const fs::path canonical = fs::canonical(file, error);
  return error ? file.string() : canonical.string();
}

std::string name_of(const fs::path& file) {
  const std::string soname = soname_of(file);
  return soname.empty() ? file.filename().string() : soname;
}

// With the name that each goes by.
using Named = std::vector<std::pair<std::string, const LoadedLibrary*>>;

Named named(std::span<const LoadedLibrary> loaded) {
  Named all;
  for (const LoadedLibrary& library : loaded) all.emplace_back(name_of(library.path), &library);
  return all;
}

std::vector<const LoadedLibrary*> of_its_name(const LibrarySet::File& file, const Named& loaded) {
  const std::string own_name = name_of(file.path);
  std::vector<const LoadedLibrary*> found;
  for (const auto& [name, library] : loaded) {
    // A record names what came late without its folder.
    if (name == file.soname || name == own_name || library->path == file.path.filename()) found.push_back(library);
  }
  return found;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : " and ") + text;
  return all;
}

// OPENBLAS_CORETYPE=Haswell
std::string asked_for(const LibrarySet& set) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : set.environment) texts.push_back(name + "=" + value);
  return joined(texts);
}

std::string contradiction(const LibrarySet::File& file, std::span<const LoadedLibrary* const> namesakes) {
  const std::string path = canonical_text(file.path);
  const LoadedLibrary* own = nullptr;
  std::vector<std::string> others;
  for (const LoadedLibrary* library : namesakes) {
    if (canonical_text(library->path) == path) {
      own = library;
    } else {
      others.push_back(library->path);
    }
  }
  if (own == nullptr && others.empty()) {
    return file.part ? "" : file.soname + ": nothing of that name was loaded, not " + path;
  }
  if (own == nullptr) return file.soname + ": " + joined(others) + " was loaded, not " + path;
  if (!others.empty()) return file.soname + ": a mixture: " + path + " was loaded, and " + joined(others) + " too";
  if (own->build_id != file.build_id) {
    return file.soname + ": " + path + " was loaded as build " + own->build_id + ", and the set was made of build " +
           file.build_id;
  }
  return {};
}

}  // namespace

std::vector<LibrarySet::File> files_needed(const std::string& soname, std::span<const fs::path> folders) {
  std::vector<LibrarySet::File> files;
  std::vector<std::string> wanted{soname};
  std::set<std::string> seen;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const std::string name = wanted[i];
    if (!seen.insert(name).second) continue;
    const auto folder = std::find_if(folders.begin(), folders.end(), [&](const fs::path& f) {
      std::error_code error;
      return fs::is_regular_file(f / name, error);
    });
    if (folder == folders.end()) {
      if (i == 0) throw UsageError(name + ": is in none of the set's folders; see ci/README.md, Libraries");
      continue;  // the machine's own will do
    }
    const fs::path path = fs::canonical(*folder / name);
    files.push_back({name, path, version_in_name(path.string()), build_of(path), false});
    for (std::string& next : needed_by(path)) wanted.push_back(std::move(next));
  }
  return files;
}

std::string violation(const LibrarySet& set, std::span<const LoadedLibrary> loaded) {
  if (set.library.empty()) return {};
  const std::string whose = set.library + " " + set.version + ": ";
  if (set.files.empty()) return whose + "the set names no files, so that nothing shows what was loaded";
  const Named all = named(loaded);
  for (const LibrarySet::File& file : set.files) {
    if (const std::string why = contradiction(file, of_its_name(file, all)); !why.empty()) return whose + why;
  }
  return {};
}

std::vector<LoadedLibrary> named_in(const LibrarySet& set, std::span<const LoadedLibrary> loaded) {
  const Named all = named(loaded);
  std::vector<LoadedLibrary> found;
  for (const LibrarySet::File& file : set.files) {
    for (const LoadedLibrary* library : of_its_name(file, all)) {
      const auto is_it = [&](const LoadedLibrary& one) {
        return one.path == library->path && one.build_id == library->build_id;
      };
      if (std::ranges::none_of(found, is_it)) found.push_back(*library);
    }
  }
  return found;
}

std::string environment_refused(const LibrarySet& set, const std::map<std::string, std::string>& selection) {
  if (set.environment.empty()) return {};
  const std::string asked = asked_for(set) + " was asked for";
  if (set.expected.empty()) return asked + ", and nothing is known by which it would show";
  for (const auto& [key, value] : set.expected) {
    const auto shown = selection.find(key);
    if (shown == selection.end()) return asked + ", and the kernel does not say which " + key + " it ran";
    if (shown->second != value) return asked + ", and " + key + " is " + shown->second + ", not " + value;
  }
  return {};
}

std::string identity_of(const LibrarySet& set) {
  std::string builds;
  for (const LibrarySet::File& file : set.files) builds += file.build_id + "\n";
  std::string identity = fmt::format("{}-{:016x}", set.library, xxh64_of(builds.data(), builds.size()));
  for (const auto& [unused, value] : set.environment) identity += "-" + value;
  return identity;
}

json to_json(const LibrarySet& set) {
  json folders = json::array(), files = json::array(), packages = json::array();
  for (const fs::path& folder : set.folders) folders.push_back(folder.string());
  for (const LibrarySet::File& file : set.files) {
    files.push_back({{"soname", file.soname},
                     {"path", file.path.string()},
                     {"version", file.version},
                     {"build_id", file.build_id},
                     {"part", file.part}});
  }
  for (const LibrarySet::Package& package : set.packages) {
    packages.push_back({{"name", package.name}, {"sha256", package.sha256}});
  }
  return {{"library", set.library},         {"version", set.version},  {"folders", folders},
          {"loader", set.loader.string()},  {"files", files},          {"packages", packages},
          {"environment", set.environment}, {"expected", set.expected}};
}

LibrarySet library_set_from_json(const json& value) {
  LibrarySet set;
  set.library = value.at("library");
  set.version = value.at("version");
  for (const json& folder : value.at("folders")) set.folders.emplace_back(folder.get<std::string>());
  set.loader = value.at("loader").get<std::string>();
  for (const json& file : value.at("files")) {
    set.files.push_back({file.at("soname"), file.at("path").get<std::string>(), file.at("version"), file.at("build_id"),
                         file.value("part", false)});
  }
  for (const json& package : value.at("packages")) {
    set.packages.push_back({package.at("name"), package.at("sha256")});
  }
  set.environment = value.at("environment").get<std::map<std::string, std::string>>();
  set.expected = value.at("expected").get<std::map<std::string, std::string>>();
  return set;
}

}  // namespace assay
