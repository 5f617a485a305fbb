#include "gate/pin.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <utility>

#include "core/error.h"
#include "gate/package.h"
#include "golden/observed.h"
#include "golden/stored_cases.h"
#include "load/elf.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::string file_of(const PinLabel& label) { return "ci/pins/" + label.platform + ".toml"; }
std::string file_of(const LoadedLibrary& library) { return fs::path(library.path).filename().string(); }

// What a library is called in every version: "libopenblasp" of libopenblasp-r0.3.21.so, "libm" of libm.so.6.
std::string name_of(const std::string& file) {
  static const std::regex kVersion(R"([-_]?[rv]?\d+(\.\d+)+$)");
  constexpr size_t kLongest = 255;  // of a file's name
  const std::string stem = file.substr(0, file.find(".so"));
  const std::string name = stem.size() > kLongest ? stem : std::regex_replace(stem, kVersion, "");
  return name.empty() ? file : name;
}

// One that could not be told has no digits.
std::string known_version(const std::string& version) { return version.empty() ? std::string(kUnknown) : version; }
std::string known_build(const std::string& id) { return id.empty() || id == "code-" ? std::string(kUnknown) : id; }

struct Build {
  std::string version, build_id;
  auto operator<=>(const Build&) const = default;
};

std::string text_of(const Build& build) { return "version " + build.version + " (build-id " + build.build_id + ")"; }

Build to_build(const PinnedLibrary& library) { return {library.version, library.build_id}; }
Build to_build(const LoadedLibrary& library) { return {known_version(library.version), known_build(library.build_id)}; }

std::string text_of(const std::set<Build>& builds) {
  std::string text;
  for (const Build& build : builds) text += (text.empty() ? "" : " and ") + text_of(build);
  return text;
}

std::map<std::string, std::set<Build>> builds_by_name(const std::vector<LoadedLibrary>& libraries) {
  std::map<std::string, std::set<Build>> builds;
  for (const LoadedLibrary& library : libraries) builds[name_of(file_of(library))].insert(to_build(library));
  return builds;
}

std::string fact_of(const Facts& facts, std::string_view name) {
  const auto found = facts.find(std::string(name));
  return found == facts.end() ? std::string(kUnknown) : found->second;
}

std::string new_pin(const PinPlatform& platform) {
  const std::string of = platform.device == "cpu" ? fmt::format(" --threads {}", platform.threads) : " --device cuda";
  return "'assay env pin" + of + "'";
}

std::string line_of(const PinPlatform& platform, const std::string& what, const std::string& pinned,
                    const std::string& found, const std::string& remedy) {
  return one_line(fmt::format("{}: pinned {}, found {}; {}, or have a new pin reviewed: {}", what, pinned, found,
                              remedy, new_pin(platform)));
}

// Of one name: what the pin lists and was not found, and what was found and the pin does not list.
struct Unequal {
  std::vector<PinnedLibrary> pinned;
  std::vector<Build> found;
};

std::map<std::string, Unequal> unequal_libraries(const Pin& pin, const Environment& environment) {
  std::map<std::string, std::set<Build>> left = builds_by_name(environment.libraries);
  std::map<std::string, Unequal> unequal;
  std::map<std::string, std::set<Build>> listed;
  for (const PinnedLibrary& library : pin.libraries) {
    const std::string name = name_of(library.file);
    listed[name].insert(to_build(library));
    if (!left[name].contains(to_build(library))) unequal[name].pinned.push_back(library);
  }
  for (const auto& [name, builds] : left) {
    for (const Build& build : builds) {
      if (!listed[name].contains(build)) unequal[name].found.push_back(build);
    }
  }
  return unequal;
}

std::string remedy_of(const PinnedLibrary& library) {
  return "install " + (library.package == kUnknown ? "that build" : library.package);
}

// A build-id survives an edit of the file.
std::vector<std::string> edited_files(const Pin& pin, const Environment& environment) {
  std::vector<std::string> lines;
  for (const PinnedLibrary& pinned : pin.libraries) {
    for (const LoadedLibrary& library : environment.libraries) {
      const bool is_it = name_of(file_of(library)) == name_of(pinned.file) && to_build(library) == to_build(pinned);
      if (!is_it || pinned.sha256 == kUnknown || library.sha256.empty() || library.sha256 == pinned.sha256) continue;
      lines.push_back(line_of(environment.platform, name_of(pinned.file), "sha256 " + pinned.sha256,
                              library.sha256 + " in " + library.path + ", of the same version and build-id",
                              remedy_of(pinned)));
    }
  }
  return lines;
}

