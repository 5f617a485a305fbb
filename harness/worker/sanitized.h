// A case under compute-sanitizer: one launch in a worker of its own that the tool started, and what the tool wrote
// about it. The other checks are skipped, and the record says so: the tool watches a launch, nobody judges its answer.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "worker/examination.h"

namespace assay {

// compute-sanitizer: on PATH, or in the CUDA toolkit's own place. Throws UsageError.
std::filesystem::path find_compute_sanitizer();

// As examine() in examination.h, under the tool that the settings of `court` name; of the rest of it memory and
// laboratory take part. `environment` is the worker's.
Record examine_sanitized(Court court, const std::vector<std::pair<std::string, std::string>>& environment,
                         const KernelInfo& kernel, const Op& op, const Case& c);

}  // namespace assay
