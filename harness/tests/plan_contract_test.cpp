// worker/plan_contract.h: what the contract of a plan may say, and what it takes back.
#include "worker/plan_contract.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(PlanContract, MayPromiseMoreAndTakesBackNothing) {
  const Contract kernel{
      .promises = ASSAY_SAME_RUN | ASSAY_SAME_THREADS, .nan_policy = ASSAY_NAN_PROPAGATES, .workspace_limit = 64};
  const auto taken = [&](const auto& change) {
    Contract plan = kernel;
    change(plan);
    return taken_back(kernel, plan);
  };
  EXPECT_EQ(taken([](Contract& plan) {
              plan.promises |= ASSAY_SAME_BATCH;
              plan.workspace_limit = 32;
              plan.arithmetic.accumulator = ASSAY_ACC_F64;
              plan.domain = "m <= 3";
            }),
            "");
  EXPECT_EQ(taken([](Contract& plan) { plan.promises = ASSAY_SAME_RUN | ASSAY_SAME_BATCH; }), "same-threads");
  EXPECT_EQ(taken([](Contract& plan) { plan.promises = 0; }), "same-run, same-threads");
  EXPECT_EQ(taken([](Contract& plan) { plan.nan_policy = ASSAY_NAN_UNSPECIFIED; }), "that NaN propagates");
  EXPECT_EQ(taken([](Contract& plan) { plan.workspace_limit = 65; }), "the workspace limit of 64 bytes");
  EXPECT_EQ(taken([](Contract& plan) { plan.may_allocate = true; }), "that launch does not allocate");
  EXPECT_EQ(taken([](Contract& plan) { plan.may_fall_back = true; }), "that it does not fall back");
}

TEST(PlanContract, MayForbidWhatTheKernelsAllows) {
  const Contract kernel{
      .nan_policy = ASSAY_NAN_UNSPECIFIED, .workspace_limit = 64, .may_fall_back = true, .may_allocate = true};
  EXPECT_EQ(taken_back(kernel, kernel), "");
  EXPECT_EQ(taken_back(kernel, {.promises = ASSAY_SAME_RUN}), "");
}

TEST(PlanContract, SaysWhereItsArithmeticMayErrMore) {
  const Contract kernel{.promises = ASSAY_SAME_RUN,
                        .arithmetic = {.accumulator = ASSAY_ACC_F32, .depth_divisor = 32, .depth_constant = 8}};
  const auto told = [&](const auto& change) {
    Contract plan = kernel;
    change(plan);
    return looser_arithmetic(kernel, plan);
  };
  EXPECT_EQ(told([](Contract&) {}), "");
  EXPECT_EQ(told([](Contract& plan) { plan.arithmetic.accumulator = ASSAY_ACC_F64; }), "");
  EXPECT_EQ(told([](Contract& plan) { plan.arithmetic.depth_constant = 4; }), "");
  EXPECT_EQ(told([](Contract& plan) { plan.promises = 0; }), "") << "which is taken_back()'s";
  EXPECT_EQ(told([](Contract& plan) {
              plan.arithmetic.accumulator = ASSAY_ACC_F16;
              plan.arithmetic.depth_divisor = 0;
            }),
            "this plan's contract may allow more error than the kernel's: accumulator: was f32, now f16; depth: was "
            "n/32 + 8, now unknown");
}

}  // namespace
}  // namespace assay