std::vector<std::string> lines_of(const std::string& name, const Unequal& unequal, const Environment& environment) {
  std::vector<std::string> lines;
  const auto add = [&](const std::string& pinned, const std::string& found, const std::string& remedy) {
    lines.push_back(line_of(environment.platform, name, pinned, found, remedy));
  };
  size_t paired = 0;
  for (const PinnedLibrary& library : unequal.pinned) {
    if (paired < unequal.found.size()) {
      add(text_of(to_build(library)), text_of(unequal.found[paired++]), remedy_of(library));
    } else if (environment.whole && !library.late) {
      add(text_of(to_build(library)), "nothing: it is not loaded", remedy_of(library));
    }
  }
  for (; paired < unequal.found.size(); ++paired) {
    add("nothing: the pin does not list it", text_of(unequal.found[paired]), "keep it from being loaded");
  }
  return lines;
}

PinnedLibrary to_pin(const LoadedLibrary& library, bool late) {
  const Build build = to_build(library);
  return {.file = file_of(library), .version = build.version, .build_id = build.build_id, .late = late};
}

// Adds the paths of those libraries of `environment` that `file` needs, and those that they need in turn.
void add_needed(const fs::path& file, const Environment& environment, std::set<std::string>& paths) {
  const std::vector<std::string> sonames = needed_by(file);
  for (const LoadedLibrary& library : environment.libraries) {
    const std::string soname = soname_of(library.path);
    if (std::ranges::find(sonames, soname.empty() ? file_of(library) : soname) == sonames.end()) continue;
    if (paths.insert(library.path).second) add_needed(library.path, environment, paths);
  }
}

void add_change(std::vector<std::string>& changes, const std::string& what, const std::string& before,
                const std::string& now) {
  if (before != now) changes.push_back(one_line(fmt::format("{}: {} before, {} now", what, before, now)));
}

std::vector<std::string> changes_but_of_libraries(const Environment& before, const Environment& now) {
  std::vector<std::string> changes;
  const std::string& device = now.platform.device;
  const char* processor = isa_fact(device);
  add_change(changes, "device", before.platform.device, device);
  add_change(changes, processor, before.platform.processor, now.platform.processor);
  if (device == "cpu") {
    add_change(changes, "threads", std::to_string(before.platform.threads), std::to_string(now.platform.threads));
  }
  for (const PinnedFact& fact : pinned_facts(device)) {
    if (fact.name == processor) continue;
    add_change(changes, std::string(fact.name), fact_of(before.facts, fact.name), fact_of(now.facts, fact.name));
  }
  return changes;
}

std::set<std::string> modules_of_device(const Run& run) {
  std::set<std::string> modules;
  for (const KernelEntry& kernel : run.kernels) {
    if (kernel.target == run.asked.device) modules.insert(kernel.module);
  }
  return modules;
}

// Whether one of `modules` brought it or loaded it later, or nobody knows which module did.
bool is_of(const std::set<std::string>& modules, const LoadedLibrary& library) {
  const auto is_one = [&](const std::string& module) { return modules.contains(module); };
  return library.modules.empty() || std::ranges::any_of(library.modules, is_one);
}

}  // namespace

Environment environment_of(const Run& run) {
  Environment environment;
  const std::string processor = fact_of(run.environment, isa_fact(run.asked.device));
  environment.platform = {run.asked.device, processor, run.threads};
  environment.facts = run.environment;
  environment.whole = run.asked.every_module;
  std::set<std::string> modules;
  for (const KernelEntry& kernel : run.kernels) modules.insert(kernel.module);
  const std::set<std::string> of_device = modules_of_device(run);
  for (const LoadedLibrary& library : run.libraries) {
    if (is_of(of_device, library) && !modules.contains(file_of(library))) environment.libraries.push_back(library);
  }
  return environment;
}

