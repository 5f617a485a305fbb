#include "gate/canary_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "check/statistics.h"
#include "record/invariance.h"
#include "record/verdict.h"

namespace assay {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kGreater = 2;  // an answer that was wrong, wrong by more than so many times as much, is another one

std::vector<const CheckResult*> failures_of(const Record& record) {
  std::vector<const CheckResult*> failures;
  for (const CheckResult& result : record.checks) {
    if (result.outcome == Outcome::fail) failures.push_back(&result);
  }
  return failures;
}

const CheckResult* find_check(const Record& record, const std::string& check) {
  const auto found = std::ranges::find(record.checks, check, &CheckResult::check);
  return found == record.checks.end() ? nullptr : &*found;
}

// Those that `now` has and `before` has not, or has with another end: a crash is no timeout.
std::vector<const CheckResult*> new_failures(const Record& before, const Record& now) {
  std::vector<const CheckResult*> fresh;
  for (const CheckResult* failure : failures_of(now)) {
    const CheckResult* old = find_check(before, failure->check);
    if (old == nullptr || old->outcome != Outcome::fail || old->verdict != failure->verdict) fresh.push_back(failure);
  }
  return fresh;
}

int64_t elements_failed(const Record& record) {
  int64_t count = 0;
  for (const ErrorSummary& errors : record.errors) count += errors.failures;
  return count;
}

double worst_error(const Record& record) {
  double worst = kNone;
  for (const ErrorSummary& errors : record.errors) {
    if (!errors.histogram.empty()) worst = std::isnan(worst) ? errors.max_q : std::max(worst, errors.max_q);
  }
  return worst;
}

std::map<std::string, std::string> chosen_by(const Record& record) {
  std::map<std::string, std::string> chosen = record.selection;
  chosen.erase("library");
  return chosen;
}

std::string text_of(const std::vector<const CheckResult*>& failures) {
  std::string text;
  for (const CheckResult* failure : failures) {
    text += fmt::format("{}{} ({}): {}", text.empty() ? "" : "; ", word_of(failure->verdict), failure->check,
                        failure->detail);
  }
  return text;
}

// Than one that passed. An invariance that nobody promised and that is lost is told elsewhere. An output that may be
// constant, since its inputs are made so, needs no trust: accuracy judges either side's.
bool says_less(const CheckResult& now) {
  if (now.outcome == Outcome::not_applicable) return now.check != "trust" && !now.detail.starts_with(kVaries);
  return now.outcome == Outcome::weak || now.outcome == Outcome::skipped;
}

class Judging {
 public:
  Judging(const std::string& kernel_id, const Record* pin, const Record* candidate, double level)
      : pin_(pin), candidate_(candidate), level_(level) {
    judged_.seen.kernel_id = kernel_id;
    judged_.seen.pin_q = judged_.seen.candidate_q = kNone;
  }

  JudgedCase judge() {
    CanaryCase& seen = judged_.seen;
    if (pin_ != nullptr) seen.pin = pin_->verdict;
    if (candidate_ != nullptr) seen.candidate = candidate_->verdict;
    if (pin_ == nullptr || candidate_ == nullptr) {
      undecided(fmt::format("not judged under {}: there is no record of it", candidate_ != nullptr ? "the pin"
                                                                             : pin_ != nullptr     ? "the candidate"
                                                                                                   : "either"));
      return judged_;
    }
    if (pin_->verdict == Verdict::error) {
      undecided("the harness failed under the pin, whose answer is not known: " + pin_->reason);
    } else if (candidate_->verdict == Verdict::error && !is_newly_wrong()) {
      undecided("the harness failed under the candidate: " + candidate_->reason);
    } else if (candidate_->verdict == Verdict::unsupported) {
      refused_now();
    } else {
      answered_now();
    }
    return judged_;
  }

 private:
  void add(CanaryVerdict asks, const char* kind, std::string text) {
    const std::string& id = judged_.seen.kernel_id;
    judged_.reasons.push_back({asks, kind, id.substr(0, id.find(':')), id, std::move(text)});
  }

  void undecided(std::string why) {
    judged_.seen.change = CaseChange::undecided;
    add(CanaryVerdict::hold, "unknown", std::move(why));
  }

  void refused_now() {
    if (pin_->verdict == Verdict::unsupported) {
      judged_.seen.change = CaseChange::same;
    } else if (failures_of(*pin_).empty()) {
      judged_.seen.change = CaseChange::newly_wrong;
      add(CanaryVerdict::reject, "refused", "passes under the pin, refused under the candidate: " + candidate_->reason);
    } else {
      judged_.seen.change = CaseChange::fixed;
      add(CanaryVerdict::promote, "fixed",
          fmt::format("{} under the pin, refused under the candidate: {}", text_of(failures_of(*pin_)),
                      candidate_->reason));
    }
  }

