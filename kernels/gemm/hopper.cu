// Our product for Hopper's matrix units: bf16, f16, and e4m3 with sums promoted to f32. Bulk copies read operands where
// they lie if their base and strides are multiples of 16 bytes; others, and layouts that the unit does not take (e4m3
// must run along K), are first laid out in the workspace, in pieces where they are large. Both ways give the same bits.
//   hopper_kernel.cuh  the kernel      hopper_launch.cuh  operands, pieces and launches
//   tensor_map.cuh     what bulk copies read      pack.cuh  operands laid out anew
#include "gemm/hopper_launch.cuh"

namespace assay::cuda_gemm {

__device__ inline void convert(float x, float& y) { y = x; }
__device__ inline void convert(float x, __half& y) { y = __float2half_rn(x); }
__device__ inline void convert(float x, __nv_bfloat16& y) { y = __float2bfloat16_rn(x); }

// alpha times the sum, plus beta times what was there.
template <class Out>
struct Scaled {
  struct Row {};
  struct Columns {};
  float alpha, beta;

  __device__ Row row(int64_t) const { return {}; }
  __device__ Columns columns(int64_t) const { return {}; }
  __device__ Out quick(float sum, Row, Columns, int, const Out* old, bool&) const {
    float result = alpha * sum;
    if (old != nullptr && beta != 0) result += beta * float(*old);
    Out rounded;
    convert(result, rounded);
    return rounded;
  }
  __device__ Out precise(float, Row, Columns, int64_t) const { return Out(); }  // never asked
};

}  // namespace assay::cuda_gemm

