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

// A kernel with two buffers may leak at every second launch, one with three at every third.
TEST(Gauge, WhatGrowsAgainAndAgainGrowsSteadily) {
  for (const int64_t every : {2, 3}) {
    std::vector<int64_t> values;
    for (int64_t launch = 1; launch <= 18; ++launch) values.push_back(100 + launch / every);
    EXPECT_TRUE(gauge_of(values).grows_steadily()) << every;
    values.back() = 100;
    EXPECT_FALSE(gauge_of(values).grows_steadily()) << "given back in the end";
  }
  std::vector<int64_t> alternating;
  for (int launch = 0; launch < 18; ++launch) alternating.push_back(launch % 2 == 0 ? 100 : 164);
  EXPECT_FALSE(gauge_of(alternating).grows_steadily()) << "kept for one launch and given back";
  EXPECT_FALSE(gauge_of({101, 102, 103, 104, 104, 104, 104, 104, 104, 104}).grows_steadily()) << "a beginning";
}

TEST(Gauge, WhatGrowsOnceOrIsGivenBackDoesNot) {
  EXPECT_FALSE(gauge_of({}).grows_steadily());
  EXPECT_FALSE(gauge_of({5000, 5000, 5000, 5000}).grows_steadily());
  EXPECT_FALSE(gauge_of({101, 101, 102, 102}).grows_steadily()) << "half of them are not most";
  EXPECT_FALSE(gauge_of({101, 102, 103, 100}).grows_steadily());
}

}  // namespace
}  // namespace assay
