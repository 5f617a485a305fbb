// canary --bisect A..B: canaries of versions between the two against A, by halves, until two neighbours differ; then
// what the first bad one does to which shape and kernel, from its own canary. Each is a run of this program, in a
// folder of its own below the bisection's; those that are there already are not run again.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/canary_sets.h"
#include "cli/canary_side.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/paths.h"
#include "cli/resume.h"
#include "core/error.h"
#include "gate/canary_report.h"
#include "gate/library_bisection.h"
#include "gate/program.h"
#include "record/run_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kPromote = 0, kReject = 1, kHold = 2, kInvalid = 3, kUsage = 4;
constexpr size_t kReasonsTold = 5;

// What was asked, without what is each canary's own.
std::vector<std::string> passed_on(const std::vector<std::string>& argv) {
  const std::vector<std::string> own{"--bisect", "--out", "--pin", "--candidate"};
  std::vector<std::string> rest;
  for (size_t i = 0; i < argv.size(); ++i) {
    const std::string flag = argv[i].substr(0, argv[i].find('='));
    if (std::ranges::find(own, flag) == own.end()) {
      rest.push_back(argv[i]);
    } else if (flag == argv[i]) {
      ++i;  // its value is the next word
    }
  }
  return rest;
}

struct Stopped : std::exception {};  // by a signal

// The canary that is asked of each version, in a folder of its own below `folder`.
class Canaries {
 public:
  Canaries(const Options& options, fs::path folder, LibraryVersion pin)
      : argv_(passed_on(options.argv)), folder_(std::move(folder)), pin_(std::move(pin)) {}

  fs::path folder_of(const LibraryVersion& version) const { return folder_ / version.version; }

  // What cannot be asked of any version is told before one is judged.
  void require_askable(const LibraryVersion& version) {
    const Options options = parse_options(arguments_for(version));
    const CanarySetting setting = canary_setting(options);
    const CanarySets sets = canary_sets(options);
    if (!sets.broken.empty()) {
      broken_ = sets.broken.front();
      return;  // which its canary will say
    }
    CanarySide pin(setting, "pin", sets.pin, sets.modules, sets.recipe);
    broken_ = pin.broken();
    if (broken_.empty()) now_ = pin.run();
  }

  // Its exit code.
  int judge(const LibraryVersion& version) {
    const fs::path out = folder_of(version);
    const std::vector<std::string> words = arguments_for(version);
    const bool has_begun = is_there(out / "pin" / "run.json");
    if (has_begun) require_same_question(out, words);
    if (const auto known = verdict_in(out); known && has_begun) {
      return *known;
    } else if (known && *known != kInvalid) {
      refuse(out, "a verdict without the runs that it is of");
    } else if (known) {  // nothing could be loaded, and nothing is known: it is asked again
      fs::remove(out / kCanaryFile);
      fs::remove_all(out / "report");
    }
    std::vector<std::string> command{fs::read_symlink("/proc/self/exe").string()};
    command.insert(command.end(), words.begin(), words.end());
    command.insert(command.end(), {has_begun ? "--resume" : "--out", out.string()});
    const ProgramEnd end = run_program(command, {}, [] { return interrupt_signal() != 0; });
    if (interrupt_signal() != 0) throw Stopped();
    const auto verdict = verdict_in(out);
    if (!verdict) fail_as(version, end);
    return *verdict;
  }

  json canary_of(const LibraryVersion& version) const {
    return json::parse(read_whole(folder_of(version) / kCanaryFile));
  }

 private:
  std::vector<std::string> arguments_for(const LibraryVersion& version) const {
    std::vector<std::string> words = argv_;
    words.insert(words.end(), {"--pin", words_for(pin_), "--candidate", words_for(version)});
    return words;
  }

  [[noreturn]] static void refuse(const fs::path& out, const std::string& what) {
    throw UsageError("--bisect: " + out.string() + " holds " + what + "; give another --out");
  }

  // A verdict is of the words that asked for it, and of the kernels and the machine as they were.
  void require_same_question(const fs::path& out, const std::vector<std::string>& words) const {
    const Run before = read_run(out / "pin");
    if (const std::vector<std::string> asked = question(before.asked.argv); asked != question(words)) {
      refuse(out, fmt::format("the canary of another question, '{}'", fmt::join(asked, " ")));
    }
    if (!now_) throw Invalid("--bisect: what is to be judged now cannot be loaded: " + broken_);
    std::string why = why_other(before, *now_);
    if (why.empty() && before.kernels.size() != now_->kernels.size()) why = "there are other kernels";
    if (!why.empty()) refuse(out, "a canary of another build or machine: " + why);
  }

