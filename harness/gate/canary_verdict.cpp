#include "gate/canary_verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "check/fingerprint.h"
#include "gate/canary_case.h"
#include "gate/canary_latency.h"
#include "record/invariance.h"

namespace assay {
namespace {

constexpr double kStatisticsLevel = 0.01;  // chance of a false `statistics` in one canary

std::map<std::string, const Record*> by_id(const std::vector<Record>& records) {
  std::map<std::string, const Record*> found;
  for (const Record& record : records) found[record.kernel_id] = &record;
  return found;
}

double median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

// An invariance that nobody promised, seen to hold under the pin and not under the candidate.
bool is_lost(const CheckResult& before, const CheckResult& now) {
  return before.detail.starts_with(kObserved) && now.detail.starts_with(kVaries);
}

std::string known_changes(const Fingerprint& pin, const Fingerprint& candidate) {
  std::vector<Fact> before, now;
  for (const Fact& fact : pin.facts) {
    const Fact* other = candidate.find(fact.name);
    const bool is_unknown_to_both = fact.value.empty() && other != nullptr && other->value.empty();
    if (!is_unknown_to_both) before.push_back(fact);
  }
  for (const Fact& fact : candidate.facts) {
    const Fact* other = pin.find(fact.name);
    const bool is_unknown_to_both = fact.value.empty() && other != nullptr && other->value.empty();
    if (!is_unknown_to_both) now.push_back(fact);
  }
  std::string text;
  for (const std::string& change : changed_facts(before, now)) text += (text.empty() ? "" : "; ") + change;
  return text;
}

// How a kernel's process ended over a probe, from what its facts say of it. Empty where that is not known to be the
// kernel's doing: the judge died, or somebody killed the process.
std::string death_at_a_probe(const Fingerprint& fingerprint) {
  const std::string how = fingerprint.failure();
  return how.starts_with("the worker died by ") && how.find("SIGKILL") == std::string::npos ? how : "";
}

size_t place_of(const std::string& kind) {
  return static_cast<size_t>(std::ranges::find(kCanaryKinds, kind) - kCanaryKinds.begin());
}

class Canary {
 public:
  Canary(const CanaryEvidence& evidence, const CanaryPolicy& policy) : evidence_(evidence), policy_(policy) {}

  CanaryResult judge() {
    judge_arms();
    judge_coverage();
    judge_cases();
    judge_fingerprints();
    if (evidence_.latency) {
      add(latency_reasons(*evidence_.latency, policy_, evidence_.out_of_time));
      add(first_call_reasons(evidence_.first_calls, policy_));
      judge_untimed(*evidence_.latency);
    } else {
      add({CanaryVerdict::promote, "note", "", "", "no latency was measured: " + why_no_latency(evidence_)});
    }
    std::ranges::stable_sort(result_.reasons, [](const CanaryReason& a, const CanaryReason& b) {
      return std::tuple(-static_cast<int>(a.asks), place_of(a.kind), a.kernel, a.what) <
             std::tuple(-static_cast<int>(b.asks), place_of(b.kind), b.kernel, b.what);
    });
    result_.verdict = CanaryVerdict::promote;
    for (const CanaryReason& reason : result_.reasons) result_.verdict = std::max(result_.verdict, reason.asks);
    if (!evidence_.not_as_asked.empty()) result_.verdict = CanaryVerdict::invalid;
    return std::move(result_);
  }

 private:
  void add(CanaryReason reason) { result_.reasons.push_back(std::move(reason)); }
  void add(std::vector<CanaryReason> reasons) {
    for (CanaryReason& reason : reasons) add(std::move(reason));
  }

  void judge_arms() {
    for (const std::string& why : evidence_.not_as_asked) add({CanaryVerdict::invalid, "arms", "", "", why});
    if (evidence_.same_build) {
      add({CanaryVerdict::promote, "note", "", "",
           "pin and candidate are the same build, by build-id, loaded from two paths"});
    }
  }

