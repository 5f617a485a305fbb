// What the latencies of a canary say: the verdicts of the A/B gate (gate/latency_gate.h) read by a canary's rules, and
// first calls, which that gate does not judge.
#pragma once

#include <span>

#include "gate/canary_verdict.h"

namespace assay {

// A case as a canary asks of it: nothing passes that may be slower, or have more of a tail, by so much as rejects.
// Where nobody has calibrated the machine nothing tells which changes it shows: quantiles, and tails of which a process
// has samples enough, then gate by that alone, and whatever is slower beyond doubt, however little, is held.
GatedCase with_canary_margins(GatedCase gated, bool is_calibrated, const CanaryPolicy& policy);

std::vector<CanaryReason> latency_reasons(const Comparison& latency, const CanaryPolicy& policy, bool out_of_time);
std::vector<CanaryReason> first_call_reasons(const std::vector<FirstCall>& calls, const CanaryPolicy& policy);

// From the microseconds of each process: the median of all ratios of one of each side, and the interval of the shift of
// their logarithms by the Mann-Whitney test (Hollander, Wolfe and Chicken, "Nonparametric Statistical Methods", 3rd
// edition, 2014, section 4.3). There is none where processes are too few for 95 %, or where a clock did not tick.
FirstCall compare_first_calls(const std::string& kernel_id, std::span<const double> pin,
                              std::span<const double> candidate);

}  // namespace assay
