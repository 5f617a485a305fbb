// Our product of bf16 and f16 for matrix units since compute capability 8.0, by mma.sync: any strides and sizes. A
// block of 8 warps computes 128 x 128 elements of C over K in order; the next tiles of A and B are fetched meanwhile.
#include "common/mma.cuh"
#include "gemm/tiles.cuh"

namespace {

using namespace assay::cuda_gemm;
using assay::Call;

constexpr int kBlock = 128, kDepth = 32, kThreadsOfBlock = 256;
constexpr int kWarpRows = 64, kWarpColumns = 32, kWarpsOfRow = kBlock / kWarpColumns;
// Elements from one row of a tile to the next: no two of the eight rows that are read together share a bank.
constexpr int kPitchMajorK = kDepth + 8, kPitchMajorLine = kBlock + 8;

template <class T>
struct Task {
  Lines a, b;
  T* c;
  int64_t c_row_stride, c_batch_stride;
  float alpha, beta;
  TileGrid grid;
};

__device__ void store(float x, __half* to) { *to = __float2half_rn(x); }
__device__ void store(float x, __nv_bfloat16* to) { *to = __float2bfloat16_rn(x); }

template <class T, bool kMajorA, bool kMajorB>
__global__ void __launch_bounds__(kThreadsOfBlock) mma_product(const __grid_constant__ Task<T> task) {
  constexpr int kPitchA = kMajorA ? kPitchMajorK : kPitchMajorLine, kPitchB = kMajorB ? kPitchMajorK : kPitchMajorLine;
  constexpr int kRowsA = kMajorA ? kBlock : kDepth, kRowsB = kMajorB ? kBlock : kDepth;
  __shared__ alignas(16) uint16_t tile_a[2][kRowsA * kPitchA], tile_b[2][kRowsB * kPitchB];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / kWarpsOfRow * kWarpRows, warp_column = warp % kWarpsOfRow * kWarpColumns;
  const int64_t tiles = task.grid.rows * task.grid.columns * task.grid.batch;
  for (int64_t index = blockIdx.x; index < tiles; index += gridDim.x) {
    const TileIndex at = tile_at(task.grid, index);
    const int64_t first_row = at.row * kBlock, first_column = at.column * kBlock;
    Fetched<uint16_t, kBlock, kDepth, kThreadsOfBlock> next_a, next_b;
    float sum[kWarpRows / 16][kWarpColumns / 8][4] = {};
    const auto fetch = [&](int64_t k) {
      next_a.template fetch<kMajorA>(task.a, at.z, first_row, k);
      next_b.template fetch<kMajorB>(task.b, at.z, first_column, k);
    };
    const auto place = [&](int buffer) {
      next_a.template place<kMajorA>(tile_a[buffer], kPitchA);
      next_b.template place<kMajorB>(tile_b[buffer], kPitchB);
    };
    __syncthreads();  // the last tile of C is done with shared memory
    if (task.a.k > 0) {
      fetch(0);
      place(0);
    }
    int buffer = 0;
    for (int64_t k = 0; k < task.a.k; k += kDepth, buffer ^= 1) {
      __syncthreads();
      const bool more = k + kDepth < task.a.k;
      if (more) fetch(k + kDepth);
#pragma unroll
      for (int step = 0; step < kDepth; step += 16) {
        uint32_t b[kWarpColumns / 16][4];
#pragma unroll
        for (int j = 0; j < kWarpColumns / 16; ++j) {
          assay::mma::load_b<kMajorB>(b[j], tile_b[buffer], kPitchB, warp_column + 16 * j, step, lane);
        }
#pragma unroll
        for (int i = 0; i < kWarpRows / 16; ++i) {
          uint32_t a[4];
          assay::mma::load_a<kMajorA>(a, tile_a[buffer], kPitchA, warp_row + 16 * i, step, lane);
#pragma unroll
          for (int j = 0; j < kWarpColumns / 8; ++j) {
            assay::mma::multiply(sum[i][j], a, b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1], T{});
          }
        }
      }
      if (more) place(buffer ^ 1);
    }
    T* c = task.c + at.z * task.c_batch_stride;
#pragma unroll
    for (int i = 0; i < kWarpRows / 16; ++i) {
#pragma unroll
      for (int j = 0; j < kWarpColumns / 8; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int64_t row = first_row + warp_row + 16 * i + lane / 4 + e / 2 * 8;
          const int64_t column = first_column + warp_column + 8 * j + lane % 4 * 2 + e % 2;
          if (row >= task.a.count || column >= task.b.count) continue;
          T* to = c + row * task.c_row_stride + column;
          float result = task.alpha * sum[i][j][e];
          if (task.beta != 0) result += task.beta * float(*to);
          store(result, to);
        }
      }
    }
  }
}

