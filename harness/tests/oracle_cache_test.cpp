// The cache of oracle results: what a folder gives back, and that no run of cases makes it hold more than it may.
#include "worker/oracle_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "oracle_problem.h"
#include "scratch.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

class OracleCacheTest : public ::testing::Test {
 protected:
  References get(OracleCache& cache, int n) {
    const testing::Problem problem(reduce,
                                   ops.parse_case("reduce:kind=sum,inner=64,n=" + std::to_string(n) + ",dtype=f32"));
    return cache.get(reduce, problem.c, 1, 1, [&] {
      ++computed;
      return problem.views;
    });
  }
  const OpRegistry ops = make_op_registry();
  const Op& reduce = ops.named("reduce");
  Scratch scratch;
  int computed = 0;
};

TEST_F(OracleCacheTest, HoldsNoMoreThanItMayWhetherItComputesOrReads) {
  constexpr int kCases = 20;
  uint64_t one = 0;
  {
    OracleCache whole(scratch.path, "build");
    get(whole, 1);
    one = whole.bytes();
    for (int n = 2; n <= kCases; ++n) get(whole, n);
    EXPECT_EQ(whole.bytes(), kCases * one);
  }
  EXPECT_EQ(computed, kCases);
  for (const fs::path& folder : {scratch.path, fs::path()}) {  // read from the folder, and computed
    OracleCache small(folder, "build", 3 * one);
    for (int n = 1; n <= kCases; ++n) get(small, n);
    EXPECT_EQ(small.bytes(), 3 * one);
    EXPECT_NE(get(small, 1), nullptr);
  }
  EXPECT_EQ(computed, 2 * kCases + 1);
}

TEST_F(OracleCacheTest, WhatIsDamagedOrOfAnotherBuildIsComputedAgain) {
  OracleCache first(scratch.path, "build");
  const References before = get(first, 5);
  OracleCache again(scratch.path, "build");
  EXPECT_EQ(get(again, 5)->at(0).hi, before->at(0).hi);
  EXPECT_EQ(computed, 1);
  OracleCache other(scratch.path, "another");
  get(other, 5);
  EXPECT_EQ(computed, 2);
  for (const fs::directory_entry& file : fs::directory_iterator(scratch.path)) {
    std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(-1, std::ios::end);
    bytes.put('\x55');
  }
  OracleCache damaged(scratch.path, "build");
  EXPECT_EQ(get(damaged, 5)->at(0).hi, before->at(0).hi);
  EXPECT_EQ(computed, 3);
}

}  // namespace
}  // namespace assay