  static std::optional<int> verdict_in(const fs::path& out) {
    if (!is_there(out / kCanaryFile)) return std::nullopt;
    try {
      return json::parse(read_whole(out / kCanaryFile)).at("exit_code").get<int>();
    } catch (const json::exception&) {
      refuse(out, std::string("a ") + kCanaryFile + " that is none");
    }
  }

  // A canary that came to no verdict says why in its last line; the bisection says and ends as it did.
  [[noreturn]] static void fail_as(const LibraryVersion& version, const ProgramEnd& end) {
    constexpr std::string_view kPrefix = "assay: ";
    std::string line = end.output.substr(0, end.output.find_last_not_of('\n') + 1);
    line = line.substr(line.rfind('\n') + 1);
    const std::string why = line.starts_with(kPrefix) ? line.substr(kPrefix.size()) : line;
    if (end.status == kInvalid) throw Invalid(why);
    if (end.status == kUsage && !why.starts_with("internal error")) throw UsageError(why);
    throw Error(fmt::format("the canary of {} ended with {}: {}", text_of(version), end.status, line));
  }

  std::vector<std::string> argv_;
  fs::path folder_;
  LibraryVersion pin_;
  std::optional<Run> now_;  // the kernels and the machine; none where the libraries of the ends cannot be loaded:
  std::string broken_;      // why
};

std::string word_of_code(int code) {
  static const std::map<int, std::string> kWords{
      {kPromote, "PROMOTE"}, {kReject, "REJECT"}, {kHold, "HOLD"}, {kInvalid, "INVALID"}};
  const auto found = kWords.find(code);
  return found == kWords.end() ? "exit " + std::to_string(code) : found->second;
}

void tell_reasons(const json& canary, int code) {
  size_t told = 0;
  for (const json& reason : canary.at("reasons")) {
    if (reason.at("asks") != word_of_code(code) || told++ == kReasonsTold) continue;
    const std::string what = reason.at("what"), kernel = reason.at("kernel"), text = reason.at("text");
    fmt::print("  {}: {}\n", what.empty() ? kernel : what, text);
    if (reason.contains("repro")) fmt::print("    {}\n", reason.at("repro").at("candidate").get<std::string>());
  }
}

int find_first(const Options& options, const std::vector<LibraryVersion>& versions, const fs::path& folder) {
  Canaries canaries(options, folder, versions.front());
  canaries.require_askable(versions.back());
  fmt::print("bisection: {} of {} versions, in {}\n", options.library, versions.size(), folder.string());
  std::fflush(stdout);
  // The last version is judged before all others, and its verdict is the one that is looked for.
  const int sought = canaries.judge(versions.back());
  if (sought == kInvalid) {
    throw Invalid("--bisect " + options.bisect + ": the canary of " + text_of(versions.back()) + " is INVALID: see " +
                  canaries.folder_of(versions.back()).string());
  }
  const Bisection found = bisect(versions, [&](const LibraryVersion& version) {
    if (version.version == versions.front().version) return Goodness::good;  // it is what all are held against
    const int code = canaries.judge(version);
    fmt::print("  {:<28} {}\n", text_of(version), word_of_code(code));
    std::fflush(stdout);
    return goodness_of(canaries.canary_of(version), canaries.canary_of(versions.back()));
  });
  if (!found.first_bad) {
    fmt::print("nothing to find: the canary of {} against {} says {}\n", text_of(versions.back()),
               text_of(versions.front()), word_of_code(sought));
    return 0;
  }
  const int first = canaries.judge(*found.first_bad);
  fmt::print("first {}: {}; last without: {}\n", word_of_code(first), text_of(*found.first_bad),
             text_of(*found.last_good));
  for (const LibraryVersion& one : found.between) {
    fmt::print("  not known of {}, which comes before it\n", text_of(one));
  }
  tell_reasons(canaries.canary_of(*found.first_bad), first);
  return 0;
}

}  // namespace

int bisect_command(const Options& options) {
  note_interrupts();
  if (options.library.empty()) throw UsageError("canary --bisect: which library? name a recipe of ci/libraries");
  std::vector<std::string> notes;
  const LibraryRecipe recipe = find_recipe(source_root(options), options.library);
  const std::vector<LibraryVersion> versions = versions_between(library_place(options), recipe, options.bisect, notes);
  for (const std::string& note : notes) fmt::print(stderr, "assay: {}\n", note);
  const OutFolder out(options.out, source_root(options), "bisect-", "-" + options.library);
  try {
    return find_first(options, versions, out.path());
  } catch (const Stopped&) {
    fmt::print(stderr, "assay: stopped; the same command with --out {} goes on\n", shell_quoted(out.path().string()));
    return 128 + interrupt_signal();
  }
}

}  // namespace assay
