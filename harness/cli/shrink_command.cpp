// shrink: the smallest case that fails as the given one does, and a file that shows it without Assay. Leaves no run
// behind.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

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
// is none at what a sanitizer reports.
std::optional<Verification> glance_at(const Failure& failure) {
  constexpr std::array<std::string_view, 6> kOfOneLaunch{"contract", "launch",    "guards",
                                                         "inputs",   "unwritten", "accuracy"};
  if (failure.beside_callers || failure.of_another_case) return std::nullopt;
  if (std::ranges::find(kOfOneLaunch, failure.check) != kOfOneLaunch.end()) return Verification::oracle;
  if (failure.check == "same-run" || failure.check == "same-threads") return Verification::repeats;
  return std::nullopt;
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
  const OneCase one(options);
  const double budget = 0.9 * options.seconds;  // the rest is for the file
  Pace judging(one.op()), glancing(one.op());
  const auto timed = [](Pace& pace, const Case& c, const auto& ask) {
    const auto begin = Clock::now();
    auto answer = ask(c);
    pace.note(c, seconds_since(begin));
    return answer;
  };
  const auto has_time = [&](const Pace& pace, const Case& c) {
    return seconds_since(start) + pace.expected(c) <= budget;
  };
  const auto judged = [&](const Case& c) { return timed(judging, c, [&](const Case& it) { return one.judge(it); }); };
  Result result{.record = judged(one.asked())};
  if (interrupt_signal() != 0) return 128 + interrupt_signal();
  const std::optional<Failure> failure = failure_of(result.record);
  if (!failure) {
    const Record& record = result.record;
    throw UsageError("shrink: " + record.kernel_id + " does not fail: " + std::string(word_of(record.verdict)) +
                     (record.reason.empty() ? "" : ", " + record.reason));
  }
  bool any_too_slow = false;
  Record last;  // of the case that was judged last
  const auto fails = [&](const Case& c) {
    if (!has_time(judging, c)) {
      any_too_slow = true;  // smaller ones may still be tried
      return false;
    }
    if (failure->check == "sensitivity" && c.word("support") != "all") return false;  // is not asked there
    last = judged(c);
    return interrupt_signal() == 0 && fails_as(*failure, last);
  };
  std::function<bool(const Case&)> looks_right;
  if (const auto glance = glance_at(*failure); glance && options.sanitizer.empty()) {
    looks_right = [&, by = *glance](const Case& c) {
      const auto look = [&](const Case& it) { return one.looks_right(it, by); };
      return has_time(glancing, c) && timed(glancing, c, look);  // without time for it nobody knows
    };
  }
  const auto used = [&] { return interrupt_signal() != 0 ? 1 : seconds_since(start) / budget; };
  const auto print_id = [&](const Case& c) {
    if (options.json) return;
    fmt::print("{}\n", c.kernel_id(one.kernel()));
    std::fflush(stdout);
  };
  print_id(one.asked());
  const auto smaller = [&](const Case& c) {
    result.record = std::move(last);
    print_id(c);
  };
  const bool is_of_bounds = failure->verdict == Verdict::memory || failure->verdict == Verdict::crashed;
  result.shrunk = shrink(one.op(), one.asked(), {fails, looks_right, used, smaller, !is_of_bounds});
  // An interruption cuts the last case short.
  if (interrupt_signal() != 0 || any_too_slow) result.shrunk.finished = false;
  result.seconds = seconds_since(start);
  result.output_elements = output_elements(one.op(), result.shrunk.smallest);
  add_bundle(one, options, result);
  (options.json ? print_document : print_lines)(result);
  return interrupt_signal() != 0 ? 128 + interrupt_signal() : exit_code_of(result.record.verdict);
}

}  // namespace assay
