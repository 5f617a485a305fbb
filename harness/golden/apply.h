// Holds a record against the goldens: sets its checks "truth", "golden-bits" and "statistical".
#pragma once

#include <cstdint>

#include "golden/observed.h"
#include "golden/truth_goldens.h"
#include "record/record.h"

namespace assay {

// What a kernel promises whose bits are held against those approved.
inline constexpr uint32_t kPromisesBits = ASSAY_SAME_RUN | ASSAY_SAME_RESTART;

// Each of the three checks gets exactly one result; where nothing is approved it is no_baseline, which is not a pass.
//   truth        the oracle's hash is the stored one. Another oracle version has no baseline.
//   golden-bits  the selection is the approved one, and so are the bytes where the kernel promises them from run to run
//                and from process to process (`promises` of its contract, ASSAY_SAME_*, and neither check says
//                otherwise); of a sweep (fill=every) the input of the largest error, too
//   statistical  check/statistics.h, where both sides have the seeds for it
// A record without output (unsupported, crashed) has nothing to compare: not_applicable. `observed` may be null.
// The record is not concluded: call conclude() when all checks are in.
void apply_goldens(Record& record, const TruthGoldens& truth, const ObservedGoldens* observed, uint32_t promises);

}  // namespace assay