namespace {

using namespace assay::cuda_gemm;
using assay::Call;

struct Plan;
using Launch = const char* (*)(const Plan&, const std::byte* a, const std::byte* b, std::byte* c, std::byte* workspace,
                               cudaStream_t stream);

struct Plan : HopperPlan {
  int block_n = 256;
  Launch launch = nullptr;
};

template <class V>
const char* launch_all(const Plan& plan, const std::byte* a, const std::byte* b, std::byte* c, std::byte* workspace,
                       cudaStream_t stream) {
  const typename V::Finish finish{float(plan.alpha), float(plan.beta)};
  return launch_pieces<V>(plan, a, b, c, workspace, stream, [&](int64_t, int64_t) { return finish; });
}

template <class V>
Launch variant() {
  allow_shared_memory<V>();
  return &launch_all<V>;
}

template <class T, int kBlockN>
Launch variant_of_layout(bool k_major_a, bool k_major_b) {
  if (k_major_a) {
    return k_major_b ? variant<Variant<T, T, Scaled<T>, kBlockN, true, true, false>>()
                     : variant<Variant<T, T, Scaled<T>, kBlockN, true, false, false>>();
  }
  return k_major_b ? variant<Variant<T, T, Scaled<T>, kBlockN, false, true, false>>()
                   : variant<Variant<T, T, Scaled<T>, kBlockN, false, false, false>>();
}

template <class Out>
using Fp8 = Variant<__nv_fp8_e4m3, Out, Scaled<Out>, 128, true, true, true>;

// Columns of a tile that leave the multiprocessors least work one after another. Half a tile takes more than half the
// time of a whole one, since it reads as much of A.
int best_block_n(const Problem& p, int multiprocessors) {
  const auto rounds = [&](int64_t columns) {
    return double(ceil_div(ceil_div(p.m, kBlockM) * ceil_div(p.n, columns) * p.batch, multiprocessors));
  };
  constexpr double kHalf = 0.6;
  return rounds(128) * kHalf < rounds(256) ? 128 : 256;
}

template <class In>
void plan_operands(const Call& call, Plan& plan) {
  plan.operand_a = operand<In>(call, "a", plan.a, plan.m, plan.k, plan.batch, kWorkspaceLimit / 2);
  plan.operand_b = operand<In>(call, "b", plan.b, plan.n, plan.k, plan.batch, kWorkspaceLimit / 2);
}

template <class T>
void plan_16bit(const Call& call, Plan& plan) {
  call.in<T>("a"), call.in<T>("b"), call.out<T>("c");
  plan_operands<T>(call, plan);
  plan.block_n = best_block_n(plan, plan.multiprocessors);
  const bool k_major_a = plan.operand_a.k_major, k_major_b = plan.operand_b.k_major;
  plan.launch = plan.block_n == 256 ? variant_of_layout<T, 256>(k_major_a, k_major_b)
                                    : variant_of_layout<T, 128>(k_major_a, k_major_b);
}

void plan_fp8(const Call& call, Plan& plan) {
  call.in<__nv_fp8_e4m3>("a"), call.in<__nv_fp8_e4m3>("b");
  plan_operands<__nv_fp8_e4m3>(call, plan);
  plan.block_n = 128;
  if (call.word("out") == "f32") plan.launch = (call.out<float>("c"), variant<Fp8<float>>());
  if (call.word("out") == "f16") plan.launch = (call.out<__half>("c"), variant<Fp8<__half>>());
  if (call.word("out") == "bf16") plan.launch = (call.out<__nv_bfloat16>("c"), variant<Fp8<__nv_bfloat16>>());
}

std::shared_ptr<void> make_plan(const Call& call) {
  auto plan = std::make_shared<Plan>();
  static_cast<Problem&>(*plan) = problem(call);
  plan->multiprocessors = multiprocessors();
  plan->encode = encode_tiled();
  plan->wide_stores = plan->beta == 0 && takes_wide_stores(*plan, call.tensor("c").alignment, 2);
  if (call.word("dtype") == "bf16") plan_16bit<__nv_bfloat16>(call, *plan);
  if (call.word("dtype") == "f16") plan_16bit<__half>(call, *plan);
  if (call.word("dtype") == "e4m3") plan_fp8(call, *plan);
  if (plan->launch == nullptr) throw assay::Refusal("no variant for this dtype");
  return plan;
}

assay_workspace workspace(const Call& call) {
  const Plan& plan = call.plan<Plan>();
  const auto bytes = static_cast<uint64_t>(plan.operand_a.workspace_bytes + plan.operand_b.workspace_bytes);
  return {bytes, uint64_t{kWorkspaceAlignment}, ASSAY_WORKSPACE_ANY};
}

const char* launch(const Call& call) {
  const Plan& plan = call.plan<Plan>();
  if (plan.is_empty()) return nullptr;
  return plan.launch(plan, address(call, "a"), address(call, "b"), address(call, "c"),
                     static_cast<std::byte*>(call.workspace()), call.stream());
}

void describe(const Call& call, const assay::Describe& emit) {
  const Plan& plan = call.plan<Plan>();
  const bool fp8 = call.word("dtype") == "e4m3";
  emit("algorithm", fp8 ? "wgmma m64n128k32, promoted to f32 every 128 products"
                        : "wgmma m64n" + std::to_string(plan.block_n) + "k16");
  emit("tile", "128x" + std::to_string(plan.block_n) + "x" + (fp8 ? "128" : "64"));
  emit("stages", plan.block_n == 256 ? "4" : "6");
  emit("split_k", "1");
  emit("load_a", plan.operand_a.packed ? "packed, then bulk copies" : "bulk copies");
  emit("load_b", plan.operand_b.packed ? "packed, then bulk copies" : "bulk copies");
}

const char* unavailable() { return needs_compute_capability(9, 9, "needs compute capability 9.0"); }

// k: of 16-bit operands that must be packed, a tile's lines fill half of the workspace.
constexpr assay_contract contract_with(const assay_arithmetic& arithmetic) {
  return {.interface_version = 1,
          .owner = kOwner,
          .domain = "dtype in bf16 f16 e4m3; m <= 2147483392; n <= 2147483392; k <= 524288; batch <= 2147483392",
          .promises = kPromises,
          .arithmetic = arithmetic,
          .nan_policy = ASSAY_NAN_PROPAGATES,
          .workspace_limit = kWorkspaceLimit,
          .alignment = kAlignment};
}
// Units as published; see reference/math/tensor_unit.h.
constexpr assay_contract kContract = contract_with(
    {.accumulator = ASSAY_ACC_TENSOR, .split_k = 1, .tensor_terms = 16, .tensor_fraction = 25, .tensor_precision = 23});
constexpr assay_contract kFp8 = contract_with({.accumulator = ASSAY_ACC_TENSOR,
                                               .split_k = 1,
                                               .tensor_terms = 32,
                                               .tensor_fraction = 13,
                                               .tensor_precision = 13,
                                               .tensor_promotion = 128});

const assay_contract* plan_contract(const Call& c) { return c.word("dtype") == "e4m3" ? &kFp8 : nullptr; }

}  // namespace

ASSAY_KERNEL(gemm, hopper, .target = "cuda", .plan = make_plan, .workspace = workspace, .launch = launch,
             .describe = describe, .unavailable = unavailable, .plan_contract = plan_contract, .contract = kContract)
