#include "worker/timed_answer.h"

#include "check/accuracy.h"
#include "record/verdict.h"
#include "worker/verified_product.h"

namespace assay {
namespace {

uint64_t hash_of(Laboratory& laboratory, const Trial& trial, const Outputs& got) {
  uint64_t hash = 0;
  size_t position = 0;
  for (const size_t i : trial.outputs()) hash = laboratory.hash(trial.tensors()[i], got[position++], hash);
  return hash;
}

[[noreturn]] void fail(const char* check, const std::string& metric, const std::string& detail) {
  throw WrongWhenTimed(check_result(check, Outcome::fail, "when it is timed (" + metric + "): " + detail));
}

}  // namespace

void TimedAnswer::check(const JudgeSettings& settings, Laboratory& laboratory, const Op& op, const Case& c,
                        const Trial& trial, const Outputs& got, const std::string& metric,
                        const std::optional<uint64_t>& promised) {
  if (!trial.strays().guards.empty()) fail("guards", metric, trial.strays().guards);
  if (!trial.strays().inputs.empty()) fail("inputs", metric, trial.strays().inputs);
  const uint64_t hash = hash_of(laboratory, trial, got);
  if (hash == promised || judged_right_.contains(hash)) return;
  const auto expectation = expectation_of(settings, laboratory, op, c, trial.contract(),
                                          static_cast<uint64_t>(c.integer("seed")), trial.inputs());
  const CheckResult accuracy = accuracy_check(expectation->judge(got, trial.contract()));
  if (accuracy.outcome == Outcome::fail) fail("accuracy", metric, accuracy.detail);
  if (promised) fail("same-restart", metric, "other bytes than in the processes that judge");
  judged_right_.insert(hash);
}

}  // namespace assay
