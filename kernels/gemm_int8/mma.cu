// Our int8 product by mma.sync: exact 32-bit sums, requantized as the op says. Zero points enter through the sums of
// A's rows and B's columns, sum (a - za)(b - zb) = sum a b - za sum b - zb sum a + K za zb, all modulo 2^32: the op
// keeps the result within 32 bits, whatever intermediate results do.
#include "common/mma.cuh"
#include "gemm/tiles.cuh"
#include "gemm_int8/requantize.cuh"

namespace {

using namespace assay::cuda_gemm;
using assay::Call;

constexpr int kBlock = 128, kDepth = 64, kThreadsOfBlock = 256;
constexpr int kWarpRows = 64, kWarpColumns = 32, kWarpsOfRow = kBlock / kWarpColumns;
constexpr int kPitch = kDepth + 16;  // bytes; no two of the eight rows that are read together share a bank

struct Task {
  Lines a, b;
  int8_t* y;
  int64_t y_row_stride;
  int zero_a, zero_b, zero_y;
  const float *scale_a, *scale_b, *scale_y;
  bool per_channel;
  TileGrid grid;
};

struct FetchedAlong : Fetched<int8_t, kBlock, kDepth, kThreadsOfBlock> {
  __device__ void fetch(const Lines& from, int64_t first_line, int64_t first_k) {
    Fetched::fetch<true>(from, 0, first_line, first_k);
  }
  __device__ void place(int8_t* tile) const { Fetched::place<true>(tile, kPitch); }
};

struct FetchedAcross : FetchedBytesAcross<kBlock, kDepth, kThreadsOfBlock> {
  __device__ void fetch(const Lines& from, int64_t first_column, int64_t first_k) {
    FetchedBytesAcross::fetch(from, 0, first_column, first_k);
  }
  __device__ void place(int8_t* tile) const { FetchedBytesAcross::place(tile, kPitch); }
};

template <class FetchedB>
__global__ void __launch_bounds__(kThreadsOfBlock) int8_product(const __grid_constant__ Task task) {
  __shared__ alignas(16) int8_t tile_a[2][kBlock * kPitch], tile_b[2][kBlock * kPitch];
  __shared__ uint32_t line_sums[2][kBlock];  // of A's rows, of B's columns
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / kWarpsOfRow * kWarpRows, warp_column = warp % kWarpsOfRow * kWarpColumns;
  // Threads of the first half sum a row of A each, where B has a zero point; those of the second half a column of B.
  const int summed = threadIdx.x % kBlock, summed_operand = threadIdx.x / kBlock;
  const bool sums_lines = summed_operand == 0 ? task.zero_b != 0 : task.zero_a != 0;
  const int64_t tiles = task.grid.rows * task.grid.columns;
  for (int64_t index = blockIdx.x; index < tiles; index += gridDim.x) {
    const TileIndex at = tile_at(task.grid, index);
    const int64_t first_row = at.row * kBlock, first_column = at.column * kBlock;
    FetchedAlong next_a;
    FetchedB next_b;
    int32_t sum[kWarpRows / 16][kWarpColumns / 8][4] = {};
    int32_t line_sum = 0;
    const auto fetch = [&](int64_t k) {
      next_a.fetch(task.a, first_row, k);
      next_b.fetch(task.b, first_column, k);
    };
    const auto place = [&](int buffer) {
      next_a.place(tile_a[buffer]);
      next_b.place(tile_b[buffer]);
    };
    __syncthreads();  // the last tile of y is done with shared memory
    if (task.a.k > 0) {
      fetch(0);
      place(0);
    }
    int buffer = 0;
    for (int64_t k = 0; k < task.a.k; k += kDepth, buffer ^= 1) {
      __syncthreads();
      const bool more = k + kDepth < task.a.k;
      if (more) fetch(k + kDepth);
      if (sums_lines) {
        const int8_t* line = (summed_operand == 0 ? tile_a : tile_b)[buffer] + summed * kPitch;
#pragma unroll
        for (int p = 0; p < kDepth; p += 4)
          line_sum = __dp4a(*reinterpret_cast<const int*>(line + p), 0x01010101, line_sum);
      }
#pragma unroll
      for (int step = 0; step < kDepth; step += 32) {
        uint32_t b[kWarpColumns / 16][4];
#pragma unroll
        for (int j = 0; j < kWarpColumns / 16; ++j) {
          assay::mma::load_b<true>(b[j], tile_b[buffer], kPitch, warp_column + 16 * j, step, lane);
        }
#pragma unroll
        for (int i = 0; i < kWarpRows / 16; ++i) {
          uint32_t a[4];
          assay::mma::load_a<true>(a, tile_a[buffer], kPitch, warp_row + 16 * i, step, lane);
#pragma unroll
          for (int j = 0; j < kWarpColumns / 8; ++j) {
            assay::mma::multiply(sum[i][j], a, b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1], int8_t{});
          }
        }
      }
      if (more) place(buffer ^ 1);
    }
    line_sums[summed_operand][summed] = uint32_t(line_sum);
    __syncthreads();
    const double common = double(*task.scale_a), divisor = double(*task.scale_y);
    const uint32_t zero_a = uint32_t(task.zero_a), zero_b = uint32_t(task.zero_b);
    const uint32_t constant = uint32_t(task.a.k) * zero_a * zero_b;
#pragma unroll
    for (int j = 0; j < kWarpColumns / 8; ++j) {
#pragma unroll
      for (int parity = 0; parity < 2; ++parity) {
        const int in_column = warp_column + 8 * j + lane % 4 * 2 + parity;
        const int64_t column = first_column + in_column;
        if (column >= task.b.count) continue;
        const double scale_b = double(task.scale_b[task.per_channel ? column : 0]);
        const double scale = assay::gemm_int8::scale_of(common, scale_b, divisor);
        const uint32_t of_column = constant - zero_a * line_sums[1][in_column];
#pragma unroll
        for (int i = 0; i < kWarpRows / 16; ++i) {
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const int in_row = warp_row + 16 * i + lane / 4 + 8 * half;
            const int64_t row = first_row + in_row;
            if (row >= task.a.count) continue;
            const uint32_t total = uint32_t(sum[i][j][2 * half + parity]) + of_column - zero_b * line_sums[0][in_row];
            task.y[row * task.y_row_stride + column] = assay::gemm_int8::requantize(int32_t(total), scale, task.zero_y);
          }
        }
      }
    }
  }
}

