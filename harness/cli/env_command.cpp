// env: the facts that run.json records about this machine, and the libraries that workers load. env pin: the pin of its
// platform, for review. env verify: whether this machine is as its pin says.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/job.h"
#include "cli/loaded.h"
#include "cli/paths.h"
#include "cli/trees.h"
#include "core/error.h"
#include "gate/pin.h"
#include "gate/program.h"
#include "record/json_text.h"
#include "record/run_folder.h"
#include "record/verdict.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

int tell(const Options& options, const Loaded& loaded) {
  const Facts facts = facts_of(options);
  if (options.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const LoadedLibrary& library : loaded.libraries) {
      list.push_back({{"path", library.path}, {"version", library.version}, {"build_id", library.build_id}});
    }
    fmt::print("{}\n", print_json({{"environment", facts}, {"libraries", list}, {"broken_modules", loaded.broken}}, 1));
  } else {
    for (const auto& [name, fact] : facts) fmt::print("{:<28} {}\n", name, fact);
    fmt::print("\nlibraries of the workers:\n");
    for (const LoadedLibrary& library : loaded.libraries) {
      fmt::print("{}  version {}  build-id {}\n", library.path, library.version.empty() ? "unknown" : library.version,
                 library.build_id.empty() ? "unknown" : library.build_id);
    }
  }
  return tell_broken(loaded);
}

std::vector<LoadedLibrary> late_libraries(const Options& options, const Run& now) {
  if (options.run_folder.empty()) return {};
  const Run run = read_run(options.run_folder);
  if (!run.exit_code) throw UsageError(options.run_folder.string() + ": is not finished; resume it first");
  try {
    return loaded_late(now, run);
  } catch (const UsageError& e) {
    throw UsageError("env pin --run " + options.run_folder.string() + ": " + e.what());
  }
}

// What changes for those whose environment was as the pin there says; a file that is no pin says nothing.
void tell_replaced(const fs::path& file, const Environment& environment) {
  std::error_code error;
  if (!fs::exists(file, error)) return;
  try {
    for (const std::string& line : differences(read_pin(file), environment)) fmt::print("  {}\n", line);
  } catch (const UsageError& e) {
    fmt::print("  what was there could not be read: {}\n", e.what());
  }
}

void tell_unknown(const Pin& pin) {
  for (const auto& [name, fact] : pin.facts) {
    if (fact == "unknown") fmt::print("  {} is unknown here\n", name);
  }
  for (const PinnedLibrary& library : pin.libraries) {
    if (library.build_id == "unknown") fmt::print("  {}: its build-id is unknown\n", library.file);
    if (library.package == "unknown") {
      fmt::print("  {}: no package is known to have installed it\n", library.file);
    } else if (library.package_sha256 == "unknown") {
      fmt::print("  {}: the checksum of {} is unknown\n", library.file, library.package);
    }
  }
}

int write_pin(const Options& options, const Loaded& loaded, const Run& now) {
  if (const int broken = tell_broken(loaded)) return broken;
  const std::vector<LoadedLibrary> late = late_libraries(options, now);
  const Environment environment = environment_of(now);
  const Pin pin = make_pin(environment, late);
  const fs::path file = !options.out.empty()
                            ? options.out
                            : source_root(options) / "ci" / "pins" / (environment.platform.name() + ".toml");
  const std::string text = print_pin(pin);
  std::error_code error;
  fs::create_directories(fs::absolute(file).parent_path(), error);
  const std::string size = fmt::format("{} facts, {} libraries, {} of them loaded late", pin.facts.size(),
                                       pin.libraries.size(), late.size());
  tell_replaced(file, environment);
  write_file_atomically(file, text);
  fmt::print("{}: {}; review it and commit it\n", file.string(), size);
  tell_unknown(pin);
  return 0;
}

int verify(const Options& options, const Loaded& loaded, const Run& now) {
  if (const int broken = tell_broken(loaded)) return broken;
  const Trees trees = find_trees(options);
  const PinLabel label = label_of(environment_of(now), trees.pins());
  const bool holds = label.state == PinState::pinned || options.unpinned;
  const int code = holds ? 0 : exit_code_of(Verdict::invalid);
  if (options.json) {
    nlohmann::json document = to_json(label);
    document["exit_code"] = code;
    fmt::print("{}\n", print_json(document, 1));
    return code;
  }
  fmt::print("{}\n", label_text(label));
  for (const std::string& line : label.differences) {
    fmt::print("  {}\n", with_program_named(line, options.program, root_argument(options)));
  }
  if (label.state == PinState::unpinned) {
    fmt::print("{}\n",
               with_program_named("  'assay env pin' writes one for review", options.program, root_argument(options)));
  }
  return code;
}

}  // namespace

int env_command(const Options& options) {
  const bool pins = options.subcommand == "pin";
  if (pins && in_ci()) {
    throw UsageError(
        "env pin: CI is set; pins are written by a person, who reviews the diff and commits it, never by CI");
  }
  if (pins && !options.modules.empty()) {
    throw UsageError("env pin --module: a pin is of what all modules of a build load; leave it out, or give --modules");
  }
  const Loaded loaded = load_modules(judge_process(judge_settings(options)), module_files(options), make_op_registry());
  if (options.subcommand.empty()) return tell(options, loaded);
  const Run now = run_here(options, loaded, platforms_of(options, loaded));
  return pins ? write_pin(options, loaded, now) : verify(options, loaded, now);
}

}  // namespace assay
