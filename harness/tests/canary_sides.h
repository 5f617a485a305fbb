// Records and fingerprints of the two sides of a canary, for its tests.
#pragma once

#include <string>
#include <vector>

#include "gate/canary_verdict.h"
#include "record/verdict.h"

namespace assay {

inline constexpr const char* kCanaryCase = "gemm/lib:m=3,n=3,k=3,dtype=f32";

// A record of which every check passed.
inline Record passed(const std::string& id = kCanaryCase, const std::string& hash = "aa") {
  Record record;
  record.kernel_id = id;
  record.op = "gemm";
  record.kernel = "lib";
  for (const CheckRow& row : check_table()) record.checks.push_back(check_result(row.check, Outcome::pass));
  record.errors = {{.tensor = "c", .elements = 9, .rigorous = 9, .max_q = 0.25, .rms_q = 0.125, .histogram = {9}}};
  record.output_hash = hash;
  conclude(record);
  return record;
}

inline void set_check(Record& record, std::string_view check, Outcome outcome, const std::string& detail) {
  for (CheckResult& result : record.checks) {
    if (result.check == check) result = check_result(check, outcome, detail);
  }
  conclude(record);
}

inline Record failed(std::string_view check, const std::string& detail = "as planted", int64_t elements = 1) {
  Record record = passed();
  record.output_hash = "bb";
  record.errors[0].failures = elements;
  set_check(record, check, Outcome::fail, detail);
  return record;
}

inline Record refused(const std::string& reason = "needs more") {
  Record record = passed();
  record.output_hash.clear();
  record.errors.clear();
  record.verdict = Verdict::unsupported;
  record.reason = reason;
  return record;
}

inline Fingerprint fingerprint_of(const std::string& shape) {
  return {.op = "gemm", .kernel = "lib", .target = "cpu", .variant = "dtype=f32", .facts = {{"shape", shape}}};
}

// A canary of one case, which passes with the same bytes under both.
inline CanaryEvidence same_on_both() {
  CanaryEvidence evidence;
  evidence.planned = {kCanaryCase};
  evidence.pin = {{passed()}, {fingerprint_of("sequential")}};
  evidence.candidate = evidence.pin;
  return evidence;
}

inline const CanaryPolicy kCanaryPolicy{.slower = 0.25, .tail = 0.02, .latency_seconds = {}};

// The reasons that ask for more than PROMOTE, "kind: text" each.
inline std::vector<std::string> grave(const CanaryResult& result) {
  std::vector<std::string> all;
  for (const CanaryReason& reason : result.reasons) {
    if (reason.asks != CanaryVerdict::promote) all.push_back(reason.kind + ": " + reason.text);
  }
  return all;
}

}  // namespace assay
