#include "record/verdict.h"

#include <algorithm>

#include "core/error.h"

namespace assay {
namespace {

constexpr std::array kVerdictRows{
    VerdictRow{Verdict::pass, "pass", 0, "every check passed"},
    VerdictRow{Verdict::unsupported, "unsupported", 0,
               "outside the contract's domain or this machine's abilities, with a reason"},
    VerdictRow{Verdict::known, "known", 0, "fails as a listed, unexpired known issue says"},
    VerdictRow{Verdict::mistrusted, "mistrusted", 2, "outputs nearly all zero or constant: proves little"},
    VerdictRow{Verdict::inconclusive, "inconclusive", 2, "not enough evidence either way"},
    VerdictRow{Verdict::invalid, "invalid", 3, "the machine is not pinned or too disturbed for this question"},
    VerdictRow{Verdict::changed, "changed", 1, "within bounds, but not what was approved"},
    VerdictRow{Verdict::fallback, "fallback", 1, "gave the work to another kernel although its contract forbids it"},
    VerdictRow{Verdict::contract, "contract", 1,
               "claims too much, refuses what it claims, or computes what it does not"},
    VerdictRow{Verdict::nondeterministic, "nondeterministic", 1, "a promised invariance is broken"},
    VerdictRow{Verdict::memory, "memory", 1, "touched or kept memory that is not its own, or left output unwritten"},
    VerdictRow{Verdict::wrong, "wrong", 1, "outside the rigorous bound, or an exact property is broken"},
    VerdictRow{Verdict::timeout, "timeout", 1, "did not finish in time"},
    VerdictRow{Verdict::crashed, "crashed", 1, "died, exited or reported an error"},
    VerdictRow{Verdict::error, "error", 4, "the harness failed"},
};

constexpr std::array kCheckRows{
    CheckRow{
        "contract", Verdict::contract,
        "claims within the op's caps; accepts what it claims, refuses what it does not; leaves rounding, flushing and "
        "fault handlers as they were"},
    CheckRow{"launch", Verdict::crashed, "every launch returned, in time, without an error"},
    CheckRow{"fallback", Verdict::fallback,
             "the kernel itself did the work, or its contract allows the fallback it reports"},
    CheckRow{"unwritten", Verdict::memory, "every output byte was written (two poison patterns)"},
    CheckRow{"guards", Verdict::memory, "nothing outside the outputs and the workspace was written"},
    CheckRow{"inputs", Verdict::memory, "inputs are as they were"},
    CheckRow{"growth", Verdict::memory,
             "launch neither keeps more memory or open files each time nor leaves processes behind"},
    CheckRow{"asynchronous", Verdict::contract,
             "launch only queues work on its stream: it neither waits, nor allocates, nor works elsewhere"},
    CheckRow{"sanitizer", Verdict::memory,
             "compute-sanitizer finds nothing (--sanitizer; a race is nondeterministic, a misused barrier crashed)"},
    CheckRow{"accuracy", Verdict::wrong, "every element inside round(r - E) .. round(r + E)"},
    CheckRow{"fresh", Verdict::wrong,
             "the answer follows the inputs when they change in place, over the old answer too"},
    CheckRow{"same-run", Verdict::nondeterministic, "repeated launches give the same bytes"},
    CheckRow{"same-content", Verdict::nondeterministic,
             "other content of outputs and workspace before the launch gives the same bytes"},
    CheckRow{"same-restart", Verdict::nondeterministic, "another process gives the same bytes"},
    CheckRow{"same-threads", Verdict::nondeterministic, "another thread count gives the same bytes"},
    CheckRow{"same-crowd", Verdict::nondeterministic,
             "more threads than processors, stopped at odd moments, give the same bytes"},
    CheckRow{"same-address", Verdict::nondeterministic, "other addresses give the same bytes"},
    CheckRow{"same-alignment", Verdict::nondeterministic, "tensors that begin one element further give the same bytes"},
    CheckRow{"same-stream", Verdict::nondeterministic, "another stream gives the same bytes"},
    CheckRow{"same-queue", Verdict::nondeterministic,
             "a stream that is held back until launch has returned gives the same bytes"},
    CheckRow{"same-graph", Verdict::nondeterministic, "a replayed graph gives the same bytes"},
    CheckRow{"same-load", Verdict::nondeterministic,
             "other work beside it, other callers of the kernel among it, gives the same bytes"},
    CheckRow{"same-padding", Verdict::nondeterministic, "another leading dimension gives the same bytes"},
    CheckRow{"same-batch", Verdict::nondeterministic, "the first row or batch entry alone gives the same bytes"},
    CheckRow{"same-order", Verdict::nondeterministic, "rows in another order give the same rows"},
    CheckRow{"same-zeros", Verdict::nondeterministic, "zeros after the last term of a sum change nothing"},
    CheckRow{"sensitivity", Verdict::wrong, "perturbing each argument changes the output"},
    CheckRow{"row-independence", Verdict::wrong,
             "NaN in one row shows in its answer and leaves the other rows' bytes alone"},
    CheckRow{"scaling", Verdict::wrong, "a power of two in the input is the same power in the output, exactly"},
    CheckRow{"trust", Verdict::mistrusted, "random inputs give outputs that are not nearly all zero or constant"},
    CheckRow{"truth", Verdict::error, "the oracle's rounded output is the stored truth golden"},
    CheckRow{"golden-bits", Verdict::changed, "the output's bytes are those approved for this environment"},
    CheckRow{"statistical", Verdict::changed, "error statistics are those approved (8 seeds or more)"},
};

template <class Rows>
constexpr bool in_enum_order(const Rows& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (static_cast<size_t>(rows[i].verdict) != i) return false;
  }
  return true;
}
static_assert(in_enum_order(kVerdictRows));

int rank_of(int exit_code) {
  static constexpr std::array kPrecedence{0, 2, 3, 1, 4};
  return static_cast<int>(std::find(kPrecedence.begin(), kPrecedence.end(), exit_code) - kPrecedence.begin());
}

}  // namespace

