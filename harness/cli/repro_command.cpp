// repro: one case on one kernel, every check printed. Leaves no run behind.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/conclusion.h"
#include "cli/interrupt.h"
#include "cli/one_case.h"
#include "cli/progress.h"
#include "core/plain_text.h"
#include "record/verdict.h"

namespace assay {
namespace {

void print_check(const CheckResult& result, const Palette& palette) {
  const bool failed = result.outcome == Outcome::fail;
  fmt::print("  {}{:<14}{} {:<17} {}\n", failed ? palette.bad : palette.dull, word_of(result.outcome), palette.end,
             result.check, plain_text(result.detail));
}

void print_record(const Record& record, bool explain) {
  const Palette palette = palette_for(stdout);
  const bool good = exit_code_of(record.verdict) == 0;
  fmt::print("{}\n{}{}{}{}{}\n", record.kernel_id, good ? palette.good : palette.bad, word_of(record.verdict),
             palette.end, record.reason.empty() ? "" : "  ", plain_text(record.reason));
  fmt::print("\nchecks:\n");
  for (const CheckResult& result : record.checks) print_check(result, palette);
  for (const ErrorSummary& error : record.errors) {
    fmt::print("\noutput {}: {} elements ({} exact, {} rigorous, {} weak, {} vacuous, {} no evidence), {} outside\n",
               error.tensor, error.elements, error.exact, error.rigorous, error.weak, error.vacuous, error.no_evidence,
               error.failures);
    fmt::print("  |error|/bound: largest {:.4g}, rms {:.4g}, mean {:+.4g}; misrounded {:.4g}\n", error.max_q,
               error.rms_q, error.mean_signed_q, error.misrounded);
    if (error.worst_index >= 0) {
      fmt::print("  worst: {}[{}] got {:.17g}, want {:.17g}, bound {:.4g}\n", error.tensor, error.worst_index,
                 error.worst_got, error.worst_want, error.worst_bound);
    }
    if (!record.worst_input.empty()) fmt::print("  worst input: {}\n", record.worst_input);
  }
  fmt::print("\nselection:\n");
  for (const auto& [key, value] : record.selection) {
    if (key.rfind("candidate.", 0) != 0) fmt::print("  {}: {}\n", plain_text(key), plain_text(value));
  }
  if (explain) {
    const std::string candidates = candidates_text(record);
    fmt::print("\ncandidates: {}", candidates.empty() ? "none, this kernel is no dispatcher\n" : candidates);
  }
  fmt::print("\nowner: {}\nworkspace: {} bytes\noutput hash: {}\n",
             record.owner.empty() ? "unknown" : plain_text(record.owner), record.workspace_bytes, record.output_hash);
}

}  // namespace

int repro_command(const Options& options) {
  const OneCase one(options);
  const Record record = one.judge(one.asked());
  if (interrupt_signal() != 0) return 128 + interrupt_signal();
  print_record(record, options.explain);
  int code = exit_code_of(record.verdict);
  for (const std::string& line : one.library_contradictions(record)) {
    fmt::print("{}\n", line);
    code = combine_exit_codes(code, exit_code_of(Verdict::invalid));
  }
  return code;
}

}  // namespace assay
