// device/memory.h on the CPU.
#include "memory_checks.h"

namespace assay {
INSTANTIATE_TEST_SUITE_P(Cpu, MemoryOf, ::testing::Values(Device::cpu));
}  // namespace assay
