#include "gate/canary_arms.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace assay {
namespace {

using File = LibrarySet::File;

std::map<std::string, std::string> builds_of(const LibrarySet& set) {
  std::map<std::string, std::string> builds;
  for (const File& file : set.files) builds[file.soname] = file.build_id;
  return builds;
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
std::string late_contradiction(const LibrarySet& set, const Record& record) {
  for (const std::string& late : record.late_libraries) {
    const size_t space = late.rfind(' ');
    const std::string name = late.substr(0, late.find(' ')), build = late.substr(space + 1);
    for (const File& file : set.files) {
      const bool is_it = name == file.soname || name == file.path.filename().string();
      if (is_it && build != file.build_id) return record.kernel_id + ": loaded " + late + " in the place of its own";
    }
  }
  return {};
}

void add_contradictions_of(const CanaryArm& arm, std::vector<std::string>& lines) {
  std::set<std::string> told;
  const auto add = [&](const std::string& why) {
    if (!why.empty() && told.insert(why).second) lines.push_back(arm.name + ": " + why);
  };
  add(violation(arm.set, arm.loaded));
  for (const Record& record : arm.records) {
    add(late_contradiction(arm.set, record));
    if (record.selection.empty()) continue;  // nothing was planned
    const std::string refused = environment_refused(arm.set, record.selection);
    if (!refused.empty()) add(record.op + "/" + record.kernel + ": " + refused);
  }
}

}  // namespace

// A system's set names what else is installed; a folder's may not.
bool are_same_build(const LibrarySet& a, const LibrarySet& b) {
  if (a.files.empty() || b.files.empty() || a.files.front().build_id != b.files.front().build_id) return false;
  const auto of_a = builds_of(a), of_b = builds_of(b);
  const auto& [few, many] = of_a.size() < of_b.size() ? std::tie(of_a, of_b) : std::tie(of_b, of_a);
  return std::ranges::all_of(few, [&](const auto& one) {
    const auto other = many.find(one.first);
    return other != many.end() && other->second == one.second;
  });
}

std::vector<std::string> contradictions(const CanaryArm& arm) {
  std::vector<std::string> lines;
  add_contradictions_of(arm, lines);
  return lines;
}

std::vector<std::string> contradictions(const CanaryArm& pin, const CanaryArm& candidate) {
  std::vector<std::string> lines;
  const std::string same = alike(pin.set, candidate.set);
  if (!same.empty()) lines.push_back(same);
  add_contradictions_of(pin, lines);
  add_contradictions_of(candidate, lines);
  return lines;
}

}  // namespace assay
