// Our product on CUDA cores: f32 by fused multiply-adds in f32 (no TF32) and f64 in f64, any strides and sizes. Each
// thread sums kThreadRows x kThreadColumns elements of C over K in order, from tiles of A and B in shared memory; the
// next tiles are fetched meanwhile.
#include "gemm/tiles.cuh"

namespace {

using namespace assay::cuda_gemm;
using assay::Call;

template <class T>
struct Shape;  // rows and columns of C a block; products of a tile; elements of C a thread, a side
template <>
struct Shape<float> {
  static constexpr int kBlock = 128, kDepth = 16, kSide = 8;
};
template <>
struct Shape<double> {
  static constexpr int kBlock = 64, kDepth = 16, kSide = 4;
};
constexpr int kThreadsOfSide = 16, kThreadsOfBlock = kThreadsOfSide * kThreadsOfSide;

template <class T>
struct Task {
  Lines a, b;
  T* c;
  int64_t c_row_stride, c_batch_stride;
  T alpha, beta;
  TileGrid grid;
};

// Tiles are kept [k][line], whichever way they come, so that a thread reads its lines 16 bytes at a time.
template <class T, bool kAlongK>
__device__ void place(const Fetched<T, Shape<T>::kBlock, Shape<T>::kDepth, kThreadsOfBlock>& fetched, T* tile,
                      int pitch) {
  using F = Fetched<T, Shape<T>::kBlock, Shape<T>::kDepth, kThreadsOfBlock>;
  if constexpr (!kAlongK) {
    fetched.template place<false>(tile, pitch);
  } else {
#pragma unroll
    for (int i = 0; i < F::kVectors; ++i) {
#pragma unroll
      for (int e = 0; e < F::kWidth; ++e) {
        tile[(F::template column<true>(i) + e) * pitch + F::template row<true>(i)] = fetched.vector[i].element[e];
      }
    }
  }
}

// This thread's lines of a tile come in groups of 16 bytes, so that a warp's reads lie side by side.
template <class T>
__device__ int own_line(int i, int thread) {
  constexpr int kWidth = 16 / int(sizeof(T));
  return i / kWidth * kWidth * kThreadsOfSide + thread * kWidth + i % kWidth;
}

template <class T, bool kAlongKA, bool kAlongKB>
__global__ void __launch_bounds__(kThreadsOfBlock) simt_product(const __grid_constant__ Task<T> task) {
  using S = Shape<T>;
  constexpr int kWidth = 16 / int(sizeof(T)), kPitch = S::kBlock + kWidth;
  __shared__ alignas(16) T tile_a[2][S::kDepth * kPitch], tile_b[2][S::kDepth * kPitch];
  const int thread_row = threadIdx.x / kThreadsOfSide, thread_column = threadIdx.x % kThreadsOfSide;
  const int64_t tiles = task.grid.rows * task.grid.columns * task.grid.batch;
  for (int64_t index = blockIdx.x; index < tiles; index += gridDim.x) {
    const TileIndex at = tile_at(task.grid, index);
    const int64_t first_row = at.row * S::kBlock, first_column = at.column * S::kBlock;
    Fetched<T, S::kBlock, S::kDepth, kThreadsOfBlock> next_a, next_b;
    T sum[S::kSide][S::kSide] = {};
    const auto fetch = [&](int64_t k) {
      next_a.template fetch<kAlongKA>(task.a, at.z, first_row, k);
      next_b.template fetch<kAlongKB>(task.b, at.z, first_column, k);
    };
    const auto place_next = [&](int buffer) {
      place<T, kAlongKA>(next_a, tile_a[buffer], kPitch);
      place<T, kAlongKB>(next_b, tile_b[buffer], kPitch);
    };
    __syncthreads();  // the last tile of C is done with shared memory
    if (task.a.k > 0) {
      fetch(0);
      place_next(0);
    }
    int buffer = 0;
    for (int64_t k = 0; k < task.a.k; k += S::kDepth, buffer ^= 1) {
      __syncthreads();
      const bool more = k + S::kDepth < task.a.k;
      if (more) fetch(k + S::kDepth);
#pragma unroll
      for (int p = 0; p < S::kDepth; ++p) {
        T a[S::kSide], b[S::kSide];
#pragma unroll
        for (int i = 0; i < S::kSide; i += kWidth) {
          *reinterpret_cast<uint4*>(&a[i]) =
              *reinterpret_cast<const uint4*>(&tile_a[buffer][p * kPitch + own_line<T>(i, thread_row)]);
          *reinterpret_cast<uint4*>(&b[i]) =
              *reinterpret_cast<const uint4*>(&tile_b[buffer][p * kPitch + own_line<T>(i, thread_column)]);
        }
#pragma unroll
        for (int i = 0; i < S::kSide; ++i) {
#pragma unroll
          for (int j = 0; j < S::kSide; ++j) sum[i][j] = fma(a[i], b[j], sum[i][j]);
        }
      }
      if (more) place_next(buffer ^ 1);
    }
    T* c = task.c + at.z * task.c_batch_stride;
#pragma unroll
    for (int i = 0; i < S::kSide; ++i) {
#pragma unroll
      for (int j = 0; j < S::kSide; ++j) {
        const int64_t row = first_row + own_line<T>(i, thread_row),
                      column = first_column + own_line<T>(j, thread_column);
        if (row >= task.a.count || column >= task.b.count) continue;
        T* to = c + row * task.c_row_stride + column;
        const T result = task.alpha * sum[i][j];
        *to = task.beta == T(0) ? result : fma(task.beta, *to, result);
      }
    }
  }
}

struct Plan : Problem {
  Lines lines_a, lines_b;
  bool f64 = false;
};

std::shared_ptr<void> make_plan(const Call& call) {
  auto plan = std::make_shared<Plan>();
  static_cast<Problem&>(*plan) = problem(call);
  plan->f64 = call.word("dtype") == "f64";
  const int64_t bytes = plan->f64 ? 8 : 4;
  if (plan->f64) {
    call.in<double>("a"), call.in<double>("b"), call.out<double>("c");
  } else {
    call.in<float>("a"), call.in<float>("b"), call.out<float>("c");
  }
  plan->lines_a = lines(call, "a", plan->a, plan->m, plan->depth(), plan->batch, bytes);
  plan->lines_b = lines(call, "b", plan->b, plan->n, plan->depth(), plan->batch, bytes);
  return plan;
}

template <class T>
void launch_as(const Call& call, const Plan& plan) {
  constexpr int kBlock = Shape<T>::kBlock;
  Task<T> task{plan.lines_a,
               plan.lines_b,
               reinterpret_cast<T*>(address(call, "c")),
               plan.c.row_stride,
               plan.c.batch_stride,
               T(plan.alpha),
               T(plan.beta),
               {ceil_div(plan.m, kBlock), ceil_div(plan.n, kBlock), plan.batch}};
  task.a.data = address(call, "a");
  task.b.data = address(call, "b");
  const bool a = plan.a.column_stride == 1, b = plan.b.column_stride == 1;
  const auto product = a ? (b ? simt_product<T, true, true> : simt_product<T, true, false>)
                         : (b ? simt_product<T, false, true> : simt_product<T, false, false>);
  product<<<blocks_of(task.grid), kThreadsOfBlock, 0, call.stream()>>>(task);
}

const char* launch(const Call& call) {
  const Plan& plan = call.plan<Plan>();
  if (plan.is_empty()) return nullptr;
  if (plan.f64) {
    launch_as<double>(call, plan);
  } else {
    launch_as<float>(call, plan);
  }
  return assay::last_launch_error();
}

void describe(const Call& call, const assay::Describe& emit) {
  const Plan& plan = call.plan<Plan>();
  emit("algorithm", plan.f64 ? "fused multiply-adds in f64" : "fused multiply-adds in f32");
  emit("tile", plan.f64 ? "64x64x16" : "128x128x16");
  emit("split_k", "1");
  emit("loads", plan.lines_a.vectors && plan.lines_b.vectors ? "16 bytes" : "single elements where not aligned");
}

const char* unavailable() { return needs_compute_capability(8, 1000, "needs compute capability 8.0"); }

constexpr assay_contract contract_with(int32_t accumulator) {
  return {.interface_version = 1,
          .owner = kOwner,
          .domain = "dtype in f32 f64",
          .promises = kPromises,
          .arithmetic = {.accumulator = accumulator, .depth_divisor = 1, .depth_constant = 0, .split_k = 1},
          .nan_policy = ASSAY_NAN_PROPAGATES,
          .workspace_limit = 0,
          .alignment = kAlignment};
}
constexpr assay_contract kDouble = contract_with(ASSAY_ACC_F64);

const assay_contract* plan_contract(const Call& c) { return c.word("dtype") == "f64" ? &kDouble : nullptr; }

}  // namespace

ASSAY_KERNEL(gemm, simt, .target = "cuda", .plan = make_plan, .launch = launch, .describe = describe,
             .unavailable = unavailable, .plan_contract = plan_contract, .contract = contract_with(ASSAY_ACC_F32))