  void judge_coverage() {
    if (evidence_.not_built.empty()) return;
    add({CanaryVerdict::hold, "coverage", "", "",
         fmt::format(
             "{} kernels that compute with it have no module, and none of their cases was judged; build them: {}",
             evidence_.not_built.size(), fmt::join(evidence_.not_built, ", "))});
  }

  void judge_cases() {
    const auto pin = by_id(evidence_.pin.records), candidate = by_id(evidence_.candidate.records);
    const auto find = [](const auto& records, const std::string& id) {
      const auto found = records.find(id);
      return found == records.end() ? nullptr : found->second;
    };
    int64_t with_seeds = 0;
    for (const std::string& id : evidence_.planned) {
      const Record* record = find(pin, id);
      with_seeds += record != nullptr && !record->seeds.empty() ? 1 : 0;
    }
    const double level = kStatisticsLevel / static_cast<double>(std::max<int64_t>(1, with_seeds));
    bool any_judged = false;
    for (const std::string& id : evidence_.planned) {
      const Record *before = find(pin, id), *now = find(candidate, id);
      JudgedCase judged = judge_canary_case(id, before, now, level);
      const bool refused = before != nullptr && now != nullptr && before->verdict == Verdict::unsupported &&
                           now->verdict == Verdict::unsupported;
      any_judged = any_judged || !refused;
      count(judged.seen, refused, before, now);
      add(std::move(judged.reasons));
      result_.cases.push_back(std::move(judged.seen));
    }
    if (!any_judged && evidence_.not_as_asked.empty()) {
      add({CanaryVerdict::hold, "unknown", "", "",
           evidence_.planned.empty() ? "no case was judged: none was planned"
                                     : "no case was judged: the kernels refuse each under both"});
    }
    for (auto& [name, kernel] : kernels_) {
      kernel.pin.typical = median(typical_[name].first);
      kernel.candidate.typical = median(typical_[name].second);
      result_.kernels.push_back(std::move(kernel));
    }
    for (const auto& [key, cases] : lost_) {
      add({CanaryVerdict::promote, "note", key.first, "",
           fmt::format("{}: held in {} cases under the pin and not under the candidate; nobody promised it", key.second,
                       cases)});
    }
  }

  void count(const CanaryCase& seen, bool refused, const Record* pin, const Record* candidate) {
    const std::string name = seen.kernel_id.substr(0, seen.kernel_id.find(':'));
    const auto [found, is_new] = kernels_.try_emplace(name);
    CanaryKernel& kernel = found->second;
    if (is_new) {
      kernel.kernel = name;
      kernel.pin.worst = kernel.candidate.worst = std::numeric_limits<double>::quiet_NaN();
    }
    ++kernel.all;
    if (refused) {
      ++kernel.refused;
      return;
    }
    ++kernel.cases[seen.change];
    kernel.bits_compared += seen.has_bits ? 1 : 0;
    kernel.bits_moved += seen.moved ? 1 : 0;
    kernel.workspace_grew += seen.workspace_growth > 0 ? 1 : 0;
    if (!seen.selection.empty()) ++kernel.selections[seen.selection];
    if (seen.change != CaseChange::same && seen.change != CaseChange::moved) return;
    kernel.pin.worst = std::fmax(kernel.pin.worst, seen.pin_q);
    kernel.candidate.worst = std::fmax(kernel.candidate.worst, seen.candidate_q);
    const double before = rms_error(*pin), now = rms_error(*candidate);
    if (!std::isnan(before) && !std::isnan(now)) {
      typical_[name].first.push_back(before);
      typical_[name].second.push_back(now);
    }
    for (size_t i = 0; i < pin->checks.size() && i < candidate->checks.size(); ++i) {
      if (is_lost(pin->checks[i], candidate->checks[i])) ++lost_[{name, pin->checks[i].check}];
    }
  }

