// A run and a record for tests of record/.
#pragma once

#include <string>

#include "record/record.h"
#include "record/run_json.h"
#include "record/verdict.h"

namespace assay {

inline Record record_named(const std::string& id) {
  Record record;
  record.kernel_id = id;
  record.verdict = Verdict::pass;
  return record;
}

// As conclude() leaves one.
inline Record whole_record(const std::string& id) {
  Record record = record_named(id);
  for (const CheckRow& row : check_table()) record.checks.push_back(check_result(row.check, Outcome::pass));
  return record;
}

inline Run sample_run() {
  Run run{.asked = {"gate", "smoke", "gemm/*", "1/2", {"assay", "gate"}, false, "cpu", true},
          .commit = "0123456789abcdef0123456789abcdef01234567-dirty",
          .started = utc_now(),
          .finished = "",
          .planned = 3,
          .recorded = 2,
          .exit_code = std::nullopt,
          .threads = 2,
          .environment = {{"cpu.model", "x"}},
          .libraries = {{"/lib/a.so", "1", "ab", {"gemm.so", "more.so"}}},
          .kernels = {{"gemm", "simd", "cpu", "gemm.so", "h", {}, "avx2-t2-0a1b2c3d"}},
          .findings = {{"removed", "kernel gemm/old"}},
          .left_out = {{"gemm/slow", 12, "smoke", "seconds a case"}},
          .pin = {"avx2-t2-0a1b2c3d",
                  PinState::mismatched,
                  {"libm: pinned version 6 (build-id ab), found version 6 (build-id cd); install deb libc6 2.36-9"},
                  {"cpu.microcode"}},
          .judged_by = {{"golden", "fedcba9876543210"}, {"policy", "0123456789abcdef"}}};
  run.kernels[0].contract.owner = "someone";
  return run;
}

}  // namespace assay