  void answered_now() {
    CanaryCase& seen = judged_.seen;
    const auto before = failures_of(*pin_), now = failures_of(*candidate_), fresh = new_failures(*pin_, *candidate_);
    seen.has_bits = !pin_->output_hash.empty() && !candidate_->output_hash.empty();
    seen.moved = seen.has_bits && pin_->output_hash != candidate_->output_hash;
    seen.selection = plan_changes(*pin_, *candidate_);
    seen.workspace_growth =
        static_cast<int64_t>(candidate_->workspace_bytes) - static_cast<int64_t>(pin_->workspace_bytes);
    if (!fresh.empty()) {
      fails_anew(fresh);
    } else if (!now.empty()) {
      fails_as_before(now);
    } else if (!before.empty()) {
      seen.change = CaseChange::fixed;
      add(CanaryVerdict::promote, "fixed", "under the pin " + text_of(before));
    } else if (pin_->verdict == Verdict::unsupported) {
      seen.change = CaseChange::taken;
    } else {
      seen.pin_q = worst_error(*pin_);
      seen.candidate_q = worst_error(*candidate_);
      seen.change = seen.moved ? CaseChange::moved : CaseChange::same;
      compare_coverage();
      compare_error_statistics();
    }
  }

  // Whatever else failed.
  bool is_newly_wrong() const {
    return std::ranges::any_of(new_failures(*pin_, *candidate_), [](const CheckResult* failure) {
      return failure->verdict != Verdict::changed && exit_code_of(failure->verdict) == 1;
    });
  }

  // What a check's failure says is asked for by the gravest of them.
  void fails_anew(const std::vector<const CheckResult*>& fresh) {
    std::vector<const CheckResult*> wrong, approved, open;
    for (const CheckResult* failure : fresh) {
      const bool is_failure = exit_code_of(failure->verdict) == 1;
      (failure->verdict == Verdict::changed ? approved : is_failure ? wrong : open).push_back(failure);
    }
    judged_.seen.change = wrong.empty() ? CaseChange::undecided : CaseChange::newly_wrong;
    if (!wrong.empty()) add(CanaryVerdict::reject, "newly-wrong", text_of(wrong));
    if (!approved.empty()) add(CanaryVerdict::hold, "approved-bits", text_of(approved));
    if (!open.empty()) add(CanaryVerdict::hold, "unknown", text_of(open));
  }

  void fails_as_before(const std::vector<const CheckResult*>& now) {
    judged_.seen.change = CaseChange::as_before;
    const int64_t before = elements_failed(*pin_), after = elements_failed(*candidate_);
    const double error_before = worst_error(*pin_), error_after = worst_error(*candidate_);
    if (after > before) {
      add(CanaryVerdict::hold, "worse",
          fmt::format("fails as under the pin and in more elements, {} -> {}: {}", before, after, text_of(now)));
    } else if (error_after > 1 && error_after > kGreater * error_before) {
      add(CanaryVerdict::hold, "worse",
          fmt::format("fails as under the pin and by more, {:.3g} -> {:.3g} bounds: {}", error_before, error_after,
                      text_of(now)));
    } else {
      add(CanaryVerdict::promote, "as-before", text_of(now));
    }
    compare_coverage();  // what dies earlier is asked less
  }

  // A check that judged the pin's answer and says less of the candidate's.
  void compare_coverage() {
    for (const CheckResult& before : pin_->checks) {
      const CheckResult* now = find_check(*candidate_, before.check);
      if (before.outcome != Outcome::pass || (now != nullptr && !says_less(*now))) continue;
      add(CanaryVerdict::hold, "coverage",
          fmt::format("{} passed under the pin and is {} under the candidate", before.check,
                      now == nullptr ? "missing" : fmt::format("{}: {}", word_of(now->outcome), now->detail)));
    }
  }

  void compare_error_statistics() {
    if (!judged_.seen.moved || pin_->seeds.empty()) return;
    const StatisticalResult result = compare_statistics(pin_->seeds, candidate_->seeds);
    if (result.outcome == Outcome::skipped || result.p >= level_) return;
    const bool is_better = no_statistic_is_greater();
    std::string detail = result.detail;  // which speaks of what was approved: here, of the pin
    if (const size_t at = detail.find("approved"); at != std::string::npos) detail.replace(at, 8, "under the pin");
    add(is_better ? CanaryVerdict::promote : CanaryVerdict::hold, is_better ? "note" : "statistics",
        fmt::format("error statistics are {}: {}", is_better ? "better" : "others", detail));
  }

  bool no_statistic_is_greater() const {
    const auto mean = [](const Record& record, double SeedStatistics::*value) {
      double sum = 0;
      for (const SeedStatistics& seed : record.seeds) sum += seed.*value;
      return std::fabs(sum / static_cast<double>(record.seeds.size()));
    };
    return std::ranges::all_of(
        std::array{&SeedStatistics::misrounded, &SeedStatistics::mean_signed_ulps, &SeedStatistics::rms_q,
                   &SeedStatistics::mean_signed_q},
        [&](double SeedStatistics::*value) { return mean(*candidate_, value) <= mean(*pin_, value); });
  }

  const Record* pin_;
  const Record* candidate_;
  double level_;
  JudgedCase judged_;
};

}  // namespace

JudgedCase judge_canary_case(const std::string& kernel_id, const Record* pin, const Record* candidate, double level) {
  return Judging(kernel_id, pin, candidate, level).judge();
}

std::string plan_changes(const Record& pin, const Record& candidate) {
  return selection_changes(chosen_by(pin), chosen_by(candidate));
}

double rms_error(const Record& record) {
  double squares = 0, elements = 0;
  for (const ErrorSummary& errors : record.errors) {
    if (errors.histogram.empty()) continue;
    squares += errors.rms_q * errors.rms_q * static_cast<double>(errors.elements);
    elements += static_cast<double>(errors.elements);
  }
  return elements > 0 ? std::sqrt(squares / elements) : kNone;
}

}  // namespace assay