  void judge_fingerprints() {
    std::map<std::string, const Fingerprint*> candidates;
    for (const Fingerprint& fingerprint : evidence_.candidate.fingerprints) candidates[fingerprint.id()] = &fingerprint;
    for (const Fingerprint& pin : evidence_.pin.fingerprints) {
      const auto found = candidates.find(pin.id());
      const std::string kernel = pin.op + "/" + pin.kernel;
      if (found == candidates.end() || !found->second->complete) {
        const std::string death = found == candidates.end() || !pin.complete ? "" : death_at_a_probe(*found->second);
        if (death.empty()) {
          add({CanaryVerdict::hold, "unknown", kernel, pin.id(),
               "how it computes could not be read under the candidate"});
        } else {
          add({CanaryVerdict::reject, "newly-wrong", kernel, pin.id(),
               "answers every probe of its fingerprint under the pin, and under the candidate " + death});
        }
      } else if (!pin.complete) {
        add({CanaryVerdict::hold, "unknown", kernel, pin.id(), "how it computes could not be read under the pin"});
      } else if (const std::string changes = known_changes(pin, *found->second); !changes.empty()) {
        add({CanaryVerdict::hold, "arithmetic", kernel, pin.id(), "computes in another way: " + changes});
      }
      candidates.erase(pin.id());
    }
    for (const auto& [id, fingerprint] : candidates) {
      const std::string kernel = fingerprint->op + "/" + fingerprint->kernel, death = death_at_a_probe(*fingerprint);
      constexpr const char* kTakes = "the candidate takes probes that the pin refuses";
      if (!death.empty()) {
        add({CanaryVerdict::reject, "newly-wrong", kernel, id, std::string(kTakes) + ", and " + death});
      } else if (!fingerprint->complete) {
        add({CanaryVerdict::hold, "unknown", kernel, id,
             std::string(kTakes) + ", and how it computes could not be read"});
      } else {
        add({CanaryVerdict::promote, "note", kernel, id, kTakes});
      }
    }
  }

  // What is correct under both and was to be timed, and was not.
  void judge_untimed(const Comparison& latency) {
    std::set<std::string> correct;
    for (const CanaryCase& one : result_.cases) {
      if (one.change == CaseChange::same || one.change == CaseChange::moved) correct.insert(one.kernel_id);
    }
    for (const NotCompared& one : latency.compared.left_out) {
      if (!correct.contains(one.what)) continue;
      add({CanaryVerdict::hold, "unknown", one.what.substr(0, one.what.find(':')), one.what,
           "correct, and has no latency: " + one.why});
    }
  }

  const CanaryEvidence& evidence_;
  const CanaryPolicy& policy_;
  CanaryResult result_;
  std::map<std::string, CanaryKernel> kernels_;
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> typical_;  // pin, candidate
  std::map<std::pair<std::string, std::string>, int64_t> lost_;                         // by kernel and check
};

}  // namespace

std::string_view word_of(CanaryVerdict verdict) {
  static constexpr std::array<std::string_view, 4> kWords{"PROMOTE", "HOLD", "INVALID", "REJECT"};
  return kWords[static_cast<size_t>(verdict)];
}

int exit_code_of(CanaryVerdict verdict) {
  static constexpr std::array kCodes{0, 2, 3, 1};
  return kCodes[static_cast<size_t>(verdict)];
}

std::string_view word_of(CaseChange change) {
  static constexpr std::array<std::string_view, 7> kWords{"same",      "moved",     "taken",      "fixed",
                                                          "as before", "undecided", "newly wrong"};
  return kWords[static_cast<size_t>(change)];
}

std::string why_no_latency(const CanaryEvidence& evidence) {
  if (!evidence.latency_asked) return "it was not asked for";
  if (evidence.same_bytes) return "pin and candidate are the same files, byte for byte: neither can be slower";
  if (!evidence.latency) return "nothing ran, since the sides are not what was asked for";
  if (!evidence.latency->invalid.empty()) return evidence.latency->invalid;
  if (evidence.latency->result.cases.empty()) return "no case of these is timed";
  return evidence.latency->blocks == 0 ? "no block of it was measured" : "";
}

CanaryResult judge_canary(const CanaryEvidence& evidence, const CanaryPolicy& policy) {
  return Canary(evidence, policy).judge();
}

}  // namespace assay
