// canary --promote: the candidate of a canary that said PROMOTE becomes the pin, in ci/pins/PLATFORM.toml, for a person
// who reviews the diff and commits it. Nothing else does.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/canary_sets.h"
#include "cli/commands.h"
#include "cli/job.h"
#include "cli/paths.h"
#include "core/error.h"
#include "gate/canary_report.h"
#include "gate/library_promotion.h"
#include "gate/package.h"
#include "load/elf.h"
#include "record/run_folder.h"
#include "record/run_json.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

[[noreturn]] void refuse(const fs::path& folder, const std::string& why) {
  throw UsageError("--promote " + folder.string() + ": " + why);
}

json canary_of(const fs::path& folder) {
  const fs::path file = folder / kCanaryFile;
  if (!is_there(file)) refuse(folder, "has no " + std::string(kCanaryFile) + "; give the folder of a finished canary");
  try {
    return json::parse(read_whole(file));
  } catch (const json::exception& e) {
    refuse(folder, std::string(kCanaryFile) + ": " + e.what());
  }
}

// Of less than everything there is no promotion.
void require_promotable(const fs::path& folder, const json& canary) {
  const std::string verdict = canary.at("verdict");
  if (verdict != "PROMOTE") refuse(folder, "its verdict is " + verdict + ", and only PROMOTE makes a pin");
  const json& asked = canary.at("asked");
  if (!asked.at("filters").empty()) refuse(folder, "it judged what --filter chose; judge the whole corpus");
  if (!asked.at("modules").empty()) refuse(folder, "it judged the modules of --module; judge those of the build");
  if (asked.at("tier") == "smoke") refuse(folder, "it judged the smoke tier; judge --tier ci");
  if (!asked.at("latency").get<bool>()) refuse(folder, "it measured no latency; leave --no-latency out");
  if (const std::string why = canary.at("why_no_latency"); !why.empty())
    refuse(folder, "it measured no latency: " + why);
  if (canary.at("out_of_time").get<bool>())
    refuse(folder, "its time for latency was up with shapes undecided; canary --resume measures on");
  if (canary.at("environment_label").at("state") != word_of(PinState::pinned)) {
    refuse(folder, "the rest of its environment was not the pinned one; judge it on a machine that is");
  }
}

void require_same_files(const fs::path& folder, const LibrarySet& set) {
  if (!set.environment.empty()) {
    refuse(folder, "it judged one instruction set (--coretype); judge the library as it chooses by itself");
  }
  const std::vector<LoadedLibrary> judged = read_run(folder / "candidate").libraries;
  if (set.files.empty() ||
      std::ranges::find(judged, set.files.front().build_id, &LoadedLibrary::build_id) == judged.end()) {
    refuse(folder, "candidate/run.json does not list the library among what was loaded; judge the candidate anew");
  }
  for (const LibrarySet::File& file : set.files) {
    if (!is_there(file.path)) refuse(folder, file.path.string() + " is not there; judge the candidate anew");
    if (build_of(file.path) != file.build_id) refuse(folder, file.path.string() + " is another build by now");
    // A build-id survives an edit.
    for (const LoadedLibrary& one : judged) {
      if (one.build_id != file.build_id || one.sha256 == sha256_of(file.path)) continue;
      refuse(folder, file.path.string() + " was edited since it was judged; judge the candidate anew");
    }
  }
}

}  // namespace

int promote_command(const Options& options) {
  if (in_ci()) {
    throw UsageError(
        "canary --promote: CI is set; pins are written by a person, who reviews the diff and commits it, never by CI");
  }
  const json canary = canary_of(options.promote);
  LibrarySet from, to;
  std::string platform;
  try {
    if (const std::string library = canary.at("library"); !options.library.empty() && options.library != library) {
      refuse(options.promote, "is a canary of " + library + ", not of " + options.library + "; leave the name out");
    }
    require_promotable(options.promote, canary);
    const ToldPaths paths = told_paths(options);
    from = paths.read(library_set_from_json(canary.at("pin").at("set")));
    to = paths.read(library_set_from_json(canary.at("candidate").at("set")));
    platform = canary.at("environment_label").at("platform");
  } catch (const json::exception& e) {
    refuse(options.promote, std::string(kCanaryFile) + ": " + e.what());
  }
  // canary.json may come from anybody.
  if (platform.empty() || platform.find('/') != std::string::npos || platform.starts_with('.')) {
    refuse(options.promote, "environment_label.platform: '" + platform + "' names no pin");
  }
  require_same_files(options.promote, to);
  const fs::path pin = source_root(options) / "ci" / "pins" / (platform + ".toml");
  if (!is_there(pin)) refuse(options.promote, "there is no " + pin.string() + "; 'assay env pin' writes one");
  const std::string diff = promote(pin, from, to);
  fmt::print("{}", diff);
  fmt::print("{}: {}\n", pin.string(), diff.empty() ? "is as the candidate already" : "review the diff and commit it");
  return 0;
}

}  // namespace assay
