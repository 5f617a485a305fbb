// What compute-sanitizer wrote about one process, read back: its findings as one line, and whether it watched to the
// end. The log is the tool's alone, but a tool may be killed while it writes, and names in it are the kernel's choice.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "record/record.h"

namespace assay {

enum class Sanitizer { memcheck, racecheck, initcheck, synccheck };

std::string_view name_of(Sanitizer tool);
// Throws UsageError for a word that is none.
Sanitizer sanitizer_named(std::string_view name);

struct SanitizerReport {
  bool ended = false;    // the tool wrote its summary: it watched to the end
  int64_t findings = 0;  // errors by the summary; as many as are described where there is none
  int64_t warnings = 0;  // racecheck's lesser kind
  std::string first;     // the first finding: what, where, by which thread, at which address; empty without findings
  std::string trouble;   // why the tool saw less than all, in its words; empty: it complained of nothing
};

SanitizerReport read_sanitizer_log(std::string_view text);

// The check "sanitizer". `lost`: the worker did not live to its end, which another check tells, so that a missing
// summary is no wonder. Throws Error when the tool has nothing to say although it should.
CheckResult sanitizer_check(Sanitizer tool, const SanitizerReport& report, bool lost);

}  // namespace assay