struct Plan : Problem {
  Lines lines_a, lines_b;
  bool half = false;
};

std::shared_ptr<void> make_plan(const Call& call) {
  auto plan = std::make_shared<Plan>();
  static_cast<Problem&>(*plan) = problem(call);
  plan->half = call.word("dtype") == "f16";
  if (plan->half) {
    call.in<__half>("a"), call.in<__half>("b"), call.out<__half>("c");
  } else {
    call.in<__nv_bfloat16>("a"), call.in<__nv_bfloat16>("b"), call.out<__nv_bfloat16>("c");
  }
  plan->lines_a = lines(call, "a", plan->a, plan->m, plan->depth(), plan->batch, 2);
  plan->lines_b = lines(call, "b", plan->b, plan->n, plan->depth(), plan->batch, 2);
  return plan;
}

template <class T>
void launch_as(const Call& call, const Plan& plan) {
  Task<T> task{.a = plan.lines_a,
               .b = plan.lines_b,
               .c = reinterpret_cast<T*>(address(call, "c")),
               .c_row_stride = plan.c.row_stride,
               .c_batch_stride = plan.c.batch_stride,
               .alpha = float(plan.alpha),
               .beta = float(plan.beta),
               .grid = {ceil_div(plan.m, kBlock), ceil_div(plan.n, kBlock), plan.batch}};
  task.a.data = address(call, "a");
  task.b.data = address(call, "b");
  const bool a = plan.a.column_stride == 1, b = plan.b.column_stride == 1;
  const auto product = a ? (b ? mma_product<T, true, true> : mma_product<T, true, false>)
                         : (b ? mma_product<T, false, true> : mma_product<T, false, false>);
  product<<<blocks_of(task.grid), kThreadsOfBlock, 0, call.stream()>>>(task);
}

const char* launch(const Call& call) {
  const Plan& plan = call.plan<Plan>();
  if (plan.is_empty()) return nullptr;
  if (plan.half) {
    launch_as<__half>(call, plan);
  } else {
    launch_as<__nv_bfloat16>(call, plan);
  }
  return assay::last_launch_error();
}

void describe(const Call& call, const assay::Describe& emit) {
  const Plan& plan = call.plan<Plan>();
  emit("algorithm", "mma.sync m16n8k16");
  emit("tile", "128x128x32");
  emit("split_k", "1");
  emit("loads", plan.lines_a.vectors && plan.lines_b.vectors ? "16 bytes" : "single elements where not aligned");
}

const char* unavailable() { return needs_compute_capability(8, 1000, "needs compute capability 8.0"); }

}  // namespace

// The unit is declared as the least of those that run this code, that of Ampere; see reference/math/tensor_unit.h.
ASSAY_KERNEL(gemm, mma, .target = "cuda", .plan = make_plan, .launch = launch, .describe = describe,
             .unavailable = unavailable,
             .contract = {.interface_version = 1,
                          .owner = kOwner,
                          .domain = "dtype in bf16 f16",
                          .promises = kPromises,
                          .arithmetic = {.accumulator = ASSAY_ACC_TENSOR,
                                         .split_k = 1,
                                         .tensor_terms = 8,
                                         .tensor_fraction = 24,
                                         .tensor_precision = 23},
                          .nan_policy = ASSAY_NAN_PROPAGATES,
                          .workspace_limit = 0,
                          .alignment = kAlignment})
