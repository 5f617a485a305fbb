#include "worker/comparisons.h"

#include <utility>
#include <vector>

#include "record/invariance.h"
#include "record/json.h"

namespace assay {

void Comparisons::vary(const char* check, Subject& subject, const Case& c, const Trial::Setting& setting,
                       uint32_t promise, const std::string& how, int held_up) {
  Trial trial = plan(subject, c, setting);
  if (!trial.refusal().empty()) {
    refuse("accepts this case, but not " + how + ": " + trial.refusal());
    return;
  }
  map(trial, Addresses::kept);
  fill(trial, seed());
  compare_plan(check, trial, launch(trial, Poison::second), promise, how);
  if (!worth_holding_up(trial)) return;
  for (Series series(held_up); series.goes_on();) {
    compare_plan(check, trial, launch(trial, Poison::first, Manner::held_up), promise, how);
  }
}

void Comparisons::vary_case(const char* check, const Trial& base, const std::optional<Case>& related, uint32_t promise,
                            const std::string& how) {
  if (!related) return sheet_.set(check, Outcome::not_applicable, "the op has no such variation of this case");
  std::string why_not;
  std::optional<Trial> planned = beside(*related, why_not);
  if (!planned) return sheet_.set(check, Outcome::not_applicable, how + ": " + why_not);
  Trial& trial = *planned;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const Content* whole = base.inputs()[i];
    if (whole == nullptr || !tensors_[i].is_read) continue;
    if (court_.laboratory->changed_in_leading_part(tensors_[i], *whole, trial.tensors()[i], *trial.inputs()[i]) !=
        kNowhere) {
      return sheet_.set(check, Outcome::not_applicable, "this fill of " + tensors_[i].name + " depends on the shape");
    }
  }
  compare_beside(
      check, trial, *related, promise, how, [&] { return expect_beside(trial, *related, seed()); },
      related->kernel_id(kernel_.name));
}

template <class Expect>
void Comparisons::compare_beside(const char* check, Trial& trial, const Case& c, uint32_t promise,
                                 const std::string& how, const Expect& expect, const std::string& of_case) {
  const auto tell = [&](Outcome outcome, const std::string& detail) {
    CheckResult result = check_result(check, outcome, detail);
    result.of_case = of_case;
    sheet_.set(std::move(result));
  };
  const Outputs got = launch(trial, Poison::second);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const TensorSpec &spec = tensors_[outputs_[i]], &part = trial.tensors()[outputs_[i]];
    const int64_t at = court_.laboratory->changed_in_leading_part(spec, base_[i], part, got[i]);
    if (at == kNowhere) continue;
    require_right(got, *expect(), trial.contract(), how + ", " + c.id(), of_case);
    if (!contract_.promised(promise)) return tell(Outcome::not_applicable, std::string(kVaries) + how);
    return sheet_.set(check, Outcome::fail, how + ": " + change(spec, base_[i], part, got[i], at));
  }
  tell(Outcome::pass, contract_.promised(promise) ? "" : std::string(kObserved));
}

Trial& Comparisons::once_more(uint64_t from) {
  if (!has_memory_) {
    trial_->move(setting_.place);
    map(*trial_, Addresses::kept);
    has_memory_ = true;
  }
  fill(*trial_, from);
  return *trial_;
}

// Nobody is asked whose answer was seen not to follow its inputs: it would be called wrong here for that.
void Comparisons::other_rows_and_terms() {
  if (sheet_.failed()) {
    for (const char* check : {"same-order", "same-zeros"}) {
      sheet_.set(check, Outcome::not_applicable, "not asked: another check has failed");
    }
    return;
  }
  reversed(once_more(seed()));
  with_more_terms(*trial_);
}