std::span<const VerdictRow> verdict_table() { return kVerdictRows; }
std::span<const CheckRow> check_table() { return kCheckRows; }

std::string_view word_of(Verdict verdict) { return kVerdictRows[static_cast<size_t>(verdict)].word; }

std::string_view word_of(Outcome outcome) {
  static constexpr std::array<std::string_view, 6> kWords{"pass",        "fail",           "weak",
                                                          "no-baseline", "not-applicable", "skipped"};
  return kWords[static_cast<size_t>(outcome)];
}

int exit_code_of(Verdict verdict) { return kVerdictRows[static_cast<size_t>(verdict)].exit_code; }

int combine_exit_codes(int a, int b) { return rank_of(a) >= rank_of(b) ? a : b; }

CheckResult check_result(std::string_view check, Outcome outcome, std::string detail) {
  for (const CheckRow& row : kCheckRows) {
    if (row.check == check) return {std::string(check), outcome, row.verdict, std::move(detail)};
  }
  throw Error("no check '" + std::string(check) + "' in the table of checks");
}

std::string contradiction(const Record& record) {
  if (record.verdict == Verdict::error) return {};
  Verdict worst = Verdict::pass;
  for (size_t i = 0; i < record.checks.size(); ++i) {
    const CheckResult& result = record.checks[i];
    if (result.outcome != Outcome::fail) continue;
    worst = std::max(worst, result.verdict);
    if (exit_code_of(result.verdict) != 0) continue;
    return "checks[" + std::to_string(i) + "].verdict: '" + std::string(word_of(result.verdict)) +
           "', which no check that failed has";
  }
  for (const CheckRow& row : kCheckRows) {
    const auto count = std::ranges::count(record.checks, row.check, &CheckResult::check);
    if (count > 1) return "checks: '" + std::string(row.check) + "' twice";
    if (count == 0) return "checks: has no '" + std::string(row.check) + "': made by an older assay, or damaged";
  }
  const bool agrees = record.verdict == Verdict::unsupported ? worst == Verdict::pass
                      : record.verdict == Verdict::known     ? worst != Verdict::pass
                                                             : worst == record.verdict;
  if (agrees) return {};
  return "verdict: '" + std::string(word_of(record.verdict)) + "', but by its checks it is '" +
         std::string(word_of(worst)) + "'";
}

void conclude(Record& record) {
  const bool unsupported = record.verdict == Verdict::unsupported;  // its reason is the refusal
  if (!unsupported) {
    record.verdict = Verdict::pass;
    record.reason.clear();
  }
  for (const CheckRow& row : kCheckRows) {
    const auto has = [&](const CheckResult& result) { return result.check == row.check; };
    if (std::none_of(record.checks.begin(), record.checks.end(), has)) {
      record.verdict = Verdict::error;
      record.reason = "check '" + std::string(row.check) + "' was not done";
      return;
    }
  }
  for (const CheckResult& result : record.checks) {
    if (result.outcome == Outcome::fail && result.verdict > record.verdict) {
      record.verdict = result.verdict;
      record.reason = result.check + ": " + result.detail;
    }
  }
}

}  // namespace assay
