// What every Memory does, whatever the device: instantiated for the CPU in memory_test.cpp, for a GPU in
// cuda_device_test.cpp.
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "core/error.h"
#include "device/memory.h"

namespace assay {

using Bytes = std::vector<std::byte>;

class MemoryOf : public ::testing::TestWithParam<Device> {
 protected:
  // One region for `bytes`, `offset` from its aligned base.
  Region place(uint64_t bytes, uint64_t offset = 0) {
    regions_ = {place_region(bytes, 64, offset, 1, Place::end, memory_->granularity())};
    memory_->place(regions_);
    return regions_[0];
  }
  Bytes content(const Region& region, uint64_t begin, uint64_t end) {
    Bytes bytes(end - begin);
    memory_->read(region, begin, bytes);
    return bytes;
  }
  static Bytes random_bytes(uint64_t count) {
    std::mt19937_64 random(20);
    Bytes bytes(count);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    return bytes;
  }
  static std::array<std::byte, 8> period() {
    std::array<std::byte, 8> p;
    for (size_t i = 0; i < 8; ++i) p[i] = static_cast<std::byte>(0xa0 + i);
    return p;
  }

  std::unique_ptr<Memory> memory_ = make_memory(GetParam());
  std::vector<Region> regions_;
};

TEST_P(MemoryOf, PeriodsKeepStepWithTheRegionWhereverAStretchBegins) {
  const Region region = place(1000);
  for (const auto& [begin, end] :
       {std::pair{0u, 1u}, {3u, 3u}, {5u, 12u}, {7u, 8u}, {8u, 64u}, {1u, 333u}, {17u, 31u}}) {
    const Stretch all{&region, 0, region.length};
    const Stretch part{&region, begin, end, period()};
    memory_->set(std::vector<Stretch>{all});
    memory_->set(std::vector<Stretch>{part});
    const Bytes got = content(region, 0, 400);
    for (uint64_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i], i >= begin && i < end ? period()[i % 8] : std::byte{0}) << i << " of " << begin << ".." << end;
    }
    EXPECT_EQ(memory_->compare(std::vector<Stretch>{part})[0].count, 0u);
    EXPECT_EQ(memory_->compare(std::vector<Stretch>{all})[0].count, end - begin);
  }
}

TEST_P(MemoryOf, KeptContentIsRestoredAndComparedAtAnyAlignment) {
  for (const uint64_t offset : {0u, 1u, 2u, 4u, 8u, 15u}) {
    const Region region = place(100'003, offset);
    const Bytes bytes = random_bytes(region.bytes);
    memory_->keep(4, region, bytes);
    const Stretch inside{&region, region.first, region.first + region.bytes, {}, 4};
    memory_->set(std::vector<Stretch>{{&region, 0, region.length}});
    EXPECT_GT(memory_->compare(std::vector<Stretch>{inside})[0].count, 90'000u);
    memory_->set(std::vector<Stretch>{inside});
    EXPECT_EQ(content(region, region.first, region.first + region.bytes), bytes);
    EXPECT_EQ(memory_->compare(std::vector<Stretch>{inside})[0].count, 0u);
    const Bytes around = content(region, region.first - 8, region.first);
    EXPECT_EQ(around, Bytes(8)) << "bytes before were touched";
  }
}

TEST_P(MemoryOf, EveryFlippedByteIsCountedAndTheLowestAndHighestNamed) {
  const Region region = place(70'001);
  const Bytes bytes = random_bytes(region.bytes);
  const uint64_t last = region.first + region.bytes - 1;
  for (const auto& flips : {std::vector{region.first}, {last}, {region.first + 77, region.first + 78, last - 5}}) {
    Bytes changed = bytes;
    for (const uint64_t at : flips) changed[at - region.first] ^= std::byte{1};
    memory_->keep(0, region, bytes);
    memory_->keep(1, region, changed);
    const Stretch wanted{&region, region.first, last + 1, {}, 0};
    Stretch held = wanted;
    held.kept = 1;
    memory_->set(std::vector<Stretch>{held});
    const Mismatch found = memory_->compare(std::vector<Stretch>{wanted})[0];
    EXPECT_EQ(found.count, flips.size());
    EXPECT_EQ(found.first, flips.front());
    EXPECT_EQ(found.last, flips.back());
  }
}

TEST_P(MemoryOf, ManyRegionsAndStretchesAtOnce) {
  for (int i = 0; i < 50; ++i) regions_.push_back(place_region(64, 64, 0, 1, Place::end, memory_->granularity()));
  memory_->place(regions_);
  std::vector<Stretch> stretches;
  for (size_t i = 0; i < regions_.size(); ++i) {
    stretches.push_back({&regions_[i], 0, regions_[i].length});
    stretches.back().period.fill(static_cast<std::byte>(i));
  }
  memory_->set(stretches);
  for (const Mismatch& m : memory_->compare(stretches)) EXPECT_EQ(m.count, 0u);
  std::swap(stretches[40].region, stretches[41].region);
  const std::vector<Mismatch> swapped = memory_->compare(stretches);
  for (size_t i = 0; i < swapped.size(); ++i) EXPECT_EQ(swapped[i].count > 0, i == 40 || i == 41) << i;
}

TEST_P(MemoryOf, WhatWasNotKeptCannotBeSet) {
  const Region region = place(100);
  memory_->keep(0, region, Bytes(100));
  EXPECT_THROW(memory_->set(std::vector<Stretch>{{&region, region.first, region.first + 101, {}, 0}}), Error);
  EXPECT_THROW(memory_->set(std::vector<Stretch>{{&region, region.first - 1, region.first, {}, 0}}), Error);
}

}  // namespace assay
