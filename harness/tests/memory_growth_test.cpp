#include "worker/memory_growth.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

Gauge gauge_of(const std::vector<int64_t>& values) {
  Gauge gauge(100);
  for (const int64_t value : values) gauge.add(value);
  return gauge;
}

TEST(Gauge, WhatGrowsAtMostLaunchesGrowsSteadily) {
  EXPECT_TRUE(gauge_of({101, 102, 103, 104}).grows_steadily());
  EXPECT_TRUE(gauge_of({101, 101, 102, 103}).grows_steadily());
  EXPECT_EQ(gauge_of({101, 101, 102, 103}).grown(), 3);
}

TEST(Gauge, WhatGrowsOnceOrIsGivenBackDoesNot) {
  EXPECT_FALSE(gauge_of({}).grows_steadily());
  EXPECT_FALSE(gauge_of({5000, 5000, 5000, 5000}).grows_steadily());
  EXPECT_FALSE(gauge_of({101, 101, 102, 102}).grows_steadily()) << "half of them are not most";
  EXPECT_FALSE(gauge_of({101, 102, 103, 100}).grows_steadily());
}

}  // namespace
}  // namespace assay
