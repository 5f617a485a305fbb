// canary: a library's candidate beside its pin. Two runs, one a side, whose cases are judged in turn; then latencies in
// blocks of processes of both; then the verdict.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <future>
#include <optional>

#include "cli/canary_sets.h"
#include "cli/canary_side.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/latency.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/resume.h"
#include "core/clock.h"
#include "core/error.h"
#include "gate/canary_latency.h"
#include "gate/canary_report.h"
#include "gate/canary_run.h"
#include "gate/filter.h"
#include "gate/findings.h"
#include "gate/pin.h"
#include "gate/program.h"
#include "record/verdict.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// The label of the machine without the library that is moved: its builds are what the two sides prove.
PinLabel label_without(Run& run, const LibrarySet& set, const fs::path& pins) {
  add_checksums(run);
  std::vector<fs::path> moved;
  for (const LibrarySet::File& file : set.files) moved.push_back(file.path);
  return label_beside(environment_of(run), moved, pins);
}

// Names of the modules in the place of the build's own. Empty: the build's.
std::vector<std::string> modules_asked(const Options& options) {
  std::vector<std::string> names;
  if (judges_own_modules(options)) return names;
  for (const fs::path& module : module_files(options)) names.push_back(module.filename().string());
  return names;
}

// Kernels that the tree lists as computing with the library, among those that were asked for, and that no module of the
// build has. Of modules that were named one by one the others are not missing: modules_asked() tells them.
std::vector<std::string> not_built(const CanarySetting& setting, const LibraryRecipe& recipe,
                                   const std::vector<KernelInfo>& built) {
  std::vector<std::string> missing;
  if (!judges_own_modules(setting.options)) return missing;
  const std::vector<Filter> filters = filters_of(setting.options.filters, setting.ops, built);
  for (const std::string& name : registered_kernels(setting.trees.root)) {
    KernelInfo kernel;
    kernel.op = name.substr(0, name.find('/'));
    kernel.name = name.substr(name.find('/') + 1);
    const auto is_it = [&](const KernelInfo& other) { return other.op == kernel.op && other.name == kernel.name; };
    if (!recipe.concerns(kernel.op, kernel.name) || std::ranges::any_of(built, is_it)) continue;
    const auto matches = [&](const Filter& filter) { return filter.matches_kernel(kernel); };
    if (filters.empty() || std::ranges::any_of(filters, matches)) missing.push_back(name);
  }
  return missing;
}

// One canary: its sides, its folder, and what is known so far.
class CanaryRun {
 public:
  CanaryRun(const CanarySetting& setting, fs::path folder)
      : setting_(setting),
        sets_(canary_sets(setting.options)),
        paths_(told_paths(setting.options)),
        folder_(std::move(folder)),
        started_(utc_now()) {
    evidence_.latency_asked = !setting.options.no_latency;
    evidence_.not_as_asked = sets_.broken;
    if (!sets_.broken.empty()) return;
    const auto load = [&](const char* name, const LibrarySet& set) {
      return std::make_unique<CanarySide>(setting, name, set, sets_.modules, sets_.recipe);
    };
    auto candidate = std::async(std::launch::async, load, "candidate", std::cref(sets_.candidate));
    sides_.push_back(load("pin", sets_.pin));
    sides_.push_back(candidate.get());
    for (const auto& side : sides_) {
      if (!side->broken().empty()) evidence_.not_as_asked.push_back(side->broken());
    }
  }

  // False when it was stopped.
  bool judge() {
    if (!evidence_.not_as_asked.empty()) return true;
    require_one_plan();
    evidence_.not_built = not_built(setting_, sets_.recipe, pin().loaded().kernels);
    Run& run = pin().run();
    run.pin = label_without(run, pin().set(), setting_.trees.pins());
    candidate().run().pin = run.pin;
    require_pinned(run.pin, "canary", setting_.options.unpinned);
    for (const auto& side : sides_) side->open(folder_ / side->name(), side == sides_[0]);
    started_ = run.started;
    for (const PlannedCase& planned : pin().plan().cases) evidence_.planned.push_back(planned.id);
    if (!judge_cases()) return false;
    if (!take_fingerprints()) return false;
    for (const auto& [side, seen] : {std::pair{&pin(), &evidence_.pin}, {&candidate(), &evidence_.candidate}}) {
      *seen = {read_records(side->folder()), read_fingerprints(side->folder())};
    }
    evidence_.same_bytes = are_same_bytes(sets_.pin, sets_.candidate);
    if (!setting_.options.no_latency && !evidence_.same_bytes && !compare()) return false;
    evidence_.not_as_asked =
        contradictions(pin().arm(evidence_.pin.records), candidate().arm(evidence_.candidate.records));
    require_pinned_still();
    evidence_.same_build = are_same_build(sets_.pin, sets_.candidate);
    return true;
  }

