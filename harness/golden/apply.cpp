#include "golden/apply.h"

#include <fmt/format.h>

#include <algorithm>

#include "check/statistics.h"
#include "record/verdict.h"

namespace assay {
namespace {

CheckResult truth_check(const Record& record, const TruthGoldens& goldens) {
  const TruthGoldens::Found found = goldens.find(record.kernel_id);
  if (record.truth_hash.empty()) return check_result("truth", Outcome::not_applicable, "the oracle was not asked");
  if (found.truth == nullptr) return check_result("truth", Outcome::no_baseline, found.absent);
  if (found.truth->hash == record.truth_hash) return check_result("truth", Outcome::pass);
  return check_result("truth", Outcome::fail,
                      fmt::format("the oracle's answer for {} has hash {}, its truth golden {}",
                                  truth_key(record.kernel_id), record.truth_hash, found.truth->hash));
}

// The first selection that differs, or empty. A key only one side has differs, too.
std::string changed_selection(const Observed& approved, const Observed& now) {
  const auto value = [](const Observed& observed, const std::string& key) {
    const auto found = observed.selection.find(key);
    return found == observed.selection.end() ? std::string("nothing") : "'" + found->second + "'";
  };
  std::map<std::string, std::string> keys = approved.selection;
  keys.insert(now.selection.begin(), now.selection.end());
  for (const auto& [key, unused] : keys) {
    const std::string before = value(approved, key), after = value(now, key);
    if (before != after) return fmt::format("{} was {}, now {}", key, before, after);
  }
  return "";
}

bool denied(const Record& record, std::string_view check) {
  const auto is_it = [check](const CheckResult& result) {
    return result.check == check && result.outcome == Outcome::not_applicable;
  };
  return std::any_of(record.checks.begin(), record.checks.end(), is_it);
}

CheckResult bits_check(const Record& record, const Approval& approval, uint32_t promises) {
  const bool promised =
      (promises & kPromisesBits) == kPromisesBits && !denied(record, "same-run") && !denied(record, "same-restart");
  if (const Observed* approved = approval.comparable(); approved != nullptr) {
    const Observed now = observed_of(record);
    const std::string changed = changed_selection(*approved, now);
    if (!changed.empty()) return check_result("golden-bits", Outcome::fail, "selection: " + changed);
    const bool moved = approved->worst_input != now.worst_input;
    const std::string worst =
        moved ? fmt::format("the input of the largest error was {}, now {}", approved->worst_input, now.worst_input)
              : "";
    if (promised && approved->bits != now.bits) {
      return check_result(
          "golden-bits", Outcome::fail,
          fmt::format("output hash was {}, now {}{}{}", approved->bits, now.bits, moved ? "; " : "", worst));
    }
    if (promised && moved) return check_result("golden-bits", Outcome::fail, worst);
  }
  if (!promised) {
    return check_result("golden-bits", Outcome::not_applicable, "same-run and same-restart are not both promised");
  }
  if (approval.comparable() == nullptr) return check_result("golden-bits", Outcome::no_baseline, approval.why_not());
  return check_result("golden-bits", Outcome::pass);
}

CheckResult statistical_check(const Record& record, const Approval& approval) {
  if (record.seeds.size() < kLeastSeeds) {
    return check_result("statistical", Outcome::not_applicable,
                        fmt::format("{} seeds; {} are needed", std::max<size_t>(1, record.seeds.size()), kLeastSeeds));
  }
  if (approval.comparable() == nullptr) return check_result("statistical", Outcome::no_baseline, approval.why_not());
  const StatisticalResult result = compare_statistics(approval.comparable()->seeds, record.seeds);
  if (result.outcome == Outcome::skipped) return check_result("statistical", Outcome::no_baseline, result.detail);
  return check_result("statistical", result.outcome, result.detail);
}

void set(Record& record, CheckResult result) {
  std::erase_if(record.checks, [&](const CheckResult& old) { return old.check == result.check; });
  record.checks.push_back(std::move(result));
}

}  // namespace

void apply_goldens(Record& record, const TruthGoldens& truth, const ObservedGoldens* observed, uint32_t promises) {
  set(record, truth_check(record, truth));
  if (record.output_hash.empty()) {
    set(record, check_result("golden-bits", Outcome::not_applicable, "there is no output"));
    set(record, check_result("statistical", Outcome::not_applicable, "there is no output"));
    return;
  }
  const Approval approval = observed == nullptr ? Approval{} : observed->find(record);
  set(record, bits_check(record, approval, promises));
  set(record, statistical_check(record, approval));
}

}  // namespace assay