void add_checksums(Run& run) {
  const std::set<std::string> of_device = modules_of_device(run);
  std::vector<LoadedLibrary*> unread;
  std::vector<fs::path> files;
  for (LoadedLibrary& library : run.libraries) {
    if (!library.sha256.empty() || !is_of(of_device, library)) continue;
    unread.push_back(&library);
    files.emplace_back(library.path);
  }
  const std::vector<std::string> sums = sha256_of(files);
  for (size_t i = 0; i < sums.size(); ++i) unread[i]->sha256 = sums[i];
}

std::vector<std::string> differences(const Pin& pin, const Environment& found) {
  std::vector<std::string> lines;
  for (const PinnedFact& fact : pinned_facts(pin.platform.device)) {
    const std::string then = fact_of(pin.facts, fact.name), now = fact_of(found.facts, fact.name);
    if (then != now)
      lines.push_back(line_of(found.platform, std::string(fact.name), then, now, std::string(fact.remedy)));
  }
  for (const auto& [name, unequal] : unequal_libraries(pin, found)) {
    for (std::string& line : lines_of(name, unequal, found)) lines.push_back(std::move(line));
  }
  for (std::string& line : edited_files(pin, found)) lines.push_back(std::move(line));
  return lines;
}

std::vector<std::string> unknown_to_both(const Pin& pin, const Environment& found) {
  std::vector<std::string> unknown;
  for (const PinnedFact& fact : pinned_facts(pin.platform.device)) {
    const bool known = fact_of(pin.facts, fact.name) != kUnknown || fact_of(found.facts, fact.name) != kUnknown;
    if (!known) unknown.emplace_back(fact.name);
  }
  const std::map<std::string, std::set<Build>> builds = builds_by_name(found.libraries);
  for (const PinnedLibrary& library : pin.libraries) {
    const auto same = builds.find(name_of(library.file));
    const bool is_there = same != builds.end() && same->second.contains(to_build(library));
    if (library.build_id == kUnknown && is_there) unknown.push_back("build-id of " + library.file);
  }
  return unknown;
}

PinLabel label_of(const Environment& environment, const fs::path& pins) {
  PinLabel label{.platform = environment.platform.name()};
  const std::optional<Pin> pin = find_pin(pins, environment.platform);
  if (!pin) return label;
  label.differences = differences(*pin, environment);
  label.unknown = unknown_to_both(*pin, environment);
  label.state = label.differences.empty() ? PinState::pinned : PinState::mismatched;
  return label;
}

PinLabel label_beside(Environment environment, const std::vector<fs::path>& moved, const fs::path& pins) {
  environment.whole = false;
  std::set<std::string> needed;
  for (const fs::path& file : moved) add_needed(file, environment, needed);
  std::erase_if(environment.libraries, [&](const LoadedLibrary& library) {
    return std::ranges::find(moved, fs::path(library.path)) != moved.end();
  });
  std::vector<LoadedLibrary> came_with;
  if (const std::optional<Pin> pin = find_pin(pins, environment.platform)) {
    std::set<std::string> listed;
    for (const PinnedLibrary& library : pin->libraries) listed.insert(name_of(library.file));
    const auto is_the_systems_own = [&](const LoadedLibrary& library) {
      return !needed.contains(library.path) || listed.contains(name_of(file_of(library)));
    };
    std::ranges::remove_copy_if(environment.libraries, std::back_inserter(came_with), is_the_systems_own);
    std::erase_if(environment.libraries, std::not_fn(is_the_systems_own));
  }
  PinLabel label = label_of(environment, pins);
  for (const LoadedLibrary& library : came_with) {
    label.unknown.push_back(name_of(file_of(library)) + " (" + text_of(to_build(library)) +
                            ", which the moved library needs and the pin does not list)");
  }
  return label;
}

std::string unpinned_text(const PinLabel& label) {
  const std::string file = file_of(label);
  if (label.state == PinState::pinned) return "";
  if (label.state == PinState::unpinned) return one_line("there is no " + file);
  std::string what;
  for (const std::string& line : label.differences) what += (what.empty() ? "" : ", ") + line.substr(0, line.find(':'));
  return one_line("differs from " + file + " in " + what);
}

