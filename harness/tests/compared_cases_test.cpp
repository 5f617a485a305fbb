// Which cases of a run a comparison of latencies is about, which it leaves out with a reason, and their classes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.h"
#include "gate/comparison.h"
#include "gate_fakes.h"

namespace assay {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// Records of a plan's timed cases.
class ComparedCasesTest : public ::testing::Test {
 protected:
  ComparedCasesTest() {
    for (const std::string kernel : {"first", "second"}) {
      KernelInfo info;
      info.op = "gemm";
      info.name = kernel;
      info.target = "cpu";
      plan.kernels.push_back(info);
      pairs.both["gemm/" + kernel] = {info, info, ""};
      PlannedCase planned{plan.kernels.size() - 1, ops.parse_case("gemm:m=1,n=1,dtype=f32"), "", true};
      planned.id = planned.c.kernel_id(kernel);
      plan.cases.push_back(planned);
      Record record;
      record.kernel_id = planned.id;
      record.verdict = Verdict::pass;
      record.latency = {{.metric = "warm", .p50_us = 20}, {.metric = "cold", .p50_us = 700}, {.metric = "prepare"}};
      records.push_back(record);
    }
  }
  OpRegistry ops = fake_ops();
  Plan plan;
  Pairs pairs;
  std::vector<Record> records;
};

TEST_F(ComparedCasesTest, WarmAndColdAreCasesOfTheirOwnClass) {
  const ComparedCases compared = compared_cases(plan, records, pairs, "cpu", true);
  ASSERT_THAT(compared.cases, SizeIs(4));
  EXPECT_EQ(compared.cases[0].id(), "gemm/first:m=1,n=1,dtype=f32 warm");
  EXPECT_EQ(compared.cases[0].latency_class, "cpu/warm/below-50us");
  EXPECT_EQ(compared.cases[1].latency_class, "cpu/cold/longer");
}

TEST_F(ComparedCasesTest, AKernelThatIsNotCorrectGetsNoLatencyVerdict) {
  records[0].verdict = Verdict::changed;
  const ComparedCases compared = compared_cases(plan, records, pairs, "cpu", true);
  EXPECT_THAT(compared.cases, SizeIs(2));
  ASSERT_THAT(compared.left_out, SizeIs(1));
  EXPECT_EQ(compared.left_out[0].why, "is changed: no latency of it counts");
}

TEST_F(ComparedCasesTest, WhatIsRefusedIsKeptForTheBaseToBeAsked) {
  records[0].verdict = Verdict::unsupported;
  const ComparedCases compared = compared_cases(plan, records, pairs, "cpu", true);
  EXPECT_THAT(compared.cases, SizeIs(2));
  EXPECT_THAT(compared.left_out, IsEmpty());
  ASSERT_THAT(compared.refused, SizeIs(1));
  EXPECT_EQ(compared.refused[0].kernel_id, records[0].kernel_id);
}

TEST_F(ComparedCasesTest, UnchangedKernelsAreSkippedUnlessTheyAreAskedFor) {
  pairs.both["gemm/first"].unchanged = "the same machine code";
  EXPECT_THAT(compared_cases(plan, records, pairs, "cpu", true).cases, SizeIs(2));
  EXPECT_THAT(compared_cases(plan, records, pairs, "cpu", true).unchanged, SizeIs(1));
  EXPECT_THAT(compared_cases(plan, records, pairs, "cpu", false).cases, SizeIs(4));
}

TEST_F(ComparedCasesTest, KernelsOfOneArmAloneAreNamed) {
  pairs.base_alone = {"gemm/old"};
  pairs.change_alone = {"gemm/new"};
  const ComparedCases compared = compared_cases(plan, records, pairs, "cpu", true);
  ASSERT_THAT(compared.left_out, SizeIs(2));
  EXPECT_EQ(compared.left_out[0].why, "the change has it no more");
  EXPECT_EQ(compared.left_out[1].why, "the base does not have it");
}

TEST_F(ComparedCasesTest, OfAKernelThatNeitherArmHasNothingIsKnown) {
  pairs.both.erase("gemm/second");
  EXPECT_THROW(compared_cases(plan, records, pairs, "cpu", true), Invalid);
  pairs.change_alone = {"gemm/second"};
  EXPECT_THAT(compared_cases(plan, records, pairs, "cpu", true).cases, SizeIs(2));
}

TEST(LatencyClass, SaysHowACaseIsSampled) {
  EXPECT_EQ(latency_class_of("cuda", {.metric = "cold", .p50_us = 3, .coarse = true}), "cuda/cold/coarse");
  EXPECT_EQ(latency_class_of("cpu", {.metric = "warm", .p50_us = 3, .batch = 8}), "cpu/warm/batched");
  EXPECT_EQ(latency_class_of("cpu", {.metric = "warm", .p50_us = 499}), "cpu/warm/below-500us");
}

}  // namespace
}  // namespace assay