  // Writes canary.json.
  CanaryResult conclude() {
    const CanaryResult result = judge_canary(evidence_, *setting_.policy.canary);
    const CanaryArm before = pin_arm(), now = candidate_arm();
    fs::create_directories(folder_);
    write_canary(folder_, {.library = setting_.options.library,
                           .tier = std::string(name_of(setting_.options.tier)),
                           .filters = setting_.options.filters,
                           .modules = modules_asked(setting_.options),
                           .started = started_,
                           .finished = utc_now(),
                           .judged_seconds = judged_seconds_,
                           .pin = &before,
                           .candidate = &now,
                           .run = evidence_.planned.empty() ? nullptr : &pin().run(),
                           .evidence = &evidence_,
                           .result = &result,
                           .paths = &paths_});
    return result;
  }

  // 4 where latencies were asked for and no comparison could be made, for a reason that is not the machine's.
  int latency_exit_code() const {
    return evidence_.latency && !evidence_.latency->invalid.empty() ? evidence_.latency->result.exit_code : 0;
  }

  const fs::path& folder() const { return folder_; }
  size_t planned() const { return evidence_.planned.size(); }
  // "openblas 0.3.21+ds-4 -> 0.3.29+ds-3".
  std::string question() {
    return sets_.pin.library + " " + version_text(pin_arm()) + " -> " + version_text(candidate_arm());
  }

 private:
  CanarySide& pin() { return *sides_[0]; }
  CanarySide& candidate() { return *sides_[1]; }
  bool are_sides() const { return sides_.size() == 2; }
  CanaryArm pin_arm() { return are_sides() ? pin().arm(evidence_.pin.records) : CanaryArm{"pin", sets_.pin, {}, {}}; }
  CanaryArm candidate_arm() {
    return are_sides() ? candidate().arm(evidence_.candidate.records) : CanaryArm{"candidate", sets_.candidate, {}, {}};
  }

  void require_one_plan() {
    const std::vector<PlannedCase>&before = pin().plan().cases, &now = candidate().plan().cases;
    if (!std::ranges::equal(before, now, {}, &PlannedCase::id, &PlannedCase::id)) {
      throw Error("pin and candidate have other cases, though their modules are the same files");
    }
  }

  // What came with the last case may be of no pin.
  void require_pinned_still() {
    Run& run = pin().run();
    run.pin = label_without(run, pin().set(), setting_.trees.pins());
    if (run.pin.state == PinState::pinned || setting_.options.unpinned) return;
    evidence_.not_as_asked.push_back("the environment is no longer the pinned one: " + label_text(run.pin));
  }

  // Of both sides at once: nothing in them is a time.
  bool take_fingerprints() {
    auto of_candidate = std::async(std::launch::async, [&] { return candidate().take_fingerprints(); });
    const bool of_pin = pin().take_fingerprints();
    return of_candidate.get() && of_pin;
  }

  bool judge_cases() {
    std::array<RunJob, 2> jobs{pin().job(), candidate().job()};
    const size_t done = jobs[0].recorded.size() + jobs[1].recorded.size();
    std::FILE* stream = setting_.options.json ? stderr : stdout;
    std::unique_ptr<RunObserver> progress;
    if (!setting_.options.json || is_terminal(stderr)) progress = make_progress(stream, 2 * planned(), done);
    for (RunJob& job : jobs) job.observer = progress.get();
    const auto began = Clock::now();
    const std::array<RunEnding, 2> endings = run_in_turn(std::move(jobs));
    judged_seconds_ = seconds_since(began);
    for (size_t i = 0; i < sides_.size(); ++i) sides_[i]->end(endings[i]);
    return !endings[0].stopped && !endings[1].stopped && interrupt_signal() == 0;
  }

  // Processes that time are proved as those that judge are.
  bool compare() {
    const JudgedRun judged{&setting_.options, &setting_.trees,        &setting_.policy, &pin().plan(),
                           &pin().loaded(),   &evidence_.pin.records, &pin().run().pin, folder_};
    const auto arm = [](CanarySide& side, const std::vector<Record>& records) {
      return LibraryArm{identity_of(side.set()), side.settings(), &records,
                        [&side](const std::vector<LoadedLibrary>& loaded) { side.see(loaded); }};
    };
    evidence_.latency =
        compare_libraries(judged, arm(pin(), evidence_.pin.records), arm(candidate(), evidence_.candidate.records));
    if (!evidence_.latency) return false;
    evidence_.out_of_time = evidence_.latency->out_of_time;
    for (const auto& [kernel_id, times] : evidence_.latency->first_calls) {
      evidence_.first_calls.push_back(compare_first_calls(kernel_id, times.base, times.change));
    }
    for (const auto& side : sides_) side->write();
    return true;
  }

