// shrink: the smallest case that fails as the given one does, and a file that shows it without Assay. Leaves no run
// behind.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <ranges>
#include <vector>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/one_case.h"
#include "cli/paths.h"
#include "core/clock.h"
#include "core/error.h"
#include "gate/bundle.h"
#include "gate/pace.h"
#include "gate/shrink.h"
#include "record/json_text.h"
#include "record/verdict.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct Result {
  Record record;  // of the smallest case
  Shrunk shrunk;
  int64_t output_elements = 0;
  double seconds = 0;
  fs::path bundle;        // empty: none
  std::string no_bundle;  // why
  std::string not_shown;  // why the bundle does not show this failure; empty: it does
};

// At which glance a failure shows, if at any, in which no other case is asked and nobody else calls the kernel. There
// is none at what a sanitizer reports, and a launch that hangs is soon seen by judging.
std::optional<Verification> glance_at(const Failure& failure) {
  constexpr std::array<std::string_view, 6> kOfOneLaunch{"contract", "launch",    "guards",
                                                         "inputs",   "unwritten", "accuracy"};
  if (failure.beside_callers || failure.of_another_case || failure.verdict == Verdict::timeout) return std::nullopt;
  if (std::ranges::find(kOfOneLaunch, failure.check) != kOfOneLaunch.end()) return Verification::oracle;
  if (failure.check == "same-run" || failure.check == "same-threads") return Verification::repeats;
  return std::nullopt;
}

Clock::time_point after(Clock::time_point begin, double seconds) {
  return begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// Seconds after which a launch of a smaller case is supposed to hang: time for a worker to start where the last one
// hung, and as much as all launches of the case asked took, one that hung not counted.
double patience_after(const Record& asked, double deadline) {
  constexpr double kToStart = 3;
  double taken = asked.verdict == Verdict::timeout ? -deadline : 0;
  for (const char* step : {"launch", "prepare"}) {
    if (const auto found = asked.seconds.find(step); found != asked.seconds.end()) taken += found->second;
  }
  return std::min(deadline, kToStart + std::max(0.0, taken));
}

// What is supposed to hang gets `deadline`, the policy's, and the last of `found` that fails so then is the smallest;
// none of them if it was interrupted, or there is no time before `end`. What is slow, and does not hang, may take that
// at each launch, and is not waited for.
void be_sure(OneCase& one, const Failure& failure, double deadline, const std::vector<Case>& found,
             Clock::time_point end, Result& result) {
  const double most = deadline + 2 * one.deadline();
  one.set_deadline(deadline);
  result.shrunk.smallest = one.asked();
  for (const Case& c : std::views::reverse(found)) {
    const bool is_first = c.id() == found.back().id();  // there always is time for it
    if (interrupt_signal() != 0 || (!is_first && after(Clock::now(), most) > end)) return;
    one.set_end(after(Clock::now(), most));
    Record record = one.judge(c);
    if (one.is_cut_short() || !fails_as(failure, record)) continue;
    result.record = std::move(record);
    result.shrunk.smallest = c;
    return;
  }
}

void print_lines(const Result& result) {
  const Record& record = result.record;
  fmt::print("\n{}  {}\n", word_of(record.verdict), record.reason);
  fmt::print("{} output elements; {} cases judged in {:.1f} s{}\n", result.output_elements, result.shrunk.judged,
             result.seconds, result.shrunk.finished ? "" : ", not finished: there may be a smaller one");
  if (result.shrunk.drawn > 0 && result.output_elements > kFewOutputs) {
    fmt::print("  of {} cases drawn with at most {} (seed {}) none fails so\n", result.shrunk.drawn, kFewOutputs,
               kShrinkSeed);
  }
  if (result.bundle.empty()) {
    fmt::print("  no file that shows it: {}\n", result.no_bundle);
  } else {
    fmt::print("  shown without Assay by: {}\n", result.bundle.string());
    if (!result.not_shown.empty()) fmt::print("  but {}\n", result.not_shown);
  }
  fmt::print("  owner: {}\n  {}\n", record.owner.empty() ? "unknown" : record.owner, record.repro);
}

void print_document(const Result& result) {
  fmt::print("{}\n", print_json({{"kernel_id", result.record.kernel_id},
                                 {"verdict", word_of(result.record.verdict)},
                                 {"reason", result.record.reason},
                                 {"repro", result.record.repro},
                                 {"output_elements", result.output_elements},
                                 {"cases_judged", result.shrunk.judged},
                                 {"cases_drawn", result.shrunk.drawn},
                                 {"draw_seed", kShrinkSeed},
                                 {"seconds", result.seconds},
                                 {"finished", result.shrunk.finished},
                                 {"bundle", result.bundle.string()},
                                 {"no_bundle", result.no_bundle},
                                 {"not_shown", result.not_shown}},
                                1));
}

void add_bundle(const OneCase& one, const Options& options, Result& result) {
  result.no_bundle = interrupt_signal() != 0 ? "interrupted" : too_large_to_bundle(one.op(), result.shrunk.smallest);
  if (!result.no_bundle.empty()) return;
  try {
    const OutFolder out(options.out, source_root(options), "shrunk-", "");
    result.not_shown = one.write_bundle(result.shrunk.smallest, result.record, out.path());
    result.bundle = out.path();
  } catch (const UsageError& e) {
    result.no_bundle = e.what();  // what was found is told all the same
  }
}

}  // namespace

