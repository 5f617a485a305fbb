// device/ on a real GPU: memory as on the CPU, and the worker's mappings between holes. A fault spoils the process that
// makes it, so that each runs in a process of its own.
#include <gtest/gtest.h>

#include "memory_checks.h"

namespace assay {
INSTANTIATE_TEST_SUITE_P(Cuda, MemoryOf, ::testing::Values(Device::cuda));
}  // namespace assay