  const CanarySetting& setting_;
  CanarySets sets_;
  ToldPaths paths_;
  fs::path folder_;
  std::vector<std::unique_ptr<CanarySide>> sides_;
  CanaryEvidence evidence_;
  std::string started_;
  double judged_seconds_ = 0;
};

std::string title_of(const CanaryResult& result, CanaryRun& canary, const Options& options) {
  std::string of;
  for (const std::string& filter : options.filters) of += (of.empty() ? ", of " : " and ") + filter;
  for (const std::string& module : modules_asked(options)) of += (of.empty() ? ", of " : " and ") + module;
  return fmt::format("{}: {}{}{}", word_of(result.verdict), canary.question(), of,
                     options.no_latency ? ", of correctness alone" : "");
}

constexpr size_t kMostReasons = 20;

// What keeps the exit code from being the verdict's own; empty: nothing.
std::string why_another_exit(const CanaryRun& canary, const Report& report) {
  if (!report.why.empty()) return "the report could not be written";
  return canary.latency_exit_code() == 0 ? "" : "latencies could not be compared";
}

void print_text(const Options& options, CanaryRun& canary, const CanaryResult& result, const Report& report, int code) {
  const Palette palette = palette_for(stdout);
  const char* colour = result.verdict == CanaryVerdict::promote ? palette.good : palette.bad;
  fmt::print("\n{}{}{}\n", colour, title_of(result, canary, options), palette.end);
  size_t told = 0;
  for (const CanaryReason& reason : result.reasons) {
    if (told++ == kMostReasons) break;
    const char* weight = reason.asks == CanaryVerdict::promote ? "known" : word_of(reason.asks).data();
    fmt::print("  {:<8} {:<13} {}{}{}\n", weight, reason.kind, reason.what.empty() ? reason.kernel : reason.what,
               reason.what.empty() && reason.kernel.empty() ? "" : ": ", reason.text);
  }
  if (result.reasons.size() > kMostReasons) {
    fmt::print("  and {} more, in {}\n", result.reasons.size() - kMostReasons,
               (canary.folder() / kCanaryFile).string());
  }
  int64_t moved = 0, compared = 0;
  for (const CanaryKernel& kernel : result.kernels) {
    moved += kernel.bits_moved;
    compared += kernel.bits_compared;
  }
  fmt::print("{} cases of {} kernels; bits moved in {} of {}\n", canary.planned(), result.kernels.size(), moved,
             compared);
  if (!report.page.empty()) fmt::print("report: {}\n", report.page.string());
  fmt::print("canary: {}\n", canary.folder().string());
  if (code == exit_code_of(result.verdict)) {
    fmt::print("exit {}\n", code);
  } else {
    fmt::print("exit {}: {}; the verdict is in {}\n", code, why_another_exit(canary, report), kCanaryFile);
  }
}

int stopped(const Options& options, const fs::path& folder) {
  fmt::print(stderr, "assay: stopped; continue with: {} canary --resume {}\n", shell_word(options.program),
             shell_quoted(folder.string()));
  return 128 + interrupt_signal();
}

}  // namespace

int canary_command(const Options& given) {
  note_interrupts();
  if (given.list_versions) {
    for (const std::string& line : library_version_lines(given)) fmt::print("{}\n", line);
    return 0;
  }
  const bool goes_on = !given.resume.empty() && is_there(given.resume / "pin" / "run.json");
  if (!given.resume.empty() && !goes_on && given.candidate.empty()) {
    throw UsageError("--resume " + given.resume.string() +
                     ": holds no canary (no pin/run.json); give the folder of one");
  }
  const CanarySetting setting = canary_setting(goes_on ? resumed(given, given.resume / "pin") : given);
  const Options& options = setting.options;
  const OutFolder out(options.resume.empty() ? options.out : options.resume, setting.trees.root, "canary-",
                      "-" + options.library);
  const fs::path& folder = out.path();
  std::error_code error;
  if (options.resume.empty() && is_there(folder) && !fs::is_empty(folder, error)) {
    throw UsageError("--out " + folder.string() +
                     ": holds files already; give a new folder, or go on with a canary by --resume");
  }
  CanaryRun canary(setting, folder);
  if (!canary.judge()) return stopped(options, folder);
  const CanaryResult result = canary.conclude();
  const Report report = options.no_report ? Report{} : write_report(setting.trees.root, folder);
  if (!report.why.empty()) fmt::print(stderr, "assay: {}\n", report.why);
  const int of_all = combine_exit_codes(exit_code_of(result.verdict), canary.latency_exit_code());
  const int code = report.why.empty() ? of_all : combine_exit_codes(of_all, 4);
  if (options.json) {
    fmt::print("{}", read_whole(folder / kCanaryFile));
  } else {
    print_text(options, canary, result, report, code);
  }
  return code;
}

}  // namespace assay
