// device/: layouts and guarded mappings. Faults are seen in a forked child, for real.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "core/error.h"
#include "device/aligned_allocation.h"
#include "device/layout.h"
#include "device/memory_host.h"
#include "device/worker_device_host.h"

namespace assay {
namespace {

TensorSpec row(int64_t n, DType dtype = DType::f32) {
  return {.name = "x", .dtype = dtype, .shape = {n}, .strides = {1}};
}

// Signal that ends a child doing `action`, 0 when it survives.
int signal_of(const std::function<void()>& action) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGSEGV, SIG_DFL);
    action();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

// Gives the addresses of `given`, the last of them again and again.
struct Allocator {
  std::vector<uint64_t> given;
  std::vector<uint64_t> sizes;  // asked for
  std::vector<void*> released;

  AlignedAllocation aligned(uint64_t before, uint64_t bytes, uint64_t alignment) {
    return allocate_aligned(
        before, bytes, alignment,
        [&](uint64_t size) {
          sizes.push_back(size);
          return reinterpret_cast<void*>(given.at(std::min(sizes.size(), given.size()) - 1));
        },
        [&](void* allocated) { released.push_back(allocated); });
  }
};

// cudaMalloc aligns to 256 or 512 bytes; workspaces may want 1024.
TEST(AlignedAllocation, EndsWithItsBufferWhereverTheAllocatorMovesIt) {
  struct Row {
    uint64_t before, bytes, alignment;
    std::vector<uint64_t> given;
    uint64_t base, size;  // of the last
  };
  for (const Row& row :
       {Row{0, 100, 1024, {4096}, 4096, 100}, Row{0, 0, 1, {4096}, 4097, 1}, Row{0, 0, 1024, {4096}, 5120, 1024},
        Row{4, 0, 4, {4096}, 4096, 4}, Row{4, 100, 4, {4096}, 4096, 104}, Row{0, 100, 1024, {4608, 4608}, 5120, 612},
        Row{0, 100, 1024, {4608, 8192, 8192}, 9216, 1124}, Row{0, 100, 1024, {4864, 4352, 4352}, 5120, 868},
        Row{24, 100, 1024, {4096, 4096}, 5096, 1124}}) {
    Allocator allocator{row.given, {}, {}};
    const AlignedAllocation own = allocator.aligned(row.before, row.bytes, row.alignment);
    EXPECT_EQ(reinterpret_cast<uint64_t>(own.base), row.base);
    EXPECT_EQ((row.base + row.before) % row.alignment, 0u);
    EXPECT_EQ(reinterpret_cast<uint64_t>(own.allocated), row.given.back());
    EXPECT_EQ(allocator.sizes.back(), row.size);
    EXPECT_EQ(row.base + row.before + row.bytes, row.given.back() + row.size) << "a step beyond is one out of it";
    EXPECT_EQ(allocator.sizes.size(), row.given.size());
    EXPECT_EQ(allocator.released.size() + 1, allocator.sizes.size()) << "each but the last is given back";
  }
}

TEST(AlignedAllocation, ThatNeverEndsWithItsBufferIsAnErrorAndKeepsNothing) {
  Allocator allocator{{4352, 4608, 4864, 4352, 4608, 4864, 4352, 4608, 4864}, {}, {}};
  EXPECT_THROW(allocator.aligned(0, 100, 1024), Error);
  EXPECT_EQ(allocator.released.size(), allocator.sizes.size());
}

TEST(Layout, EndPlacementLeavesLessThanTheAlignmentBeforeTheHole) {
  for (const uint64_t alignment : {1u, 4u, 64u}) {
    for (uint64_t bytes = 0; bytes < 3 * page_size(); bytes += 4) {
      const Region r = place_region(bytes, alignment, 0, 4, Place::end);
      EXPECT_EQ(r.base % alignment, 0u);
      EXPECT_LT(r.length - (r.first + bytes), std::max<uint64_t>(alignment, 4));
      EXPECT_GE(r.first, kLeastSlack) << "a multiple of the page must keep its guard";
    }
  }
}

TEST(Layout, BarelyAlignedIsNoMultipleOfTwiceTheAlignmentAndNearTheHole) {
  for (const uint64_t alignment : {1u, 4u, 16u, 64u, 1024u}) {
    for (uint64_t bytes = 0; bytes < 3 * page_size(); bytes += 4) {
      const Region r = place_region(bytes, alignment, 0, 4, Place::barely_aligned);
      EXPECT_EQ(r.base % (2 * alignment), alignment);
      EXPECT_LT(r.length - (r.first + bytes), std::max<uint64_t>(2 * alignment, 4));
      EXPECT_GE(r.first, kLeastSlack);
    }
  }
}

TEST(Layout, StartPlacementMeetsTheHoleBelowAndKeepsSlackAbove) {
  for (uint64_t bytes = 0; bytes < 3 * page_size(); bytes += 4) {
    const Region r = place_region(bytes, 4, 0, 4, Place::start);
    EXPECT_EQ(r.first, 0u);
    EXPECT_GE(r.length - bytes, kLeastSlack);
  }
}

TEST(Layout, OffsetMisalignsTheFirstElementAndSaysSo) {
  const Region r = place_region(100, 64, 4, 4, Place::end);
  EXPECT_EQ(r.base % 64, 0u);
  EXPECT_EQ(r.first, r.base + 4);
  EXPECT_EQ(r.alignment, 4u);
  EXPECT_THROW(place_region(100, 48, 0, 4, Place::end), UsageError);
}

std::vector<Region> of_length(uint64_t length) { return {{.length = length}}; }

TEST(HostMemory, MoreThanTheMachineHasIsOneLineThatSaysHowMuch) {
  for (const uint64_t bytes : {uint64_t{1} << 50, uint64_t{1} << 62, ~uint64_t{0} - 5}) {
    HostMemory memory;
    std::vector<Region> regions = of_length(bytes);
    try {
      memory.place(regions);
      ADD_FAILURE() << bytes << " bytes were given";
    } catch (const Error& e) {
      const std::string said = e.what(), wanted = "the case needs " + std::to_string(bytes) + " bytes of memory";
      EXPECT_EQ(said.rfind(wanted, 0), 0u) << said;
    }
    regions = of_length(100);
    memory.place(regions);  // the next case goes on
    EXPECT_EQ(memory.blocks().size(), 1u);
  }
}

void give(const Memory& memory, WorkerDevice& worker) {
  for (Block block : memory.blocks()) {
    block.file = ::dup(block.file);
    worker.take(block);
  }
}

class Guarded : public ::testing::TestWithParam<Place> {};

TEST_P(Guarded, AccessesInsideSucceedAndOnePastTheHoleFaults) {
  Layout layout = lay_out({row(1000), row(0), row(1024)}, 0, 0, GetParam(), {});
  HostMemory memory;
  memory.place(layout.regions);
  HostWorkerDevice worker;
  give(memory, worker);
  const std::vector<void*> bases = worker.map(layout.regions);
  ASSERT_EQ(bases.size(), 4u);
  EXPECT_EQ(bases[3], nullptr) << "no workspace";
  for (const size_t i : {0u, 2u}) {
    auto* x = static_cast<volatile std::byte*>(bases[i]);
    const auto bytes = static_cast<int64_t>(layout.regions[i].bytes);
    EXPECT_EQ(signal_of([&] { x[0] = x[bytes - 1]; }), 0);
    const int64_t beyond = GetParam() == Place::end ? bytes : -1;
    EXPECT_EQ(signal_of([&] { (void)x[beyond]; }), SIGSEGV) << "read";
    EXPECT_EQ(signal_of([&] { x[beyond] = std::byte{1}; }), SIGSEGV) << "write";
  }
  auto* empty = static_cast<volatile std::byte*>(bases[1]);
  EXPECT_EQ(signal_of([&] { (void)empty[GetParam() == Place::end ? 0 : -1]; }), SIGSEGV) << "an empty tensor";
}
INSTANTIATE_TEST_SUITE_P(Places, Guarded, ::testing::Values(Place::end, Place::start));

TEST(HostWorkerDevice, WritesReachTheJudgesViewAndOldAddressesFaultAfterRemapping) {
  Layout layout = lay_out({row(16)}, 0, 0, Place::end, {});
  HostMemory memory;
  memory.place(layout.regions);
  HostWorkerDevice worker;
  give(memory, worker);
  auto* before = static_cast<float*>(worker.map(layout.regions)[0]);
  before[3] = 7;
  EXPECT_EQ(reinterpret_cast<float*>(memory.at(layout.regions[0]) + layout.regions[0].base)[3], 7);
  auto* after = static_cast<float*>(worker.map(layout.regions)[0]);
  EXPECT_NE(before, after);
  EXPECT_EQ(after[3], 7);
  EXPECT_EQ(signal_of([&] { *static_cast<volatile float*>(before) = 1; }), SIGSEGV);
  worker.forget(layout.regions[0].block);
  EXPECT_EQ(signal_of([&] { *static_cast<volatile float*>(after) = 1; }), SIGSEGV);
  EXPECT_THROW(worker.map(layout.regions), Error);
}

TEST(HostMemory, KnowsWhatHasMemoryBehindIt) {
  HostMemory memory;
  EXPECT_EQ(memory.host_bytes(), 0u);
  std::vector<Region> regions = of_length(uint64_t{8} << 20);
  memory.place(regions);
  EXPECT_EQ(memory.host_bytes(), 0u);
  memory.set(std::vector<Stretch>{{&regions[0], 0, uint64_t{2} << 20}});
  EXPECT_EQ(memory.host_bytes(), uint64_t{2} << 20);
}

TEST(HostMemory, CannotBeShrunkUnderTheJudge) {
  HostMemory memory;
  std::vector<Region> regions = of_length(100);
  memory.place(regions);
  const Block first = memory.blocks().at(0);
  regions = of_length(1000);
  memory.place(regions);
  EXPECT_EQ(memory.blocks().at(0).id, first.id);
  EXPECT_EQ(::ftruncate(first.file, 0), -1);
  regions = of_length(first.bytes + 1);
  memory.place(regions);
  EXPECT_NE(memory.blocks().at(0).id, first.id);
}

}  // namespace
}  // namespace assay
