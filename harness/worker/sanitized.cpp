#include "worker/sanitized.h"

#include <stdlib.h>

#include <fstream>
#include <sstream>

#include "core/error.h"
#include "worker/steps.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// Of the tool's log, for as long as the case lasts.
class OwnFolder {
 public:
  OwnFolder() {
    std::string name = (fs::temp_directory_path() / "assay-sanitizer-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw_system_error("mkdtemp for the sanitizer's log", __FILE__, __LINE__);
    path_ = name;
  }
  ~OwnFolder() {
    std::error_code gone;
    fs::remove_all(path_, gone);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  fs::path log() const { return path_ / "log"; }

 private:
  fs::path path_;
};

Tool under(Sanitizer tool, const fs::path& program, const fs::path& log) {
  Tool under{program.string(), {"--tool", std::string(name_of(tool)), "--log-file", log.string()}};
  const auto add = [&](std::initializer_list<const char*> more) {
    under.arguments.insert(under.arguments.end(), more.begin(), more.end());
  };
  // How long planning takes before the device is touched, and how the worker ends, are the judge's to watch.
  add({"--launch-timeout", "0", "--check-exit-code", "no", "--show-backtrace", "no", "--demangle", "simple",
       "--print-limit", "10"});
  if (tool == Sanitizer::memcheck) {
    // Calls that fail, libraries probing, are no access to memory. A kernel that steps out ends alone, and the worker
    // goes on to its end. Between buffers lies what belongs to nobody.
    add({"--report-api-errors", "no", "--destroy-on-device-error", "kernel", "--padding", "4096"});
  }
  return under;
}

std::string content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Before the worker has anything of a kernel's: a tool that cannot run a program at all says nothing about one.
void start(Subject& subject, Sanitizer tool, const fs::path& log) {
  try {
    subject.ask({{"do", "forget"}, {"blocks", nlohmann::json::array()}});
  } catch (const ProcessLost& lost) {
    const std::string trouble = read_sanitizer_log(content_of(log)).trouble;
    throw Error("compute-sanitizer " + std::string(name_of(tool)) + " did not start a worker: it " + lost.what() +
                (trouble.empty() ? "" : ": " + trouble) + "; it printed: '" + subject.output_tail() + "'");
  }
}

class SanitizedLaunch : public Steps {
 public:
  SanitizedLaunch(const Court& court, const KernelInfo& kernel, const Op& op, const Case& c)
      : Steps(court, kernel, op, c) {}

  Record run(Sanitizer tool, const fs::path& log) {
    const std::string name(name_of(tool));
    bool launched = false, lost = false;
    try {
      launched = launch_once();
    } catch (const ProcessLost& loss) {
      lose(loss);
      lost = true;
    } catch (const ContractBroken& broken) {
      sheet_.set("contract", Outcome::fail, broken.what());
    } catch (const LaunchFailed& failed) {
      sheet_.set("launch", Outcome::fail, failed.what());
      launched = true;
    }
    const bool exited = court_.first->finish();
    if (launched || lost) {
      SanitizerReport report = read_sanitizer_log(content_of(log));
      // A summary may be of another process, one that the kernel started.
      if (!exited && report.trouble.empty()) report.trouble = "it did not end by itself";
      note(sanitizer_check(tool, report, lost));
    }
    const bool refused = sheet_.record.verdict == Verdict::unsupported;
    for (const CheckRow& row : check_table()) {
      if (sheet_.find(row.check) != nullptr) continue;
      if (refused) {
        sheet_.set(row.check, Outcome::not_applicable, "unsupported");
      } else {
        sheet_.set(row.check, Outcome::skipped, "under " + name + ": one launch, watched and not judged");
      }
    }
    return std::move(sheet_.record);
  }

 private:
  // False when the kernel refuses the case.
  bool launch_once() {
    Trial trial = plan(*court_.first, case_, setting_);
    if (!trial.refusal().empty()) {
      sheet_.record.verdict = Verdict::unsupported;
      sheet_.record.reason = trial.refusal();
      return false;
    }
    tensors_ = trial.tensors();
    sheet_.record.workspace_bytes = trial.workspace().bytes;
    for (const auto& [key, value] : trial.selection().items()) {
      sheet_.record.selection[key] = value.get<std::string>();
    }
    map_alone(trial);
    fill(trial, seed());
    launch(trial, Poison::first);
    sheet_.pass_if_unset("launch");
    return true;
  }

  // No kernel runs there: what the worker cannot do is not the kernel's failure.
  void map_alone(Trial& trial) {
    try {
      map(trial, Addresses::fresh);
    } catch (const LaunchFailed& failed) {
      throw Error(std::string("the worker's own buffers: ") + failed.what());
    }
  }

  // A launch that the tool's finding explains failed for that reason.
  void note(CheckResult result) {
    CheckResult* launch = sheet_.find("launch");
    if (result.outcome == Outcome::fail && launch != nullptr && launch->outcome == Outcome::fail) {
      launch->verdict = result.verdict;
    }
    sheet_.set(std::move(result));
  }
};

}  // namespace

fs::path find_compute_sanitizer() {
  const char* path = std::getenv("PATH");
  const char* toolkit = std::getenv("CUDA_HOME");
  std::stringstream folders(std::string(path == nullptr ? "" : path) + ":" +
                            (toolkit == nullptr ? "/usr/local/cuda" : toolkit) + "/bin");
  std::error_code error;
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path file = fs::path(folder) / "compute-sanitizer";
    if (folder.starts_with('/') && fs::is_regular_file(file, error)) return file;
  }
  throw UsageError(
      "--sanitizer: compute-sanitizer is neither on PATH nor in $CUDA_HOME/bin; it comes with the CUDA toolkit");
}

Record examine_sanitized(Court court, const std::vector<std::pair<std::string, std::string>>& environment,
                         const KernelInfo& kernel, const Op& op, const Case& c) {
  const JudgeSettings& settings = *court.settings;
  for (int interruptions = 0;; ++interruptions) {
    const OwnFolder folder;
    Subject subject(settings, environment, under(*settings.sanitizer, settings.sanitizer_program, folder.log()));
    court.first = &subject;
    start(subject, *settings.sanitizer, folder.log());
    SanitizedLaunch launch(court, kernel, op, c);
    Record record = launch.run(*settings.sanitizer, folder.log());
    record.interruptions = interruptions;
    if (!launch.killed_from_outside() || interruptions > 0) return record;
  }
}

}  // namespace assay
