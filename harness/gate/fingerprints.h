// Takes the fingerprints of kernels: asks a judge for the answers to each op's probes (core/probe.h), and reads them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/op.h"
#include "gate/judge.h"
#include "gate/plan.h"
#include "golden/fingerprints.h"
#include "record/run_json.h"

namespace assay {

struct FingerprintJob {
  std::vector<KernelInfo> kernels;
  const OpRegistry* ops = nullptr;
  StartJudge start_judge;
  bool fresh = false;  // each variant in a worker process of its own
  // Whether a kernel's variant is wanted; `c` is the case of its first probe.
  std::function<bool(const KernelInfo&, const ProbeSet&)> wanted = [](const auto&, const auto&) { return true; };
  std::function<void(Fingerprint)> each;  // as soon as it is taken
  std::function<bool()> stop_asked = [] { return false; };
  std::function<void(const std::vector<LoadedLibrary>&)> seen;  // if any, told what the judge had loaded after each
};

// A variant whose probes a kernel refuses one and all has no fingerprint; what a kernel fails at is not known, and why.
// False: stopped before the end.
bool take_fingerprints(const FingerprintJob& job);

// Those with cases in the plan.
std::vector<KernelInfo> planned_kernels(const Plan& plan);

// One finding a fingerprint that is not the approved one, with what changed from what to what; one that a kernel fails
// at, approved or not; and one an approved id that has none, since the kernel refuses its probes now.
std::vector<Finding> fingerprint_findings(const std::vector<Fingerprint>& fingerprints,
                                          const std::vector<std::string>& approved);

// "fingerprints: 40 taken: 38 as approved, 1 changed, 1 that nobody approved"; empty when none was taken.
std::string fingerprints_text(const std::vector<Fingerprint>& fingerprints);

}  // namespace assay
