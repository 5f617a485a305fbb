// Our production matrix product: C = alpha op(A) op(B) + beta C, row-major, batched; f64, f32, and f16 and bf16 summed
// in float. Highway SIMD with the instruction set chosen at run time, OpenMP over tiles of C.
//   plan.h         how a product is cut up            job-inl.h    one tile of C
//   micro-inl.h    the registers' part of it          pack-inl.h   operands laid out for it
#include "common/targets.h"

// foreach_target compiles this file once an instruction set, from its line on: the order matters.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gemm/simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "gemm/job-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace assay::gemm::HWY_NAMESPACE {

// Zeroed Micro for a dtype that is not ours.
Micro choose_micro(std::string_view dtype) {
  if (dtype == "f64") return micro_for<double>();
  if (dtype == "f32") return micro_for<float>();
  if (dtype == "f16") return micro_for<f16>();
  if (dtype == "bf16") return micro_for<bf16>();
  return {};
}

}  // namespace assay::gemm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "gemm/call.h"

namespace assay::gemm {
HWY_EXPORT(choose_micro);
static Micro best_micro(std::string_view dtype) { return HWY_DYNAMIC_DISPATCH(choose_micro)(dtype); }
}  // namespace assay::gemm

namespace {

using assay::Call;
using assay::gemm::address;
using assay::gemm::Plan;

template <class T>
void check_dtypes(const Call& call) {
  call.in<T>("a");
  call.in<T>("b");
  call.out<T>("c");
}

void check_dtypes_of(const Call& call) {
  if (call.word("dtype") == "f64") check_dtypes<double>(call);
  if (call.word("dtype") == "f32") check_dtypes<float>(call);
  if (call.word("dtype") == "f16") check_dtypes<assay::f16>(call);
  if (call.word("dtype") == "bf16") check_dtypes<assay::bf16>(call);
}

std::shared_ptr<void> make_plan(const Call& call) {
  check_dtypes_of(call);
  auto plan = std::make_shared<Plan>();
  plan->m = call.axis("m");
  plan->n = call.axis("n");
  plan->k = call.axis("k");
  plan->batch = call.axis("batch");
  plan->alpha = call.number("alpha");
  plan->beta = call.number("beta");
  plan->a = assay::gemm::matrix(call, "a", call.word("ta") == "t");
  plan->b = assay::gemm::matrix(call, "b", call.word("tb") == "t");
  plan->c = assay::gemm::matrix(call, "c", false);
  plan->micro = assay::gemm::best_micro(call.word("dtype"));
  if (plan->micro.run == nullptr) throw assay::Refusal("no micro-kernel for this dtype");
  finish_plan(*plan, call.threads());
  return plan;
}

const char* launch(const Call& call) {
  const assay::gemm::Operands operands{address(call, "a"), address(call, "b"), address(call, "c")};
  assay::gemm::run_jobs(call.plan<Plan>(), operands, call.workspace());
  return nullptr;
}

assay_workspace workspace(const Call& call) { return assay::gemm::workspace_of(call.plan<Plan>()); }

void describe(const Call& call, const assay::Describe& emit) { assay::gemm::describe_plan(call.plan<Plan>(), emit); }

// Depth: at most kDepth sums in registers, then one a block. A thread's scratch is at most 504 x 256 for A, 256 x 64
// for B and 504 x 1024 partial sums, of 8 bytes: 5.2 MiB.
constexpr assay_contract contract_with(int32_t accumulator) {
  return {.interface_version = 1,
          .owner = assay::simd::kOwner,
          .domain = "dtype in f64 f32 f16 bf16",
          .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART | ASSAY_SAME_THREADS | ASSAY_SAME_ALIGNMENT |
                      ASSAY_SAME_BATCH | ASSAY_SAME_PADDING | ASSAY_SAME_LOAD | ASSAY_SAME_ORDER,
          .arithmetic = {.accumulator = accumulator,
                         .depth_divisor = assay::gemm::kDepth,
                         .depth_constant = assay::gemm::kDepth,
                         .split_k = 1,
                         .exp_kind = ASSAY_EXP_NONE},
          .nan_policy = ASSAY_NAN_PROPAGATES,
          .workspace_limit = assay::gemm::kMaxThreads * 6ull * 1024 * 1024,
          .alignment = 1};
}
constexpr assay_contract kDouble = contract_with(ASSAY_ACC_F64);

const assay_contract* plan_contract(const Call& c) { return c.word("dtype") == "f64" ? &kDouble : nullptr; }

}  // namespace

ASSAY_KERNEL(gemm, simd, .plan = make_plan, .workspace = workspace, .launch = launch, .describe = describe,
             .unavailable = assay::simd::no_sse4, .plan_contract = plan_contract,
             .contract = contract_with(ASSAY_ACC_F32))

#endif
