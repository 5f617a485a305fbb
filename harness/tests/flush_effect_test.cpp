// A flush must be felt: the first access of an evicted line costs far more than that of a cached one. This is the only
// evidence that a "cold" measurement is cold, and it needs a clock, so it is labelled statistical.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "measure/flush.h"
#include "measure/sampler.h"

namespace assay {
namespace {

struct alignas(64) Line {
  size_t next = 0;
};

// Nanoseconds to follow the whole cycle, which no prefetcher predicts.
int64_t chase(const std::vector<Line>& lines, size_t& sink) {
  const int64_t begin = now_ns();
  size_t at = 0;
  for (size_t i = 0; i < lines.size(); ++i) at = lines[at].next;
  sink += at;
  return now_ns() - begin;
}

TEST(FlushEffect, EvictedLinesCostMoreThanTwiceCachedOnes) {
  std::vector<Line> lines(256);  // 16 KiB: fits the first level
  std::vector<size_t> order(lines.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin() + 1, order.end(), std::mt19937(7));
  for (size_t i = 0; i < order.size(); ++i) lines[order[i]].next = order[(i + 1) % order.size()];

  int64_t warm = std::numeric_limits<int64_t>::max(), cold = warm;
  size_t sink = 0;
  const AddressRange range{lines.data(), lines.size() * sizeof(Line)};
  for (int round = 0; round < 50; ++round) {
    chase(lines, sink);
    warm = std::min(warm, chase(lines, sink));
    flush_from_caches({&range, 1});
    cold = std::min(cold, chase(lines, sink));
  }
  std::cout << flush_instruction() << ": " << static_cast<double>(warm) / 256 << " ns a line cached, "
            << static_cast<double>(cold) / 256 << " ns evicted (" << sink << ")\n";
  EXPECT_GT(cold, 2 * warm);
}

}  // namespace
}  // namespace assay
