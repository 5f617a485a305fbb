// What a row of A and a column of B add to every sum of theirs because of zero points, and the columns' scales,
// computed before the product: sum (a - za)(b - zb) = sum a b + row term + column term, modulo 2^32.
#ifndef ASSAY_KERNELS_GEMM_INT8_LINE_TERMS_CUH
#define ASSAY_KERNELS_GEMM_INT8_LINE_TERMS_CUH

#include "gemm/tiles.cuh"
#include "gemm_int8/requantize.cuh"

namespace assay::gemm_int8 {

using cuda_gemm::Lines;

struct Column {
  float scale;    // scale_a scale_b / scale_y, rounded
  uint32_t term;  // K za zb - za sum b
};

struct Scales {
  const float *a = nullptr, *b = nullptr, *y = nullptr;
  bool per_channel = false;
};

inline constexpr int kLanes = 32, kLineWarps = 8;

// Sum of a line whose elements lie side by side, in every lane of the warp.
__device__ inline uint32_t sum_along(const Lines& from, int64_t line) {
  const auto* bytes = static_cast<const int8_t*>(from.data) + line * from.line_stride;
  int32_t sum = 0;
  int64_t first = threadIdx.x;
  if (from.vectors) {
    const int64_t whole = from.k / 16;
    for (int64_t at = threadIdx.x; at < whole; at += kLanes) {
      const int4 sixteen = reinterpret_cast<const int4*>(bytes)[at];
      for (const int four : {sixteen.x, sixteen.y, sixteen.z, sixteen.w}) sum = __dp4a(four, 0x01010101, sum);
    }
    first += whole * 16;
  }
  for (int64_t p = first; p < from.k; p += kLanes) sum += bytes[p];
  return __reduce_add_sync(0xffffffffu, uint32_t(sum));
}

// terms[i] = factor * sum of line i. A warp a line.
static __global__ void __launch_bounds__(kLanes* kLineWarps)
    row_terms(const __grid_constant__ Lines a, uint32_t factor, uint32_t* terms) {
  for (int64_t line = int64_t(blockIdx.x) * kLineWarps + threadIdx.y; line < a.count;
       line += int64_t(gridDim.x) * kLineWarps) {
    const uint32_t sum = sum_along(a, line);
    if (threadIdx.x == 0) terms[line] = factor * sum;
  }
}

// b.k is 0 where no sums are needed. kAlongK: a warp a column; otherwise a block 32 neighbouring columns. Columns are
// read in pairs: the last one's partner is written where there is none.
template <bool kAlongK>
__global__ void __launch_bounds__(kLanes* kLineWarps)
    column_terms(const __grid_constant__ Lines b, const __grid_constant__ Scales scales, uint32_t factor,
                 uint32_t constant, Column* columns, double* precise) {
  const auto put = [&](int64_t column, uint32_t sum) {
    const double scale =
        scale_of(double(*scales.a), double(scales.b[scales.per_channel ? column : 0]), double(*scales.y));
    columns[column] = {float(scale), constant + factor * sum};
    precise[column] = scale;
    if (column % 2 == 0 && column + 1 == b.count) {
      columns[column + 1] = {};
      precise[column + 1] = 0;
    }
  };
  if constexpr (kAlongK) {
    for (int64_t column = int64_t(blockIdx.x) * kLineWarps + threadIdx.y; column < b.count;
         column += int64_t(gridDim.x) * kLineWarps) {
      const uint32_t sum = sum_along(b, column);
      if (threadIdx.x == 0) put(column, sum);
    }
  } else {
    __shared__ uint32_t partial[kLineWarps][kLanes];
    for (int64_t first = int64_t(blockIdx.x) * kLanes; first < b.count; first += int64_t(gridDim.x) * kLanes) {
      const int64_t column = first + threadIdx.x;
      int32_t sum = 0;
      for (int64_t p = threadIdx.y; p < b.k && column < b.count; p += kLineWarps) {
        sum += static_cast<const int8_t*>(b.data)[p * b.k_stride + column];
      }
      partial[threadIdx.y][threadIdx.x] = uint32_t(sum);
      __syncthreads();
      if (threadIdx.y == 0 && column < b.count) {
        uint32_t total = 0;
        for (int warp = 0; warp < kLineWarps; ++warp) total += partial[warp][threadIdx.x];
        put(column, total);
      }
      __syncthreads();
    }
  }
}

}  // namespace assay::gemm_int8
#endif
