// canary --bisect A..B: canaries of versions between the two against A, by halves, until two neighbours differ; then
// what the first bad one does to which shape and kernel, from its own canary. Each is a run of this program, in a
// folder of its own below the bisection's; those that are there already are not run again.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/canary_sets.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/paths.h"
#include "core/error.h"
#include "gate/canary_report.h"
#include "gate/library_bisection.h"
#include "gate/program.h"
#include "record/run_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kPromote = 0, kReject = 1, kHold = 2, kInvalid = 3;
constexpr size_t kReasonsTold = 5;

// Words that name just that version, as --candidate takes them.
std::string words_of(const LibraryVersion& version) { return version.kind + ":" + version.version; }

// What was asked, without what is each canary's own.
std::vector<std::string> passed_on(const std::vector<std::string>& argv) {
  const std::vector<std::string> own{"--bisect", "--out", "--pin", "--candidate"};
  std::vector<std::string> rest;
  for (size_t i = 0; i < argv.size(); ++i) {
    const std::string flag = argv[i].substr(0, argv[i].find('='));
    if (std::ranges::find(own, flag) == own.end()) {
      if (argv[i] != "--json") rest.push_back(argv[i]);
    } else if (flag == argv[i]) {
      ++i;  // its value is the next word
    }
  }
  return rest;
}

class Canaries {
 public:
  Canaries(const Options& options, fs::path folder, LibraryVersion pin)
      : argv_(passed_on(options.argv)), folder_(std::move(folder)), pin_(std::move(pin)) {}

  fs::path folder_of(const LibraryVersion& version) const { return folder_ / version.version; }

  // Its exit code.
  int judge(const LibraryVersion& version) {
    const fs::path out = folder_of(version);
    if (const auto known = verdict_in(out)) return *known;
    std::vector<std::string> command{fs::read_symlink("/proc/self/exe").string()};
    command.insert(command.end(), argv_.begin(), argv_.end());
    command.insert(command.end(), {"--pin", words_of(pin_), "--candidate", words_of(version)});
    const bool goes_on = fs::exists(out / "pin" / "run.json");
    command.insert(command.end(), {goes_on ? "--resume" : "--out", out.string()});
    const ProgramEnd end = run_program(command);
    if (interrupt_signal() != 0 || end.status >= 128) {
      throw Error("--bisect: stopped; the same command with --out " + shell_quoted(folder_.string()) + " goes on");
    }
    const auto verdict = verdict_in(out);
    if (!verdict) throw Error("--bisect: the canary of " + text_of(version) + " failed:\n" + end.output);
    return *verdict;
  }

  json canary_of(const LibraryVersion& version) const {
    return json::parse(read_whole(folder_of(version) / kCanaryFile));
  }

 private:
  static std::optional<int> verdict_in(const fs::path& out) {
    if (!fs::exists(out / kCanaryFile)) return std::nullopt;
    return json::parse(read_whole(out / kCanaryFile)).at("exit_code").get<int>();
  }

  std::vector<std::string> argv_;
  fs::path folder_;
  LibraryVersion pin_;
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

}  // namespace

int bisect_command(const Options& options) {
  note_interrupts();
  if (options.library.empty()) throw UsageError("canary --bisect: which library? name a recipe of ci/libraries");
  if (!options.pin.empty() || !options.candidate.empty()) {
    throw UsageError("--bisect " + options.bisect + ": names both ends; leave --pin and --candidate out");
  }
  std::vector<std::string> notes;
  const LibraryRecipe recipe = find_recipe(source_root(options), options.library);
  const std::vector<LibraryVersion> versions = versions_between(library_place(options), recipe, options.bisect, notes);
  for (const std::string& note : notes) fmt::print(stderr, "assay: {}\n", note);
  const fs::path folder =
      options.out.empty() ? fresh_folder(source_root(options), "bisect-", "-" + options.library) : options.out;
  fmt::print("bisection: {} of {} versions, in {}\n", options.library, versions.size(), folder.string());

  Canaries canaries(options, folder, versions.front());
  // The last version is judged before all others, and its verdict is the one that is looked for.
  const int sought = canaries.judge(versions.back());
  if (sought == kInvalid) {
    throw Invalid("--bisect " + options.bisect + ": the canary of " + text_of(versions.back()) + " is INVALID: see " +
                  canaries.folder_of(versions.back()).string());
  }
  const Bisection found = bisect(versions, [&](const LibraryVersion& version) {
    if (version.version == versions.front().version) return Judged::good;  // it is what all are held against
    const int code = canaries.judge(version);
    fmt::print("  {:<28} {}\n", text_of(version), word_of_code(code));
    if (code == kReject || (code == sought && code != kPromote)) return Judged::bad;
    return code == kPromote || (code == kHold && sought == kReject) ? Judged::good : Judged::unknown;
  });
  fmt::print("first {}: {}; last without: {}\n", word_of_code(sought), text_of(*found.first_bad),
             text_of(*found.last_good));
  for (const LibraryVersion& one : found.between) {
    fmt::print("  not known of {}, which comes before it\n", text_of(one));
  }
  tell_reasons(canaries.canary_of(*found.first_bad), canaries.judge(*found.first_bad));
  return 0;
}

}  // namespace assay
