// The host's part of the Hopper products: which operands are read where they lie and which are packed first, the tensor
// maps, and one launch a piece. Shared by gemm and gemm_int8.
#ifndef ASSAY_KERNELS_GEMM_HOPPER_LAUNCH_CUH
#define ASSAY_KERNELS_GEMM_HOPPER_LAUNCH_CUH

#include "gemm/hopper_kernel.cuh"
#include "gemm/pack.cuh"
#include "gemm/tensor_map.cuh"

namespace assay::cuda_gemm {

inline constexpr int64_t kWorkspaceLimit = int64_t{256} << 20;  // what both packed operands and all else share
inline constexpr int64_t kWorkspaceAlignment = 1024;

// One operand: how its lines (rows of op(A), columns of op(B)) are reached.
struct Operand {
  Matrix given;
  bool packed = false;
  bool vectors = false;  // base and strides are multiples of 16 bytes
  bool k_major = true;   // bytes of a line are contiguous
  int64_t lines_of_piece = 0, matrices_of_piece = 0;
  int64_t workspace_bytes = 0;
};

struct HopperPlan : Problem {
  Operand operand_a, operand_b;
  int multiprocessors = 1;
  bool wide_stores = false;
  EncodeTiled encode = nullptr;
};

// `piece_bytes`, a multiple of kWorkspaceAlignment, are packed at a time at most. The contract's domain keeps k such
// that kBlockM lines fit.
template <class T>
Operand operand(const Call& call, const char* name, const Matrix& given, int64_t lines, int64_t k, int64_t batch,
                int64_t piece_bytes) {
  Operand o{.given = given, .k_major = given.column_stride == 1};
  const Plane plane = o.k_major ? Plane{nullptr, lines, k, batch, given.row_stride, given.batch_stride}
                                : Plane{nullptr, k, lines, batch, given.column_stride, given.batch_stride};
  const bool readable = sizeof(T) == 2 || o.k_major;  // of 1-byte types the unit takes lines along K alone
  o.vectors = can_be_bulk_copied(plane, call.tensor(name).alignment, sizeof(T));
  o.packed = !readable || !o.vectors;
  if (!o.packed) return o;
  o.k_major = true;
  const int64_t line_bytes = packed_stride<T>(k) * int64_t{sizeof(T)};
  const int64_t fit = piece_bytes / line_bytes / kBlockM * kBlockM;
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
    launch_pack<T>(from, o.given, o.vectors, reinterpret_cast<T*>(workspace), lines, k, matrices, blocks, stream);
    return {workspace, lines, k, matrices, packed_stride<T>(k), lines * packed_stride<T>(k)};
  }
  if (o.k_major) return {from, lines, k, matrices, o.given.row_stride, o.given.batch_stride};
  return {from, k, lines, matrices, o.given.column_stride, o.given.batch_stride};
}

template <class V>
void launch_product(const HopperPlan& plan, const Plane& a, const Plane& b, const HopperTask<V>& task,
                    cudaStream_t stream) {
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

// What launch needs raised beforehand. Throws Refusal.
template <class V>
void allow_shared_memory() {
  const cudaError_t status = cudaFuncSetAttribute(reinterpret_cast<const void*>(&hopper_product<V>),
                                                  cudaFuncAttributeMaxDynamicSharedMemorySize, V::kSharedBytes);
  if (status != cudaSuccess) throw Refusal(cudaGetErrorString(status));
}

// The whole product, in one piece unless packed operands are large. finish_at(i, j) is the Finish of the piece whose
// first element is C's (i, j).
template <class V, class FinishAt>
const char* launch_pieces(const HopperPlan& plan, const std::byte* a, const std::byte* b, std::byte* c,
                          std::byte* workspace, cudaStream_t stream, const FinishAt& finish_at) {
  using In = typename V::In;
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
        auto* first = reinterpret_cast<typename V::Out*>(c) + z * plan.c.batch_stride + i * plan.c.row_stride + j;
        const HopperTask<V> task{.m = rows,
                                 .n = columns,
                                 .batch = count,
                                 .tiles_m = ceil_div(rows, kBlockM),
                                 .tiles_n = ceil_div(columns, V::kBlockN),
                                 .k_blocks = multiplies ? int(ceil_div(plan.k, V::kBlockK)) : 0,
                                 .finish = finish_at(i, j),
                                 .c = first,
                                 .c_row_stride = plan.c.row_stride,
                                 .c_batch_stride = plan.c.batch_stride,
                                 .wide_stores = plan.wide_stores};
        launch_product<V>(plan, plane_a, plane_b, task, stream);
      }
    }
  }
  return last_launch_error();
}

// Whether rows of C take 16-byte stores.
inline bool takes_wide_stores(const HopperPlan& plan, uint64_t alignment, int64_t element_bytes) {
  const int64_t elements = 16 / element_bytes;
  const auto multiple = [&](int64_t count, int64_t stride) { return count <= 1 || stride % elements == 0; };
  return alignment % 16 == 0 && plan.n % elements == 0 && multiple(plan.m, plan.c.row_stride) &&
         multiple(plan.batch, plan.c.batch_stride);
}

}  // namespace assay::cuda_gemm
#endif
