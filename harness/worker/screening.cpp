#include "worker/screening.h"

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "worker/comparisons.h"
#include "worker/verified_product.h"

namespace assay {
namespace {

class Screening : public Comparisons {
 public:
  Screening(const Court& court, const KernelInfo& kernel, const Op& op, const Case& c, Verification by)
      : Comparisons(court, kernel, op, c), by_(by) {}

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
    // What it left in the process must not reach the next case. A wrong answer alone, or another each time, has left no
    // more than a right one.
    const auto breaks_more = [](const CheckResult& of) {
      return of.outcome == Outcome::fail && of.check != "accuracy" && !of.check.starts_with("same-");
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
    if (by_ == Verification::repeats) return compare_launches(trial);
    if (by_ == Verification::oracle) {  // asked without the seed: kept for nobody
      for_each_seed(trial, [&](size_t) {
        const Outputs got = launch(trial, Poison::first);
        verify(got,
               *court_.laboratory->expectation(op_, case_, std::nullopt, court_.settings->threads, trial.inputs()));
      });
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

  template <class Work>
  void for_each_seed(Trial& trial, const Work& work) {
    const auto seeds = static_cast<size_t>(case_.integer("seeds"));
    for (size_t i = 0; i < seeds && !sheet_.failed(); ++i) {
      fill(trial, seed() + i);
      work(i);
    }
  }

  std::string compare_launches(Trial& trial) {
    constexpr int kLaunches = 8;
    std::vector<Outputs> first;
    for_each_seed(trial, [&](size_t) { first.push_back(launch(trial, Poison::first)); });
    const auto compare_all = [&](const char* check, Trial& again) {
      for_each_seed(again, [&](size_t i) {
        for (Series series(kLaunches); series.goes_on() && !sheet_.failed();) {
          const std::string differs = difference(first.at(i), launch(again, Poison::first));
          if (!differs.empty()) sheet_.set(check, Outcome::fail, differs);
        }
      });
    };
    compare_all("same-run", trial);
    if (has_streams(device())) return "";
    for (const int threads : {1, setting_.threads + 1}) {
      Trial::Setting setting = aside();
      setting.threads = threads;
      Trial other = plan(*court_.first, case_, setting);
      if (!other.refusal().empty()) return "refused with threads=" + std::to_string(threads) + ": " + other.refusal();
      map(other, Addresses::kept);
      compare_all("same-threads", other);
    }
    return "";
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
