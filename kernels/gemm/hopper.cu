// Our product for Hopper's matrix units: bf16, f16, and e4m3 with sums promoted to f32. Bulk copies read operands where
// they lie if their base and strides are multiples of 16 bytes; others, and layouts that the unit does not take (e4m3
// must run along K), are first laid out in the workspace, in pieces where they are large. Both ways give the same bits.
//   hopper_kernel.cuh  the kernel      tensor_map.cuh  what bulk copies read      pack.cuh  operands laid out anew
#include <type_traits>

#include "gemm/hopper_kernel.cuh"
#include "gemm/pack.cuh"
#include "gemm/tensor_map.cuh"

namespace {

using namespace assay::cuda_gemm;
using assay::Call;

constexpr int64_t kPieceBytes = int64_t{1} << 30;  // of a packed operand, at most
constexpr int64_t kWorkspaceAlignment = 1024;

// One operand: how its lines (rows of op(A), columns of op(B)) are reached.
struct Operand {
  Matrix given;
  int64_t lines = 0;
  bool packed = false;
  bool k_major = true;  // bytes of a line are contiguous
  int64_t lines_of_piece = 0, matrices_of_piece = 0;
  int64_t workspace_bytes = 0;
};

struct Plan;
using Launch = const char* (*)(const Plan&, const std::byte* a, const std::byte* b, std::byte* c, std::byte* workspace,
                               cudaStream_t stream);

struct Plan : Problem {
  Operand operand_a, operand_b;
  int multiprocessors = 1;
  bool wide_stores = false;
  int block_n = 256;
  EncodeTiled encode = nullptr;
  Launch launch = nullptr;
};

template <class T>
Operand operand(const Call& call, const char* name, const Matrix& given, int64_t lines, int64_t k, int64_t batch) {
  Operand o{.given = given, .lines = lines, .k_major = given.column_stride == 1};
  const Plane plane = o.k_major ? Plane{nullptr, lines, k, batch, given.row_stride, given.batch_stride}
                                : Plane{nullptr, k, lines, batch, given.column_stride, given.batch_stride};
  const bool readable = sizeof(T) == 2 || o.k_major;
  o.packed = !readable || !can_be_bulk_copied(plane, call.tensor(name).alignment, sizeof(T));
  if (!o.packed) return o;
  o.k_major = true;
  const int64_t line_bytes = packed_stride<T>(k) * int64_t{sizeof(T)};
  const int64_t fit = std::max<int64_t>(kPieceBytes / line_bytes / kBlockM, 1) * kBlockM;
  o.lines_of_piece = std::min(lines, fit);
  o.matrices_of_piece = std::clamp<int64_t>(fit / std::max<int64_t>(lines, 1), 1, batch);
  o.workspace_bytes = round_up(o.lines_of_piece * o.matrices_of_piece * line_bytes, kWorkspaceAlignment);
  return o;
}

// Lines `first` on of the matrices `z` on, packed if they must be.
template <class T>
Plane plane_of(const Operand& o, const std::byte* base, std::byte* workspace, int64_t first, int64_t lines, int64_t z,
               int64_t matrices, int64_t k, int blocks, cudaStream_t stream) {
  const T* from = reinterpret_cast<const T*>(base) + z * o.given.batch_stride + first * o.given.row_stride;
  if (o.packed) {
    launch_pack<T>(from, o.given, reinterpret_cast<T*>(workspace), lines, k, matrices, blocks, stream);
    return {workspace, lines, k, matrices, packed_stride<T>(k), lines * packed_stride<T>(k)};
  }
  if (o.k_major) return {from, lines, k, matrices, o.given.row_stride, o.given.batch_stride};
  return {from, k, lines, matrices, o.given.column_stride, o.given.batch_stride};
}

template <class V>
void launch_product(const Plan& plan, const Plane& a, const Plane& b, const HopperTask& task, cudaStream_t stream) {
  using In = typename V::In;
  CUtensorMap map_a{}, map_b{};
  if (task.k_blocks > 0) {
    map_a = tensor_map<In>(plan.encode, a, V::kMajorA ? kBlockM : V::kBlockK);
    map_b = tensor_map<In>(plan.encode, b, V::kMajorB ? V::kBlockN : V::kBlockK);
  }
  const int64_t tiles = task.tiles_m * task.tiles_n * task.batch;
  const auto grid = static_cast<unsigned>(std::min<int64_t>(tiles, plan.multiprocessors));
  hopper_product<V><<<grid, kThreads, V::kSharedBytes, stream>>>(map_a, map_b, task);
}

template <class V>
const char* launch_all(const Plan& plan, const std::byte* a, const std::byte* b, std::byte* c, std::byte* workspace,
                       cudaStream_t stream) {
  using In = typename V::In;
  using Out = typename V::Out;
  const Operand &oa = plan.operand_a, &ob = plan.operand_b;
  const bool multiplies = plan.depth() > 0;
  const auto piece = [](const Operand& o, int64_t all) { return o.packed ? o.lines_of_piece : all; };
  const auto matrices = [&](const Operand& o) { return o.packed ? o.matrices_of_piece : plan.batch; };
  const int64_t step_m = piece(oa, plan.m), step_n = piece(ob, plan.n), step_z = std::min(matrices(oa), matrices(ob));
  const int blocks = plan.multiprocessors;
  for (int64_t z = 0; z < plan.batch; z += step_z) {
    const int64_t count = std::min(step_z, plan.batch - z);
    for (int64_t i = 0; i < plan.m; i += step_m) {
      const int64_t rows = std::min(step_m, plan.m - i);
      Plane plane_a, plane_b;
      if (multiplies) plane_a = plane_of<In>(oa, a, workspace, i, rows, z, count, plan.k, blocks, stream);
      for (int64_t j = 0; j < plan.n; j += step_n) {
        const int64_t columns = std::min(step_n, plan.n - j);
        if (multiplies) {
          plane_b = plane_of<In>(ob, b, workspace + oa.workspace_bytes, j, columns, z, count, plan.k, blocks, stream);
        }
        const HopperTask task{.m = rows,
                              .n = columns,
                              .batch = count,
                              .tiles_m = ceil_div(rows, kBlockM),
                              .tiles_n = ceil_div(columns, V::kBlockN),
                              .k_blocks = multiplies ? int(ceil_div(plan.k, V::kBlockK)) : 0,
                              .alpha = float(plan.alpha),
                              .beta = float(plan.beta),
                              .c = reinterpret_cast<Out*>(c) + z * plan.c.batch_stride + i * plan.c.row_stride + j,
                              .c_row_stride = plan.c.row_stride,
                              .c_batch_stride = plan.c.batch_stride,
                              .wide_stores = plan.wide_stores};
        launch_product<V>(plan, plane_a, plane_b, task, stream);
      }
    }
  }
  return assay::last_launch_error();
}

template <class V>
Launch variant() {
  const cudaError_t status = cudaFuncSetAttribute(reinterpret_cast<const void*>(&hopper_product<V>),
                                                  cudaFuncAttributeMaxDynamicSharedMemorySize, V::kSharedBytes);
  if (status != cudaSuccess) throw assay::Refusal(cudaGetErrorString(status));
  return &launch_all<V>;
}

template <class T, int kBlockN>
Launch variant_of_layout(bool k_major_a, bool k_major_b) {
  if (k_major_a) {
    return k_major_b ? variant<Variant<T, T, kBlockN, true, true, false>>()
                     : variant<Variant<T, T, kBlockN, true, false, false>>();
  }
  return k_major_b ? variant<Variant<T, T, kBlockN, false, true, false>>()
                   : variant<Variant<T, T, kBlockN, false, false, false>>();
}

template <class Out>
using Fp8 = Variant<__nv_fp8_e4m3, Out, 128, true, true, true>;

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
  plan.operand_a = operand<In>(call, "a", plan.a, plan.m, plan.k, plan.batch);
  plan.operand_b = operand<In>(call, "b", plan.b, plan.n, plan.k, plan.batch);
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
  const auto multiple = [](int64_t count, int64_t stride) { return count <= 1 || stride % 8 == 0; };
  plan->wide_stores = plan->beta == 0 && call.tensor("c").alignment % 16 == 0 && plan->n % 8 == 0 &&
                      multiple(plan->m, plan->c.row_stride) && multiple(plan->batch, plan->c.batch_stride);
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

constexpr assay_contract contract_with(const assay_arithmetic& arithmetic) {
  return {.interface_version = 1,
          .owner = kOwner,
          .domain = "dtype in bf16 f16 e4m3; m <= 2147483392; n <= 2147483392; k <= 4194304; batch <= 2147483392",
          .promises = kPromises,
          .arithmetic = arithmetic,
          .nan_policy = ASSAY_NAN_PROPAGATES,
          .workspace_limit = 2 * (kPieceBytes + kWorkspaceAlignment),
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
