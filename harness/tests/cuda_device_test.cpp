// device/ on a real GPU: memory as on the CPU, and the worker's mappings between holes. A fault spoils the process that
// makes it, so that each runs in a process of its own.
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <utility>
#include <vector>

#include "device/worker_device.h"
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

TEST(CudaWorkerDevice, KeepsAddressesWhereTheBlocksAreTheSameAndIsAskedTo) {
  const std::unique_ptr<Memory> memory = make_memory(Device::cuda);
  const std::unique_ptr<WorkerDevice> worker = make_worker_device(Device::cuda);
  std::vector<Region> regions{place_region(100, 64, 0, 1, Place::end, memory->granularity()),
                              place_region(3, 64, 0, 1, Place::end, memory->granularity())};
  memory->place(regions);
  for (const Block& block : memory->blocks()) worker->take({block.id, block.bytes, ::dup(block.file)});
  const std::vector<void*> first = worker->map(regions, Addresses::kept);
  EXPECT_EQ(worker->map(regions, Addresses::kept), first);
  std::vector<Region> elsewhere = regions;
  elsewhere[0].base = 0;
  EXPECT_EQ(worker->map(elsewhere, Addresses::kept)[0], static_cast<std::byte*>(first[0]) - regions[0].base);
  const std::vector<void*> fresh = worker->map(regions, Addresses::fresh);
  EXPECT_NE(fresh[0], first[0]);
  EXPECT_NE(fresh[1], first[1]);
  std::swap(regions[0].block, regions[1].block);
  EXPECT_NE(worker->map(regions, Addresses::kept)[0], fresh[0]);
}

}  // namespace
}  // namespace assay