int shrink_command(const Options& options) {
  const auto start = Clock::now();
  if (std::error_code error; !options.out.empty() && fs::exists(options.out, error)) {
    throw UsageError("--out " + options.out.string() + ": is there already; choose a folder that is not");
  }
  OneCase one(options);
  double budget = 0.9 * options.seconds;  // the rest is for the file
  Pace judging(one.op()), glancing(one.op());
  const auto has_time = [&](const Pace& pace, const Case& c) {
    return seconds_since(start) + pace.expected(c) <= budget;
  };
  const auto judged = [&](const Case& c) {
    const auto begin = Clock::now();
    Record record = one.judge(c);
    if (record.verdict != Verdict::timeout) judging.note(c, seconds_since(begin));  // to wait is no pace
    return record;
  };
  Result result{.record = judged(one.asked())};
  if (interrupt_signal() != 0) return 128 + interrupt_signal();
  const Record asked = result.record;
  const std::optional<Failure> failure = failure_of(asked);
  if (!failure) {
    throw UsageError("shrink: " + asked.kernel_id + " does not fail: " + std::string(word_of(asked.verdict)) +
                     (asked.reason.empty() ? "" : ", " + asked.reason));
  }
  const double deadline = one.deadline();
  const double patience = options.sanitizer.empty() ? patience_after(asked, deadline) : deadline;
  if (patience < deadline) one.set_deadline(patience);
  const bool is_supposed = failure->verdict == Verdict::timeout && patience < deadline;
  if (is_supposed) budget = std::max(0.0, budget - deadline);  // to be sure
  one.set_end(after(start, budget));
  int too_slow = 0;  // cases that there was no time to judge
  Record last;       // of the case that was judged last
  const auto fails = [&](const Case& c) {
    if (!has_time(judging, c)) {
      ++too_slow;  // smaller ones may still be tried
      return false;
    }
    if (failure->check == "sensitivity" && c.word("support") != "all") return false;  // is not asked there
    last = judged(c);
    return !one.is_cut_short() && fails_as(*failure, last);
  };
  std::function<bool(const Case&)> looks_right;
  if (const auto glance = glance_at(*failure); glance && options.sanitizer.empty()) {
    looks_right = [&, by = *glance](const Case& c) {
      if (!has_time(glancing, c)) return false;  // nobody knows
      const auto begin = Clock::now();
      const bool looks = one.looks_right(c, by);
      glancing.note(c, seconds_since(begin));
      return looks;
    };
  }
  const auto used = [&] { return interrupt_signal() != 0 ? 1 : seconds_since(start) / budget; };
  const auto print_id = [&](const Case& c) {
    if (options.json) return;
    fmt::print("{}\n", c.kernel_id(one.kernel()));
    std::fflush(stdout);
  };
  print_id(one.asked());
  std::vector<Case> found;  // each smaller than the one before
  const auto smaller = [&](const Case& c) {
    result.record = std::move(last);
    found.push_back(c);
    print_id(c);
  };
  const bool is_of_bounds = failure->verdict == Verdict::memory || failure->verdict == Verdict::crashed;
  result.shrunk = shrink(one.op(), one.asked(), {fails, looks_right, used, smaller, !is_of_bounds});
  // An interruption cuts the last case short.
  if (interrupt_signal() != 0 || too_slow > 0) result.shrunk.finished = false;
  result.shrunk.judged -= too_slow;
  if (is_supposed && !found.empty()) {
    result.record = asked;
    be_sure(one, *failure, deadline, found, after(start, options.seconds), result);
    if (result.shrunk.smallest.id() != found.back().id()) result.shrunk.finished = false;
  }
  one.set_end(Clock::time_point::max());
  result.seconds = seconds_since(start);
  result.output_elements = output_elements(one.op(), result.shrunk.smallest);
  add_bundle(one, options, result);
  (options.json ? print_document : print_lines)(result);
  return interrupt_signal() != 0 ? 128 + interrupt_signal() : exit_code_of(result.record.verdict);
}

}  // namespace assay
