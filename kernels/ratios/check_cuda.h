// Whether CUDA kernels compute what they promise, without judge and workers: a quick look while a kernel is written.
// The gate's verdict is `assay check --device cuda`.
#pragma once

#include <filesystem>
#include <string>

#include "core/op.h"

namespace assay::ratios {

// Runs the kernel on every case of the op's tier whose id contains `filter`: each element against the oracle's
// enclosure, every byte that is not an output's unchanged, and the same bytes again in a second launch and, where
// promised, for buffers elsewhere, padded rows and the first row alone. Prints what fails and a line of totals; returns
// the number of failures.
int check_kernel(const Op& op, const std::string& kernel, Tier tier, const std::string& filter,
                 const std::filesystem::path& modules, int threads);

}  // namespace assay::ratios
