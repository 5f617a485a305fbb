// Our production int8 product: y = saturate(round(scale_a scale_b / scale_y sum + zy)) with an exact 32-bit sum of
// (a - za) (b - zb). Cut up and run like gemm (gemm/plan.h); pairs-inl.h packs and multiplies, job-inl.h requantizes.
#include "common/targets.h"

// foreach_target compiles this file once an instruction set, from its line on: the order matters.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gemm_int8/simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "gemm_int8/job-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace assay::gemm_int8::HWY_NAMESPACE {

gemm::Micro choose_micro() {
  return {.isa = has_vnni() ? "AVX3 VNNI" : hwy::TargetName(HWY_TARGET),
          .rows = gemm::HWY_NAMESPACE::kMaxRows,
          .columns = int64_t(gemm::HWY_NAMESPACE::kVectors * hn::Lanes(Tag())),
          .packed = sizeof(int16_t),
          .sum = sizeof(int32_t),
          .run = has_vnni() ? &run_job<true> : &run_job<false>};
}

}  // namespace assay::gemm_int8::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "gemm/call.h"

namespace assay::gemm_int8 {
HWY_EXPORT(choose_micro);
static gemm::Micro best_micro() { return HWY_DYNAMIC_DISPATCH(choose_micro)(); }
}  // namespace assay::gemm_int8

namespace {

using assay::Call;
using assay::gemm_int8::QuantizedOperands;
using assay::gemm_int8::QuantizedPlan;

void check_dtypes(const Call& call) {
  call.in<int8_t>("a");
  call.in<int8_t>("b");
  call.out<int8_t>("y");
  for (const char* scale : {"scale_a", "scale_b", "scale_y"}) call.in<float>(scale);
}

std::shared_ptr<void> make_plan(const Call& call) {
  check_dtypes(call);
  auto plan = std::make_shared<QuantizedPlan>();
  plan->m = call.axis("m");
  plan->n = call.axis("n");
  plan->k = call.axis("k");
  plan->batch = 1;
  plan->zero_a = int(call.axis("za"));
  plan->zero_b = int(call.axis("zb"));
  plan->zero_y = int(call.axis("zy"));
  plan->a = assay::gemm::matrix(call, "a", false);
  plan->b = assay::gemm::matrix(call, "b", call.word("tb") == "t");
  plan->c = assay::gemm::matrix(call, "y", false);
  plan->micro = assay::gemm_int8::best_micro();
  finish_plan(*plan, call.threads());
  return plan;
}

assay_workspace workspace(const Call& call) { return assay::gemm::workspace_of(call.plan<QuantizedPlan>()); }

const char* launch(const Call& call) {
  using assay::gemm::address;
  QuantizedOperands operands;
  operands.a = address(call, "a");
  operands.b = address(call, "b");
  operands.c = address(call, "y");
  operands.scale_a = call.in<float>("scale_a").data();
  operands.scale_b = call.in<float>("scale_b").data();
  operands.scale_y = call.in<float>("scale_y").data();
  operands.per_channel = call.word("scales") == "channel";
  assay::gemm::run_jobs(call.plan<QuantizedPlan>(), operands, call.workspace());
  return nullptr;
}

void describe(const Call& call, const assay::Describe& emit) {
  assay::gemm::describe_plan(call.plan<QuantizedPlan>(), emit);
}

}  // namespace

// Within the domain every sum fits 32 bits: differences are within +-255, or +-128 without zero points. A thread's
// scratch is at most 504 x 256 of 2 bytes for A, 128 x 128 of 4 for B and 504 x 1024 partial sums of 4: 2.3 MiB.
ASSAY_KERNEL(gemm_int8, simd, .plan = make_plan, .workspace = workspace, .launch = launch, .describe = describe,
             .unavailable = assay::simd::no_sse4,
             .contract = {.interface_version = 1,
                          .owner = assay::simd::kOwner,
                          .domain = "dtype in i8; k <= 33025; za >= -128; za <= 127; zb >= -128; zb <= 127"
                                    " | dtype in i8; k <= 131071; za == 0; zb == 0",
                          .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART | ASSAY_SAME_THREADS | ASSAY_SAME_ALIGNMENT |
                                      ASSAY_SAME_BATCH | ASSAY_SAME_PADDING | ASSAY_SAME_LOAD | ASSAY_SAME_ORDER |
                                      ASSAY_SAME_ZEROS,
                          .arithmetic = {.accumulator = ASSAY_ACC_I32, .split_k = 1, .intermediate = ASSAY_ACC_F64},
                          .nan_policy = ASSAY_NAN_UNSPECIFIED,
                          .workspace_limit = assay::gemm::kMaxThreads * 3ull * 1024 * 1024,
                          .alignment = 1})

#endif
