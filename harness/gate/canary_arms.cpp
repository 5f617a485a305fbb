#include "gate/canary_arms.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <regex>
#include <set>
#include <tuple>

#include "load/elf.h"
#include "record/run_folder.h"

namespace assay {
namespace {

using File = LibrarySet::File;

// What stands for a build-id that a file lacks is of its code alone: there all that is loaded of the files is compared.
bool are_same(const File& a, const File& b) {
  if (a.build_id != b.build_id) return false;
  if (!a.build_id.starts_with("code-")) return !a.build_id.empty();
  const std::string image = image_hash_of(a.path);
  return !image.empty() && image == image_hash_of(b.path);
}

// A version that a folder was given for says nothing of which it is.
bool is_folder(const std::string& version) { return version.find('/') != std::string::npos; }

std::string alike(const LibrarySet& pin, const LibrarySet& candidate) {
  if (pin.files.empty() || candidate.files.empty()) return {};  // violation() says so
  const File &before = pin.files.front(), &now = candidate.files.front();
  if (before.path == now.path) return "candidate: loads the pin's file, " + now.path.string();
  const bool are_versions = !is_folder(pin.version) && !is_folder(candidate.version);
  if (are_versions && pin.version != candidate.version && are_same_build(pin, candidate)) {
    return "candidate: " + candidate.version + " was asked for and " + pin.version +
           " is the pin, and both are build " + now.build_id;
  }
  return {};
}

// Of libraries that a record's processes loaded later: an arm that was interrupted has nothing else of its last cases.
// `other`: of the other side, whose files may bear other names.
std::string late_contradiction(const LibrarySet& set, const LibrarySet& other, const Record& record) {
  for (const std::string& late : record.late_libraries) {
    const std::string name = late.substr(0, late.find(' ')), build = late.substr(late.rfind(' ') + 1);
    const auto is_named = [&](const File& file) {
      return name == file.soname || name == file.path.filename().string();
    };
    const auto is_it = [&](const File& file) { return is_named(file) && build == file.build_id; };
    if (std::ranges::any_of(set.files, is_it)) continue;
    if (std::ranges::any_of(set.files, is_named)) {
      return record.kernel_id + ": loaded " + late + " in the place of its own";
    }
    if (std::ranges::any_of(other.files, is_it)) return record.kernel_id + ": loaded the other side's " + late;
  }
  return {};
}

void add_contradictions_of(const CanaryArm& arm, const LibrarySet& other, std::vector<std::string>& lines) {
  std::set<std::string> told;
  const auto add = [&](const std::string& why) {
    if (!why.empty() && told.insert(why).second) lines.push_back(arm.name + ": " + why);
  };
  add(violation(arm.set, arm.loaded));
  for (const Record& record : arm.records) {
    add(late_contradiction(arm.set, other, record));
    if (record.selection.empty()) continue;  // nothing was planned
    const std::string refused = environment_refused(arm.set, record.selection);
    if (!refused.empty()) add(record.op + "/" + record.kernel + ": " + refused);
  }
}

}  // namespace

// A system's set names what else is installed; a folder's may not.
bool are_same_build(const LibrarySet& a, const LibrarySet& b) {
  if (a.files.empty() || b.files.empty() || !are_same(a.files.front(), b.files.front())) return false;
  const auto& [few, many] = a.files.size() < b.files.size() ? std::tie(a.files, b.files) : std::tie(b.files, a.files);
  return std::ranges::all_of(few, [&](const File& one) {
    const auto other = std::ranges::find(many, one.soname, &File::soname);
    return other != many.end() && are_same(one, *other);
  });
}

bool are_same_bytes(const LibrarySet& a, const LibrarySet& b) {
  if (!are_same_build(a, b) || a.loader != b.loader || a.environment != b.environment) return false;
  return std::ranges::all_of(a.files, [&](const File& one) {
    const auto other = std::ranges::find(b.files, one.soname, &File::soname);
    return other == b.files.end() || read_whole(one.path) == read_whole(other->path);
  });
}

std::vector<std::string> contradictions(const CanaryArm& arm) {
  std::vector<std::string> lines;
  add_contradictions_of(arm, {}, lines);
  return lines;
}

std::vector<std::string> contradictions(const CanaryArm& pin, const CanaryArm& candidate) {
  std::vector<std::string> lines;
  const std::string same = alike(pin.set, candidate.set);
  if (!same.empty()) lines.push_back(same);
  add_contradictions_of(pin, candidate.set, lines);
  add_contradictions_of(candidate, pin.set, lines);
  return lines;
}

std::set<std::string> versions_told(const CanaryArm& arm) {
  static const std::regex kVersion(R"(\d+(\.\d+)+)");
  std::set<std::string> versions;
  for (const Record& record : arm.records) {
    const auto library = record.selection.find("library");
    std::smatch match;
    if (library != record.selection.end() && std::regex_search(library->second, match, kVersion)) {
      versions.insert(match.str());
    }
  }
  return versions;
}

std::string version_text(const CanaryArm& arm) {
  const std::set<std::string> told = is_folder(arm.set.version) ? versions_told(arm) : std::set<std::string>();
  return told.empty() ? arm.set.version : fmt::format("{} (tells {})", arm.set.version, fmt::join(told, ", "));
}

}  // namespace assay
