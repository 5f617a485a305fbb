#include "worker/screening.h"

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "worker/steps.h"
#include "worker/verified_product.h"

namespace assay {
namespace {

class Screening : public Steps {
 public:
  Screening(const Court& court, const KernelInfo& kernel, const Op& op, const Case& c, Verification by)
      : Steps(court, kernel, op, c), by_(by) {}

  Screened run() {
    Screened screened;
    attempt([&] {
      if (std::optional<Trial> trial = accepted()) screened.unverified = look(*trial);
    });
    if (sheet_.record.verdict == Verdict::unsupported) screened.refused = sheet_.record.reason;
    for (const CheckResult& result : sheet_.record.checks) {
      if (result.outcome != Outcome::fail || result.verdict <= screened.verdict) continue;
      screened.verdict = result.verdict;
      screened.reason = result.check + ": " + result.detail;
    }
    if (screened.verdict != Verdict::pass) screened.record = sheet_.record;
    // What it left in the process must not reach the next case. A wrong answer alone has left no more than a right one.
    const auto breaks_more = [](const CheckResult& of) {
      return of.outcome == Outcome::fail && of.check != "accuracy";
    };
    if (std::ranges::any_of(sheet_.record.checks, breaks_more)) court_.first->restart();
    return screened;
  }

 private:
  // Why the answer cannot be verified, or empty.
  std::string look(Trial& trial) {
    contract_ = trial.contract();
    tensors_ = trial.tensors();
    outputs_ = trial.outputs();
    map(trial, Addresses::fresh);
    if (by_ == Verification::oracle) {  // asked without the seed: kept for nobody
      for (int64_t i = 0; i < case_.integer("seeds") && !sheet_.failed(); ++i) {
        const uint64_t from = seed() + static_cast<uint64_t>(i);
        fill(trial, from);
        const Outputs got = launch(trial, Poison::first);
        verify(got,
               *court_.laboratory->expectation(op_, case_, std::nullopt, court_.settings->threads, trial.inputs()));
      }
      return "";
    }
    fill(trial, seed());
    const Outputs got = launch(trial, Poison::first);
    std::string why;
    const auto verified = verified_product(*court_.laboratory, op_, case_, contract_, seed(), court_.settings->threads,
                                           trial.inputs(), why);
    if (verified) verify(got, *verified);
    return why;
  }

  void verify(const Outputs& got, Expectation& expectation) {
    std::vector<ErrorSummary> errors;
    sheet_.set(judge(got, expectation, contract_, errors));
  }

  Verification by_;
};

}  // namespace

Screened Screener::screen(const Court& court, const KernelInfo& kernel, const Op& op, const Case& c, Verification by) {
  const pid_t process = court.first->pid();
  Screening once(court, kernel, op, c, by);
  Screened screened = once.run();
  if (once.killed_from_outside()) screened = Screening(court, kernel, op, c, by).run();
  if (screened.verdict == Verdict::pass) return screened;
  if (process != -1 && process == process_) screened.reason += ", in a process in which " + failed_ + " had failed";
  process_ = court.first->pid();
  failed_ = c.id();
  return screened;
}

}  // namespace assay
