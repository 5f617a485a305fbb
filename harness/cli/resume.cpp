#include "cli/resume.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/error.h"
#include "gate/pin.h"
#include "gate/program.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
  return all;
}

// A library's version, where it is a folder (gate/library_versions.h).
std::string lasting_version(const std::string& words) {
  constexpr std::string_view kSource = "folder:";
  if (words.find('/') == std::string::npos) return words;
  if (!words.starts_with(kSource)) return fs::absolute(words).string();
  return std::string(kSource) + fs::absolute(words.substr(kSource.size())).string();
}

std::string lasting_value(std::string_view flag, const std::string& value) {
  constexpr std::array<std::string_view, 8> kPaths{"--root",    "--module",  "--modules", "--base-modules",
                                                   "--history", "--ledgers", "--out",     "--resume"};
  if (std::ranges::find(kPaths, flag) != kPaths.end()) return fs::absolute(value).string();
  std::error_code error;
  if (flag == "--base" && fs::is_directory(value, error)) return fs::absolute(value).string();
  if (flag == "--pin" || flag == "--candidate") return lasting_version(value);
  const size_t equals = value.find('=');
  if (flag != "--library" || equals == std::string::npos) return value;
  return value.substr(0, equals + 1) + lasting_version(value.substr(equals + 1));
}

void require_records(const fs::path& run) {
  const fs::path records = run / "records.jsonl";
  if (!is_there(run / "run.json") || is_there(records)) return;
  throw UsageError(records.string() +
                   ": is gone, and what was judged with it; put it back, or begin anew in another folder");
}

// As the run was asked, by its run.json, which may be damaged.
Options asked_before(const Run& run, const fs::path& folder) {
  std::string why;
  try {
    Options before = parse_options(run.asked.argv);
    if (before.command == run.asked.command) return before;
    why = "is of '" + before.command + "', not of '" + run.asked.command + "'";
  } catch (const HelpAsked&) {
    why = "asks for help, which no run does";
  } catch (const UsageError& e) {
    why = e.what();
  }
  throw UsageError((folder / "run.json").string() + ": asked.argv: " + why + "; start a new run in another folder");
}

}  // namespace

std::vector<std::string> lasting_arguments(const std::vector<std::string>& argv) {
  std::vector<std::string> lasting;
  for (size_t i = 0; i < argv.size(); ++i) {
    const size_t equals = argv[i].find('=');
    if (argv[i].starts_with("--") && equals != std::string::npos) {
      lasting.push_back(argv[i].substr(0, equals + 1) +
                        lasting_value(argv[i].substr(0, equals), argv[i].substr(equals + 1)));
    } else {
      lasting.push_back(i == 0 ? argv[i] : lasting_value(argv[i - 1], argv[i]));
    }
  }
  return lasting;
}

std::vector<std::string> question(const std::vector<std::string>& given) {
  const std::vector<std::string> argv = lasting_arguments(given);
  std::vector<std::string> rest;
  for (size_t i = 0; i < argv.size(); ++i) {
    if (argv[i] == "--resume" || argv[i] == "--out") {
      ++i;
    } else if (argv[i] != "--json" && argv[i].rfind("--resume=", 0) != 0 && argv[i].rfind("--out=", 0) != 0) {
      rest.push_back(argv[i]);
    }
  }
  return rest;
}

Options resumed(const Options& options) { return resumed(options, options.resume); }

Options resumed(const Options& options, const fs::path& folder) {
  const Run run = read_run(folder);
  require_records(folder);
  if (run.asked.command != options.command) {
    throw UsageError("--resume " + options.resume.string() + ": is a run of '" + run.asked.command + "'; use " +
                     shell_word(options.program) + " " + run.asked.command + " --resume");
  }
  const std::vector<std::string> given = question(options.argv);
  if (given.size() > 1 && given != question(run.asked.argv)) {
    throw UsageError("--resume " + options.resume.string() + ": was asked '" + joined(question(run.asked.argv)) +
                     "'; leave the other flags out, they are taken from the run");
  }
  Options again = asked_before(run, folder);
  again.resume = options.resume;
  again.json = options.json;
  again.program = options.program;
  return again;
}

bool never_began(const fs::path& run) {
  std::error_code error;
  if (!fs::is_directory(run, error) || fs::exists(run / "run.json", error)) return false;
  if (holds_no_more_than_a_beginning(run)) return true;
  throw UsageError("--resume " + run.string() + ": holds no run (no run.json) but other files; give the folder of a " +
                   "run, or start one with --out and a new folder");
}

RunFolder open_run_folder(const Options& options, const fs::path& folder) {
  if (options.resume.empty()) return RunFolder::create(folder);
  require_records(folder);
  return is_there(folder / "records.jsonl") ? RunFolder::resume(folder) : RunFolder::create(folder);
}

std::string why_other(const Run& before, const Run& now) {
  for (const auto& [what, hash] : now.judged_by) {
    const auto old = before.judged_by.find(what);
    if (old == before.judged_by.end() || old->second != hash) {
      return what + " is not what its records were judged by";
    }
  }
  for (const KernelEntry& old : before.kernels) {
    const auto is_it = [&](const KernelEntry& kernel) { return kernel.op == old.op && kernel.name == old.name; };
    const auto kernel = std::find_if(now.kernels.begin(), now.kernels.end(), is_it);
    const std::string name = old.op + "/" + old.name;
    if (kernel == now.kernels.end() || kernel->module_hash != old.module_hash) {
      return "kernel " + name + " has changed since";
    }
    if (kernel->platform != old.platform) {
      return "the run of kernel " + name + " is of platform " + old.platform + ", this is " + kernel->platform;
    }
  }
  const std::vector<std::string> changes = environment_changes(before, now);
  return changes.empty() ? "" : "the environment is another: " + changes.front();
}

void require_same(const Run& before, const Run& now) {
  const std::string why = why_other(before, now);
  if (!why.empty()) throw UsageError("--resume: " + why + "; start a new run");
}

}  // namespace assay
