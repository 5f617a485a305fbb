// How kernel_ratios chooses its array sizes: what it reads from /sys and /proc, and what it makes of it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "ratios/sizes.h"

namespace assay::ratios {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;

class Machine : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(::testing::TempDir()) /
            (std::string("ratio_sizes_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  void cache(int cpu, int index, const std::string& level, const std::string& type, const std::string& size,
             const std::string& shared_by) const {
    const fs::path at = fs::path("sys/devices/system/cpu") / ("cpu" + std::to_string(cpu)) / "cache" /
                        ("index" + std::to_string(index));
    write(at / "level", level + "\n");
    write(at / "type", type + "\n");
    write(at / "size", size + "\n");
    write(at / "shared_cpu_list", shared_by + "\n");
  }

  fs::path root_;
};

TEST_F(Machine, ASharedCacheCountsOnceAndLowerLevelsDoNot) {
  for (int cpu : {0, 1}) {
    cache(cpu, 0, "1", "Data", "48K", std::to_string(cpu));
    cache(cpu, 1, "1", "Instruction", "64K", std::to_string(cpu));
    cache(cpu, 2, "2", "Unified", "2048K", std::to_string(cpu));
    cache(cpu, 3, "3", "Unified", "491520K", "0-1");
  }
  EXPECT_EQ(last_level_cache_bytes(root_), 480 * kMiB);
}

TEST_F(Machine, CachesOfSeveralSocketsAdd) {
  cache(0, 3, "3", "Unified", "32M", "0-7");
  cache(8, 3, "3", "Unified", "16384K", "8-15");
  EXPECT_EQ(last_level_cache_bytes(root_), 48 * kMiB);
}

TEST_F(Machine, WithoutAThirdLevelTheSecondsAdd) {
  for (int cpu : {0, 1}) {
    cache(cpu, 0, "1", "Data", "32K", std::to_string(cpu));
    cache(cpu, 1, "2", "Unified", "1024K", std::to_string(cpu));
  }
  EXPECT_EQ(last_level_cache_bytes(root_), 2 * kMiB);
}

TEST_F(Machine, ArraysOfTheLevelTwoCachesFitTheSmallestOfThem) {
  EXPECT_EQ(level_two_cache_bytes(root_), std::nullopt);
  cache(0, 1, "1", "Data", "32K", "0");
  EXPECT_EQ(level_two_cache_bytes(root_), std::nullopt);
  cache(0, 2, "2", "Unified", "3072K", "0");
  cache(1, 2, "2", "Unified", "1536K", "1");
  cache(0, 3, "3", "Unified", "32M", "0-1");
  EXPECT_EQ(level_two_cache_bytes(root_), 1536 << 10);
  EXPECT_EQ(core_array_bytes(1536 << 10, 2), 512 << 10);  // three arrays, half of the caches of two processors
  EXPECT_LE(core_array_bytes(std::nullopt, 1), core_array_bytes(256 << 10, 1));
}

TEST_F(Machine, WhatCannotBeReadIsUnknownNotZero) {
  EXPECT_EQ(last_level_cache_bytes(root_), std::nullopt);
  EXPECT_EQ(available_memory_bytes(root_), std::nullopt);
  cache(0, 3, "3", "Unified", "lots", "0");
  cache(0, 4, "3", "Unified", "0K", "0");
  cache(0, 5, "", "Unified", "1024K", "0");
  cache(0, 6, "3", "Instruction", "1024K", "0");
  cache(0, 7, "3", "Unified", "1024X", "0");
  write("sys/devices/system/cpu/cpufreq/cache/index0/level", "9");
  EXPECT_EQ(last_level_cache_bytes(root_), std::nullopt);
  for (const char* line :
       {"MemAvailable:\n", "MemAvailable:   many kB\n", "MemAvailable: 12 MB\n", "MemFree: 12 kB\n"}) {
    write("proc/meminfo", line);
    EXPECT_EQ(available_memory_bytes(root_), std::nullopt) << line;
  }
}

TEST_F(Machine, AvailableMemory) {
  write("proc/meminfo", "MemTotal:       24684084 kB\nMemFree:        21847780 kB\nMemAvailable:   23436700 kB\n");
  EXPECT_EQ(available_memory_bytes(root_), uint64_t{23436700} << 10);
}

TEST(MemoryArraySize, FollowsTheRuleOfStreamWhereMemoryAllows) {
  const ArraySize size = memory_array_size(32 * kMiB, 64 * kGiB);
  EXPECT_EQ(size.bytes, 128 * kMiB);
  EXPECT_EQ(size.justification, "arrays of 128 MiB, 4 times the last-level cache (32 MiB): beyond it");
}

TEST(MemoryArraySize, SaysSoWhereMemoryDoesNotAllowTheRule) {
  const ArraySize size = memory_array_size(480 * kMiB, 6 * kGiB);
  EXPECT_EQ(size.bytes, kGiB);
  EXPECT_EQ(size.justification,
            "arrays of 1024 MiB, 2.1 times the last-level cache (480 MiB): NOT beyond it, STREAM asks for 4 times and "
            "available memory does not allow them");
  // All arrays of a case fit half of what is available, however little that is.
  for (const uint64_t available : {uint64_t{0}, kMiB, 100 * kMiB, 6 * kGiB, 1000 * kGiB}) {
    const uint64_t bytes = memory_array_size(480 * kMiB, available).bytes;
    EXPECT_GE(bytes, 4096u);
    EXPECT_LE(kMostArrays * bytes, std::max<uint64_t>(available / 2, kMostArrays * 4096));
  }
}

TEST(MemoryArraySize, ClaimsNothingOfAnUnknownCache) {
  EXPECT_EQ(memory_array_size(std::nullopt, 64 * kGiB).justification,
            "arrays of 1024 MiB, last-level cache unknown: NOT known to be beyond it");
  EXPECT_LE(memory_array_size(32 * kMiB, std::nullopt).bytes, 128 * kMiB);
}

TEST(CacheArraySize, TwoArraysAreAQuarterOfTheCache) {
  EXPECT_EQ(cache_array_size(480 * kMiB).bytes, 60 * kMiB);
  EXPECT_EQ(cache_array_size(480 * kMiB).justification,
            "arrays of 60 MiB, an eighth of the last-level cache (480 MiB): within it");
  EXPECT_EQ(cache_array_size(std::nullopt).justification,
            "arrays of 32 MiB, last-level cache unknown: NOT known to be within it");
}

}  // namespace
}  // namespace assay::ratios
