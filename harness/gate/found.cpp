#include "gate/found.h"

#include <set>
#include <tuple>

#include "core/clock.h"
#include "gate/coverage.h"
#include "gate/shrink.h"
#include "record/verdict.h"

namespace assay {
namespace {

Case smallest(const FoundJob& job, const PlannedCase& failing, const Failure& failure) {
  const auto start = Clock::now();
  const auto fails = [&](const Case& c) {
    if (c.word("support") != failing.c.word("support")) return false;
    const std::string& kernel = job.plan->kernel_of(failing).name;
    return fails_as(failure, job.judge({failing.kernel, c, c.kernel_id(kernel), false}));
  };
  const auto used = [&] { return job.stop_asked() ? 1 : seconds_since(start) / job.seconds_each; };
  const Op& op = job.ops->named(failing.c.op());
  return shrink(op, failing.c, {fails, kNoGlance, used, [](const Case&) {}}).smallest;
}

}  // namespace

std::map<std::string, std::string> found_cases(const FoundJob& job, const std::vector<Record>& records) {
  std::map<std::string, const PlannedCase*> planned;
  for (const PlannedCase& one : job.plan->cases) planned[one.id] = &one;
  std::set<std::tuple<std::string, std::string, std::string, Verdict, std::string>> ways;
  std::map<std::string, std::string> why_by_case;
  int shrunk = 0;
  for (const Record& record : records) {
    const std::optional<Failure> failure = failure_of(record);
    const auto at = planned.find(record.kernel_id);
    if (!failure || exit_code_of(record.verdict) != 1 || at == planned.end()) continue;
    const PlannedCase& failing = *at->second;
    const std::string kernel = record.op + "/" + record.kernel;
    const std::string dtype = failing.c.has("dtype") ? failing.c.word("dtype") : "";
    if (!ways.emplace(kernel, decision_of(record), dtype, failure->verdict, failure->check).second) continue;
    const bool may_shrink = failure->verdict != Verdict::timeout && shrunk < job.most_shrunk && !job.stop_asked();
    const Case small = may_shrink ? smallest(job, failing, *failure) : failing.c;
    if (may_shrink) ++shrunk;
    std::string why = kernel + " " + std::string(word_of(failure->verdict)) + ", " + failure->check + "; fuzz seed " +
                      std::to_string(job.seed);
    if (!(small == failing.c)) why += ", drawn as " + failing.c.id();
    why_by_case.try_emplace(small.id(), why);
  }
  return why_by_case;
}

}  // namespace assay
