// For a process of a test: the rule that code is never written to (prctl(2), PR_SET_MDWE, since Linux 6.3).
#pragma once

#include <sys/prctl.h>

namespace assay {

inline bool has_code_rule() {
  constexpr int kGetRule = 66;
  return ::prctl(kGetRule, 0, 0, 0, 0) >= 0;
}

// For good.
inline void refuse_to_write_code() {
  constexpr int kSetRule = 65, kRefuseExecGain = 1;
  ::prctl(kSetRule, kRefuseExecGain, 0, 0, 0);
}

}  // namespace assay
