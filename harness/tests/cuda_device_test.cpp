// device/ on a real GPU: memory as on the CPU, and the worker's mappings between holes. A fault spoils the process that
// makes it, so that each runs in a process of its own.
#include <gtest/gtest.h>

#include "memory_checks.h"

namespace assay {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, MemoryOf, ::testing::Values(Device::cuda));

TEST(CudaMemory, MoreThanTheGpuHasIsOneLineAndTheNextCaseGoesOn) {
  const std::unique_ptr<Memory> memory = make_memory(Device::cuda);
  int asked = 0;
  memory->on_shortage = [&] { ++asked; };
  std::vector<Region> regions{{.length = uint64_t{1} << 42}};
  try {
    memory->place(regions);
    FAIL() << "4 TiB were given";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("more than this GPU gives"), std::string::npos) << e.what();
  }
  EXPECT_EQ(asked, 1);
  regions = {place_region(100, 64, 0, 1, Place::end, memory->granularity())};
  memory->place(regions);
  memory->set(std::vector<Stretch>{{&regions[0], 0, regions[0].length}});
  EXPECT_EQ(memory->compare(std::vector<Stretch>{{&regions[0], 0, regions[0].length}})[0].count, 0u);
}

}  // namespace
}  // namespace assay
