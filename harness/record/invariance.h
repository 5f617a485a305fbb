// Properties of a kernel's bytes: what may change while they stay the same. Each is a check of check_table(); the
// contract may promise it, and where it does not, what is seen is noted all the same.
#pragma once

#include <assay/abi.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace assay {

struct Invariance {
  std::string_view check;
  uint32_t promise;  // ASSAY_SAME_*; 0: the op's law, which every kernel owes
};

inline constexpr std::array kInvariances{Invariance{"same-run", ASSAY_SAME_RUN},
                                         Invariance{"same-content", ASSAY_SAME_RUN},
                                         Invariance{"same-restart", ASSAY_SAME_RESTART},
                                         Invariance{"same-threads", ASSAY_SAME_THREADS},
                                         Invariance{"same-crowd", ASSAY_SAME_THREADS},
                                         Invariance{"same-address", ASSAY_SAME_ALIGNMENT},
                                         Invariance{"same-alignment", ASSAY_SAME_ALIGNMENT},
                                         Invariance{"same-stream", ASSAY_SAME_STREAM},
                                         Invariance{"same-queue", ASSAY_SAME_STREAM},
                                         Invariance{"same-graph", ASSAY_SAME_STREAM},
                                         Invariance{"same-load", ASSAY_SAME_LOAD},
                                         Invariance{"same-padding", ASSAY_SAME_PADDING},
                                         Invariance{"same-batch", ASSAY_SAME_BATCH},
                                         Invariance{"same-order", ASSAY_SAME_ORDER},
                                         Invariance{"same-zeros", ASSAY_SAME_ZEROS},
                                         Invariance{"row-independence", 0u},
                                         Invariance{"scaling", 0u}};

// How the details of such a check begin where the property is not promised, and was seen to hold or not to.
inline constexpr std::string_view kObserved = "observed, not promised";
inline constexpr std::string_view kVaries = "not promised, and differs ";
// How what shows in company alone begins: a wrong answer's details, too.
inline constexpr std::string_view kBesideCallers = "beside others who call the kernel";

}  // namespace assay
