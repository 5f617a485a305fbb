#include "gate/fingerprints.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "check/fingerprint.h"
#include "core/clock.h"
#include "core/error.h"

namespace assay {
namespace {

DType type_of(const Op& op, const Probe& probe) {
  for (const TensorSpec& tensor : op.tensors(probe.c)) {
    if (tensor.name == probe.output) return tensor.dtype;
  }
  throw Error(std::string(op.name()) + ": a probe reads '" + probe.output + "', which is no tensor");
}

class Taking {
 public:
  explicit Taking(const FingerprintJob& job) : job_(job) {}

  bool run() {
    for (const KernelInfo& kernel : job_.kernels) {
      const Op& op = job_.ops->named(kernel.op);
      for (const ProbeSet& set : op.probes()) {
        if (!job_.wanted(kernel, set)) continue;
        if (job_.stop_asked() || !take(kernel, op, set)) return false;
      }
    }
    return true;
  }

 private:
  // False when a stop was asked for meanwhile: what it did to the answers is no fact of the kernel's.
  bool take(const KernelInfo& kernel, const Op& op, const ProbeSet& set) {
    const auto begin = Clock::now();
    Fingerprint fingerprint{
        .op = kernel.op, .kernel = kernel.name, .target = kernel.target, .variant = set.variant, .facts = {}};
    std::vector<ProbeAnswer> answers;
    bool any = false;
    for (const Probe& probe : set.probes) {
      ProbeAnswer& answer = answers.emplace_back(ProbeAnswer{type_of(op, probe), {}});
      if (!fingerprint.complete) {
        answer.missing = "not asked after a failure";
        continue;
      }
      Probed probed = ask(kernel, probe, job_.fresh && answers.size() == 1);
      if (!probed.failed.empty()) {
        fingerprint.complete = false;
        answer.missing = std::string(kNoAnswer) + probed.failed;
      } else if (!probed.refused.empty()) {
        answer.missing = "refused: " + probed.refused;
      }
      any = any || probed.refused.empty();
      answer.bytes = std::move(probed.bytes);
    }
    tell_libraries();
    if (job_.stop_asked()) return false;
    if (!any) return true;
    fingerprint.facts = facts_of(set, answers);
    fingerprint.seconds = seconds_since(begin);
    job_.each(std::move(fingerprint));
    return true;
  }

  void tell_libraries() {
    if (!job_.seen || judge_ == nullptr) return;
    try {
      job_.seen(judge_->libraries());
    } catch (const JudgeDied&) {
      judge_.reset();
      loaded_.clear();
    }
  }

  Probed ask(const KernelInfo& kernel, const Probe& probe, bool fresh) {
    try {
      if (judge_ == nullptr) judge_ = job_.start_judge();
      if (loaded_.insert(kernel.module.string()).second) load_steadily(*judge_, kernel.module);
      return judge_->probe(kernel, probe.c, probe.output, fresh);
    } catch (const JudgeDied& died) {
      judge_.reset();
      loaded_.clear();
      return {{}, "", died.what()};
    } catch (const std::exception& problem) {
      return {{}, "", std::string("the judge failed: ") + problem.what()};
    }
  }

  const FingerprintJob& job_;
  std::unique_ptr<Judge> judge_;
  std::set<std::string> loaded_;  // modules, by that judge
};

}  // namespace

bool take_fingerprints(const FingerprintJob& job) { return Taking(job).run(); }

std::vector<KernelInfo> planned_kernels(const Plan& plan) {
  std::vector<bool> planned(plan.kernels.size(), false);
  for (const PlannedCase& one : plan.cases) planned[one.kernel] = true;
  std::vector<KernelInfo> kernels;
  for (size_t k = 0; k < planned.size(); ++k) {
    if (planned[k]) kernels.push_back(plan.kernels[k]);
  }
  return kernels;
}

std::vector<Finding> fingerprint_findings(const std::vector<Fingerprint>& fingerprints,
                                          const std::vector<std::string>& approved) {
  std::vector<Finding> findings;
  std::set<std::string> taken;
  for (const Fingerprint& fingerprint : fingerprints) {
    taken.insert(fingerprint.id());
    std::string text = fingerprint.id();
    if (!fingerprint.complete) {
      text += ": how it computes cannot be read: " + fingerprint.failure();
    } else if (fingerprint.baseline == Baseline::changed) {
      text += " computes in another way than approved";
      for (size_t i = 0; i < fingerprint.changes.size(); ++i) text += (i == 0 ? ": " : "; ") + fingerprint.changes[i];
    } else {
      continue;
    }
    findings.push_back({"fingerprint", text});
  }
  for (const std::string& id : approved) {
    if (taken.contains(id)) continue;
    findings.push_back({"fingerprint", id + " is approved, and not read now: its probes are refused, or are no more"});
  }
  return findings;
}

std::string fingerprints_text(const std::vector<Fingerprint>& fingerprints) {
  if (fingerprints.empty()) return "";
  const auto of = [&](Baseline baseline) {
    return std::count_if(fingerprints.begin(), fingerprints.end(),
                         [&](const auto& f) { return f.baseline == baseline; });
  };
  return fmt::format("fingerprints: {} taken: {} as approved, {} changed, {} that nobody approved", fingerprints.size(),
                     of(Baseline::same), of(Baseline::changed), of(Baseline::none));
}

}  // namespace assay
