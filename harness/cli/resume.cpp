#include "cli/resume.h"

#include <algorithm>

#include "core/error.h"
#include "gate/pin.h"
#include "gate/program.h"
#include "record/run_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
  return all;
}

}  // namespace

std::vector<std::string> question(const std::vector<std::string>& argv) {
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
  if (run.asked.command != options.command) {
    throw UsageError("--resume " + options.resume.string() + ": is a run of '" + run.asked.command + "'; use " +
                     shell_word(options.program) + " " + run.asked.command + " --resume");
  }
  const std::vector<std::string> given = question(options.argv);
  if (given.size() > 1 && given != question(run.asked.argv)) {
    throw UsageError("--resume " + options.resume.string() + ": was asked '" + joined(question(run.asked.argv)) +
                     "'; leave the other flags out, they are taken from the run");
  }
  Options again = parse_options(run.asked.argv);
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

std::string why_other(const Run& before, const Run& now) {
  for (const auto& [what, hash] : now.judged_by) {
    const auto old = before.judged_by.find(what);
    if (old == before.judged_by.end() || old->second != hash) {
      return "the files of " + what + " that judge are not those its records were judged by";
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