std::string label_text(const PinLabel& label) {
  const bool is_pinned = label.state == PinState::pinned;
  std::string unknown;
  for (const std::string& what : label.unknown) unknown += (unknown.empty() ? "" : ", ") + what;
  return std::string(word_of(label.state)) +
         (is_pinned ? ", as " + file_of(label) + " says" : ": " + unpinned_text(label)) +
         (unknown.empty() ? "" : one_line("; unknown then and now: " + unknown));
}

void require_pinned(const PinLabel& label, std::string_view what, bool unpinned) {
  if (label.state == PinState::pinned || unpinned) return;
  const std::string remedy = label.state == PinState::unpinned ? "have one reviewed, which 'assay env pin' writes"
                                                               : "mend it ('assay env verify' says how)";
  throw Invalid(
      fmt::format("{}: invalid here, the environment is {}; {}, or add --unpinned, which marks what is written", what,
                  label_text(label), remedy));
}

std::vector<std::string> environment_changes(const Run& before, const Run& now) {
  std::vector<std::string> changes = changes_but_of_libraries(environment_of(before), environment_of(now));
  const std::map<std::string, std::string> then = builds_of(before);
  for (const auto& [name, builds] : builds_of(now)) {
    const auto old = then.find(name);
    if (old != then.end()) add_change(changes, name, old->second, builds);
  }
  return changes;
}

std::map<std::string, std::string> builds_of(const Run& run) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, builds] : builds_by_name(environment_of(run).libraries)) texts[name] = text_of(builds);
  return texts;
}

Pin make_pin(const Environment& environment, const std::vector<LoadedLibrary>& late) {
  if (environment.platform.processor == kUnknown) {
    throw UsageError(std::string("env pin: ") + isa_fact(environment.platform.device) +
                     " is unknown on this machine, and a pin is found by it; pin a machine that tells it");
  }
  Pin pin{.platform = environment.platform};
  for (const PinnedFact& fact : pinned_facts(environment.platform.device)) {
    pin.facts[std::string(fact.name)] = fact_of(environment.facts, fact.name);
  }
  std::vector<fs::path> files;
  std::set<std::pair<std::string, std::string>> taken;  // file and build-id: the same file may lie at two paths
  const auto add = [&](const std::vector<LoadedLibrary>& libraries, bool is_late) {
    for (const LoadedLibrary& loaded : libraries) {
      const PinnedLibrary library = to_pin(loaded, is_late);
      if (!taken.insert({library.file, library.build_id}).second) continue;
      pin.libraries.push_back(library);
      files.emplace_back(loaded.path);
    }
  };
  add(environment.libraries, false);
  add(late, true);
  const std::vector<Package> packages = packages_of(files);
  const std::vector<std::string> sums = sha256_of(files);
  for (size_t i = 0; i < files.size(); ++i) {
    pin.libraries[i].package = packages[i].name;
    pin.libraries[i].package_sha256 = packages[i].sha256;
    pin.libraries[i].sha256 = sums[i];
  }
  std::ranges::sort(pin.libraries, {}, [](const PinnedLibrary& one) { return std::tie(one.file, one.build_id); });
  return pin;
}

std::vector<LoadedLibrary> loaded_late(const Run& now, const Run& run) {
  const Environment here = environment_of(now), then = environment_of(run);
  std::vector<std::string> changes = changes_but_of_libraries(then, here);
  const std::map<std::string, std::set<Build>> brought = builds_by_name(here.libraries);
  const std::map<std::string, std::set<Build>> loaded = builds_by_name(then.libraries);
  for (const auto& [name, builds] : brought) {
    const auto found = loaded.find(name);
    const std::set<Build> none, &before = found == loaded.end() ? none : found->second;
    if (!std::ranges::includes(before, builds)) {
      add_change(changes, name, before.empty() ? "not loaded" : text_of(before), text_of(builds));
    }
  }
  std::vector<LoadedLibrary> late;
  for (const LoadedLibrary& library : then.libraries) {
    const auto known = brought.find(name_of(file_of(library)));
    if (known != brought.end() && known->second.contains(to_build(library))) continue;
    add_change(changes, library.path, known_build(library.build_id), known_build(build_of(library.path)));
    late.push_back(library);
  }
  if (!changes.empty()) throw UsageError("is of another environment: " + changes.front() + "; judge it again here");
  return late;
}

}  // namespace assay