void Comparisons::reversed(Trial& trial) {
  const std::vector<TensorAxis> axes = op_.row_order(case_);
  if (axes.empty()) return sheet_.set("same-order", Outcome::not_applicable, "the op has no two rows in this case");
  const auto reverse_inputs = [&] {
    for (const TensorAxis& along : axes) {
      const size_t i = index_of(along.tensor);
      if (tensors_[i].role != Role::output && tensors_[i].is_read) trial.reverse(i, along.axis);
    }
  };
  reverse_inputs();
  Outputs got = launch(trial, Poison::second);
  reverse_inputs();  // the oracle may look at them yet
  for (const TensorAxis& along : axes) {
    const TensorSpec& spec = tensors_[index_of(along.tensor)];
    if (spec.role == Role::input) continue;
    court_.laboratory->reverse(spec, along.axis, got[output_position(along.tensor)]);
  }
  compare("same-order", got, ASSAY_SAME_ORDER, "with rows in reverse order");
}

void Comparisons::with_more_terms(const Trial& base) {
  constexpr const char *kCheck = "same-zeros", *kHow = "with zeros after the last term";
  const std::optional<Case> related = op_.more_terms(case_);
  if (!related) return sheet_.set(kCheck, Outcome::not_applicable, "the op has no such variation of this case");
  std::string why_not;
  has_memory_ = false;  // the other plan takes it
  std::optional<Trial> trial = beside(*related, why_not);
  if (!trial) return sheet_.set(kCheck, Outcome::not_applicable, std::string(kHow) + ": " + why_not);
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const Content* content = base.inputs()[i];
    if (content != nullptr && tensors_[i].is_read) trial->put_among_zeros(i, tensors_[i], *content);
  }
  compare_beside(kCheck, *trial, *related, ASSAY_SAME_ZEROS, kHow, [&] { return expect_changed(*trial, *related); });
}

std::optional<Trial> Comparisons::beside(const Case& related, std::string& why_not) {
  if (const std::string why = unclaimed(kernel_.contract, related); !why.empty()) {
    why_not = "the kernel does not claim it: " + why;
    return std::nullopt;
  }
  Trial trial = plan(*court_.first, related, aside());
  if (!trial.refusal().empty()) {
    why_not = "the kernel refuses it: " + trial.refusal();
    refuse("claims " + related.id() + " and refuses it: " + trial.refusal());
    return std::nullopt;
  }
  map(trial, Addresses::kept);
  fill(trial, seed());
  return trial;
}

void Comparisons::require_right(const Outputs& got, Expectation& expectation, const Contract& contract,
                                const std::string& how, const std::string& of_case) {
  std::vector<ErrorSummary> ignored;
  CheckResult accuracy = judge(got, expectation, contract, ignored);
  if (accuracy.outcome != Outcome::fail) return;
  accuracy.detail = how + ": " + accuracy.detail;
  accuracy.of_case = of_case;
  sheet_.set(std::move(accuracy));
}

void Comparisons::compare(const char* check, const Outputs& got, uint32_t promise, const std::string& how) {
  compare_bytes(check, got, promise, how, [&] { require_right(got, *expectation_, contract_, how); });
}

// How exact an answer must be is its own plan's to say. Of one that says the same there is an expectation already, and
// a second one of a large case may find no memory.
void Comparisons::compare_plan(const char* check, const Trial& trial, const Outputs& got, uint32_t promise,
                               const std::string& how) {
  if (to_json(trial.contract()) == to_json(contract_)) return compare(check, got, promise, how);
  compare_bytes(check, got, promise, how,
                [&] { require_right(got, *expect_beside(trial, case_, seed()), trial.contract(), how); });
}

template <class RequireRight>
void Comparisons::compare_bytes(const char* check, const Outputs& got, uint32_t promise, const std::string& how,
                                const RequireRight& require_right_answer) {
  const std::string differs = difference(base_, got);
  if (differs.empty()) {
    return sheet_.pass_if_unset(check, contract_.promised(promise) ? "" : std::string(kObserved));
  }
  require_right_answer();
  if (contract_.promised(promise)) {
    sheet_.set(check, Outcome::fail, how + ": " + differs);
  } else {
    sheet_.set(check, Outcome::not_applicable, std::string(kVaries) + how);
  }
}

void Comparisons::compare_content(const Outputs& got, const std::string& how) {
  if (sheet_.find("same-run")->outcome == Outcome::pass) return compare("same-content", got, ASSAY_SAME_RUN, how);
  sheet_.set("same-content", Outcome::not_applicable, "repeated launches differ already");
}

}  // namespace assay
