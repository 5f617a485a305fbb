// The steps of an examination that hold other launches of a case, or of cases beside it, against the answer under
// judgement: the same bytes where that is promised, right either way. examination.cpp says which.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "worker/steps.h"

namespace assay {

class Comparisons : public Steps {
 protected:
  using Steps::Steps;

  Device device() const { return court_.settings->device; }

  // A plan beside that of the case.
  Trial::Setting aside() const {
    Trial::Setting setting = setting_;
    setting.slot = 1;
    return setting;
  }

  // Whoever works alone races with nobody. And only who promises the same bytes at any number of threads is put to this
  // test: code that a library generates while it runs may keep data where a signal's frame goes.
  bool worth_holding_up(const Trial& trial) const {
    const bool has_company = trial.others_computed() || trial_->others_computed();
    return !has_streams(device()) && contract_.promised(ASSAY_SAME_THREADS) && has_company;
  }

  // `got`, another launch of the case under judgement.
  void compare(const char* check, const Outputs& got, uint32_t promise, const std::string& how);
  // The same after a launch over other content. "same-run" was asked before.
  void compare_content(const Outputs& got, const std::string& how);

  // The case again, or `c` of the same inputs, in another setting. `held_up`: how often it is also launched with
  // threads stopped at odd moments, where there are several.
  void vary(const char* check, Subject& subject, const Case& c, const Trial::Setting& setting, uint32_t promise,
            const std::string& how, int held_up = 0);

  // A related case whose inputs and outputs are the leading elements of the base's.
  void vary_case(const char* check, const Trial& base, const std::optional<Case>& related, uint32_t promise,
                 const std::string& how);

  // The case as it was planned, after others took its memory, filled anew: what is changed of it lasts until the next
  // call.
  Trial& once_more(uint64_t from);

  // "same-order" and "same-zeros": the same rows in another order, the same sums with further terms that are zero.
  void other_rows_and_terms();

  // A case beside the one under judgement, planned and filled from the same seed. Nothing where the kernel does not
  // claim it; or where it claims and refuses it, which breaks its contract.
  std::optional<Trial> beside(const Case& related, std::string& why_not);

  Trial* trial_ = nullptr;  // of the case, once it was accepted
  bool has_memory_ = true;  // trial_: it may launch

 private:
  // compare(), of `trial`, the case planned once more.
  void compare_plan(const char* check, const Trial& trial, const Outputs& got, uint32_t promise,
                    const std::string& how);
  template <class RequireRight>
  void compare_bytes(const char* check, const Outputs& got, uint32_t promise, const std::string& how,
                     const RequireRight& require_right_answer);
  // `trial`: of the case, filled as it was; so it is again afterwards.
  void reversed(Trial& trial);
  void with_more_terms(const Trial& base);
  // The answer of `trial`, to `c` beside the case, whose outputs are leading elements of the base's. expect() gives
  // what is right for it; `of_case` as for require_right().
  template <class Expect>
  void compare_beside(const char* check, Trial& trial, const Case& c, uint32_t promise, const std::string& how,
                      const Expect& expect, const std::string& of_case = "");
  // `of_case`: the kernel id of a case beside the one under judgement.
  void require_right(const Outputs& got, Expectation& expectation, const Contract& contract, const std::string& how,
                     const std::string& of_case = "");
};

}  // namespace assay
