// What a canary comes to: from what was seen under the pin and under the candidate to one verdict and the reasons for
// it, for each kernel and shape. Pure: it starts no process and reads no file.
//
//   REJECT   a case that fails under the candidate as it does not under the pin: wrong, crashed, a promise broken, or
//            refused; a shape slower by more than CanaryPolicy::slower with confidence, a tail likewise
//   HOLD     slower beyond its margin; undecided or unknown; a case that failed before and fails in more elements now;
//            another order of summation or other arithmetic (fingerprint), other error statistics, bits that are not
//            those approved for the candidate's own build
//   INVALID  the arms were not what was asked for, or the machine was too disturbed: nothing is known
//   PROMOTE  none of these. Bits that move inside the bound with nothing promised of them, another algorithm, fewer
//            defects, and defects that are as before, are information.
//
// No contract promises bits from one build of a library to the next: observed goldens are approved for one build-id.
// What outlives a build is how a kernel computes, its fingerprint: one that changed is held until somebody approves it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gate/canary_policy.h"
#include "gate/comparison.h"
#include "record/fingerprint.h"
#include "record/record.h"

namespace assay {

// In the order of precedence: the verdict is the gravest that a reason asks for, but of arms that are not what they
// should be nothing is believed.
enum class CanaryVerdict { promote, hold, invalid, reject };
std::string_view word_of(CanaryVerdict verdict);  // "PROMOTE"
int exit_code_of(CanaryVerdict verdict);          // 0, 2, 3, 1

struct CanaryReason {
  CanaryVerdict asks = CanaryVerdict::promote;  // promote: information alone
  std::string kind;                             // one of kCanaryKinds
  std::string kernel;                           // op/kernel; empty: of the whole
  std::string what;  // kernel id, that and a metric, or a fingerprint's id; empty: of the whole
  std::string text;  // one line

  bool operator==(const CanaryReason&) const = default;
};
inline constexpr std::array<std::string_view, 16> kCanaryKinds{
    "arms",     "newly-wrong", "refused", "worse", "approved-bits", "arithmetic", "statistics", "unknown",
    "coverage", "slower",      "tail",    "voids", "first-call",    "as-before",  "fixed",      "note"};

// How a case under the candidate compares with itself under the pin.
enum class CaseChange { same, moved, taken, fixed, as_before, undecided, newly_wrong };
std::string_view word_of(CaseChange change);

struct CanaryCase {
  std::string kernel_id;
  std::optional<Verdict> pin, candidate;  // none: was not judged
  CaseChange change = CaseChange::undecided;
  bool has_bits = false;              // both gave outputs
  bool moved = false;                 // and they differ
  double pin_q = 0, candidate_q = 0;  // worst error in bounds; NaN where there is none
  std::string selection;              // what was chosen that differs: "algorithm: a -> b"
  int64_t workspace_growth = 0;       // bytes
};

// In bounds E of each element, over cases that passed; NaN where no element has one.
struct CanaryErrors {
  double worst = 0;    // of all elements
  double typical = 0;  // median over the cases of the root mean square
};

struct CanaryKernel {
  std::string kernel;  // op/kernel
  std::map<CaseChange, int64_t> cases;
  int64_t all = 0, refused = 0;  // planned; refused under both
  int64_t bits_moved = 0, bits_compared = 0;
  CanaryErrors pin, candidate;                // over the same cases
  std::map<std::string, int64_t> selections;  // what was chosen that differs, and in how many cases
  int64_t workspace_grew = 0;                 // cases
};

// What the first launch of a case in a fresh process took, over processes of both arms.
struct FirstCall {
  std::string kernel_id;
  int64_t processes = 0;                // of the arm with fewer
  double pin_us = 0, candidate_us = 0;  // medians
  // Candidate to pin, NaN where a median is 0 by the clock, and a 95 % interval of it, NaN where there is none.
  double ratio = 1, low = 0, high = 0;
};

struct CanarySeen {
  std::vector<Record> records;
  std::vector<Fingerprint> fingerprints;
};

struct CanaryEvidence {
  std::vector<std::string> planned;  // kernel ids
  CanarySeen pin, candidate;
  std::vector<std::string> not_built;     // op/kernel that compute with the library here, and have no module
  std::vector<std::string> not_as_asked;  // what contradicts the arms, a line each; not empty: INVALID
  bool same_build = false;                // the candidate is the pin's build under another path
  bool same_bytes = false;                // and its files: no latency of it is measured
  bool latency_asked = false;
  std::optional<Comparison> latency;  // pin as base, candidate as change; none: was not measured
  bool out_of_time = false;           // latency was
  std::vector<FirstCall> first_calls;
};

struct CanaryResult {
  CanaryVerdict verdict = CanaryVerdict::invalid;
  std::vector<CanaryReason> reasons;  // gravest first, then as kCanaryKinds, then by kernel and case
  std::vector<CanaryCase> cases;      // as planned
  std::vector<CanaryKernel> kernels;  // by name
};

// Why nothing is known of latency, in some words; empty where it was measured.
std::string why_no_latency(const CanaryEvidence& evidence);

CanaryResult judge_canary(const CanaryEvidence& evidence, const CanaryPolicy& policy);

}  // namespace assay