struct Plan {
  int64_t m = 0, n = 0;
  bool b_along_k = false;
  Task task{};
};

std::shared_ptr<void> make_plan(const Call& call) {
  call.in<int8_t>("a"), call.in<int8_t>("b"), call.out<int8_t>("y");
  for (const char* scale : {"scale_a", "scale_b", "scale_y"}) call.in<float>(scale);
  auto plan = std::make_shared<Plan>();
  plan->m = call.axis("m");
  plan->n = call.axis("n");
  plan->b_along_k = call.word("tb") == "t";
  const int64_t k = call.axis("k");
  plan->task.a = lines(call, "a", matrix(call, "a", false), plan->m, k, 1, 1);
  plan->task.b = lines(call, "b", matrix(call, "b", !plan->b_along_k), plan->n, k, 1, 1);
  plan->task.y_row_stride = matrix(call, "y", false).row_stride;
  plan->task.zero_a = int(call.axis("za"));
  plan->task.zero_b = int(call.axis("zb"));
  plan->task.zero_y = int(call.axis("zy"));
  plan->task.per_channel = call.word("scales") == "channel";
  plan->task.grid = {ceil_div(plan->m, kBlock), ceil_div(plan->n, kBlock), 1};
  return plan;
}

const char* launch(const Call& call) {
  const Plan& plan = call.plan<Plan>();
  if (plan.m == 0 || plan.n == 0) return nullptr;
  Task task = plan.task;
  task.a.data = address(call, "a");
  task.b.data = address(call, "b");
  task.y = reinterpret_cast<int8_t*>(address(call, "y"));
  task.scale_a = call.in<float>("scale_a").data();
  task.scale_b = call.in<float>("scale_b").data();
  task.scale_y = call.in<float>("scale_y").data();
  const auto product = plan.b_along_k ? int8_product<FetchedAlong> : int8_product<FetchedAcross>;
  product<<<blocks_of(task.grid), kThreadsOfBlock, 0, call.stream()>>>(task);
  return assay::last_launch_error();
}

void describe(const Call& call, const assay::Describe& emit) {
  const Plan& plan = call.plan<Plan>();
  emit("algorithm", "mma.sync m16n8k32");
  emit("tile", "128x128x64");
  emit("split_k", "1");
  emit("loads", plan.task.a.vectors && plan.task.b.vectors ? "16 bytes" : "single elements where not aligned");
}

const char* unavailable() { return needs_compute_capability(8, 1000, "needs compute capability 8.0"); }

}  // namespace

// Within the domain every result fits 32 bits: differences are within +-255, or +-128 without zero points.
ASSAY_KERNEL(gemm_int8, mma, .target = "cuda", .plan = make_plan, .launch = launch, .describe = describe,
             .unavailable = unavailable,
             .contract = {.interface_version = 1,
                          .owner = kOwner,
                          .domain = "dtype in i8; k <= 33025; za >= -128; za <= 127; zb >= -128; zb <= 127"
                                    " | dtype in i8; k <= 131071; za == 0; zb == 0",
                          .promises = kPromises | ASSAY_SAME_ZEROS,
                          .arithmetic = {.accumulator = ASSAY_ACC_I32, .split_k = 1, .intermediate = ASSAY_ACC_F64},
                          .nan_policy = ASSAY_NAN_UNSPECIFIED,
                          .workspace_limit = 0,
                          .alignment = kAlignment})
