// device/: layouts and guarded mappings. Faults are seen in a forked child, for real.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "core/error.h"
#include "device/arena.h"
#include "device/layout.h"
#include "device/mapping.h"

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

TEST(Arena, MoreThanTheMachineHasIsOneLineThatSaysHowMuch) {
  for (const uint64_t bytes : {uint64_t{1} << 50, uint64_t{1} << 62, ~uint64_t{0} - 5}) {
    Arena arena;
    try {
      arena.reserve(bytes);
      ADD_FAILURE() << bytes << " bytes were given";
    } catch (const Error& e) {
      const std::string said = e.what(), wanted = "the case needs " + std::to_string(bytes) + " bytes of memory";
      EXPECT_EQ(said.rfind(wanted, 0), 0u) << said;
    }
    EXPECT_TRUE(arena.reserve(100));  // the next case goes on
  }
}

class Guarded : public ::testing::TestWithParam<Place> {};

TEST_P(Guarded, AccessesInsideSucceedAndOnePastTheHoleFaults) {
  const Layout layout = lay_out({row(1000), row(0), row(1024)}, 0, 0, GetParam(), {});
  Arena arena;
  arena.reserve(layout.total);
  Mapping mapping;
  const std::vector<void*> bases = mapping.map(arena.file(), layout.regions);
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

TEST(Mapping, WritesReachTheJudgesViewAndOldAddressesFaultAfterRemapping) {
  const Layout layout = lay_out({row(16)}, 0, 0, Place::end, {});
  Arena arena;
  arena.reserve(layout.total);
  Mapping mapping;
  auto* before = static_cast<float*>(mapping.map(arena.file(), layout.regions)[0]);
  before[3] = 7;
  EXPECT_EQ(reinterpret_cast<float*>(arena.data() + layout.regions[0].base)[3], 7);
  auto* after = static_cast<float*>(mapping.map(arena.file(), layout.regions)[0]);
  EXPECT_NE(before, after);
  EXPECT_EQ(after[3], 7);
  EXPECT_EQ(signal_of([&] { *static_cast<volatile float*>(before) = 1; }), SIGSEGV);
}

TEST(Arena, KnowsWhatHasMemoryBehindIt) {
  Arena arena;
  EXPECT_EQ(arena.resident(), 0u);
  arena.reserve(uint64_t{8} << 20);
  EXPECT_EQ(arena.resident(), 0u);
  std::memset(arena.data(), 1, size_t{2} << 20);
  EXPECT_EQ(arena.resident(), uint64_t{2} << 20);
}

TEST(Arena, CannotBeShrunkUnderTheJudge) {
  Arena arena;
  EXPECT_TRUE(arena.reserve(100));
  EXPECT_FALSE(arena.reserve(1000));
  EXPECT_EQ(::ftruncate(arena.file(), 0), -1);
  EXPECT_TRUE(arena.reserve(arena.size() + 1));
}

}  // namespace
}  // namespace assay
