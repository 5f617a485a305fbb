// Lays out an operand anew, so that the rest of a product meets one layout: lines of K, contiguous, at a padded
// distance. For operands whose base or strides forbid 16-byte copies, or whose layout the matrix unit does not take.
#ifndef ASSAY_KERNELS_GEMM_PACK_CUH
#define ASSAY_KERNELS_GEMM_PACK_CUH

#include "gemm/tiles.cuh"

namespace assay::cuda_gemm {

inline constexpr int kPackTile = 32;            // elements a side
inline constexpr int kPackRows = 8;             // rows of threads, each of which takes kPackTile / kPackRows elements
inline constexpr int64_t kPackAlignment = 128;  // bytes between packed lines are a multiple of it

// `lines` lines of `k` elements from each of `batch` matrices; line i of matrix z goes to (z lines + i) packed_stride.
template <class T>
__global__ void __launch_bounds__(kPackTile* kPackRows)
    pack(const T* from, Matrix strides, T* to, int64_t lines, int64_t k, int64_t batch, int64_t packed_stride) {
  __shared__ T tile[kPackTile][kPackTile + 4 / sizeof(T)];
  const int64_t tiles_k = (k + kPackTile - 1) / kPackTile, tiles_lines = (lines + kPackTile - 1) / kPackTile;
  const bool along_k = strides.column_stride == 1;
  for (int64_t at = blockIdx.x; at < tiles_k * tiles_lines * batch; at += gridDim.x) {
    const int64_t first_k = at % tiles_k * kPackTile, first_line = at / tiles_k % tiles_lines * kPackTile;
    const int64_t z = at / tiles_k / tiles_lines;
    const T* matrix = from + z * strides.batch_stride;
    T* packed = to + z * lines * packed_stride;
    if (along_k) {
      for (int row = threadIdx.y; row < kPackTile; row += kPackRows) {
        const int64_t line = first_line + row, p = first_k + threadIdx.x;
        if (line < lines && p < k) packed[line * packed_stride + p] = matrix[line * strides.row_stride + p];
      }
      continue;
    }
    for (int row = threadIdx.y; row < kPackTile; row += kPackRows) {
      const int64_t p = first_k + row, line = first_line + threadIdx.x;
      if (line < lines && p < k) {
        tile[row][threadIdx.x] = matrix[line * strides.row_stride + p * strides.column_stride];
      }
    }
    __syncthreads();
    for (int row = threadIdx.y; row < kPackTile; row += kPackRows) {
      const int64_t line = first_line + row, p = first_k + threadIdx.x;
      if (line < lines && p < k) packed[line * packed_stride + p] = tile[threadIdx.x][row];
    }
    __syncthreads();
  }
}

inline constexpr int kAcrossLines = 128, kAcrossDepth = 64, kAcrossThreads = 256, kAcrossPitch = kAcrossDepth + 16;

// The same for bytes that lie across K, four by four. What follows a line up to a multiple of 16 becomes zero.
template <class T>
__global__ void __launch_bounds__(kAcrossThreads)
    pack_bytes_across(const __grid_constant__ Lines from, T* to, int64_t batch, int64_t packed_stride) {
  __shared__ alignas(16) T tile[kAcrossLines * kAcrossPitch];
  const int64_t tiles_k = (from.k + kAcrossDepth - 1) / kAcrossDepth;
  const int64_t tiles_lines = (from.count + kAcrossLines - 1) / kAcrossLines;
  for (int64_t at = blockIdx.x; at < tiles_k * tiles_lines * batch; at += gridDim.x) {
    const int64_t first_line = at % tiles_lines * kAcrossLines, first_k = at / tiles_lines % tiles_k * kAcrossDepth;
    const int64_t z = at / tiles_lines / tiles_k;
    FetchedBytesAcross<kAcrossLines, kAcrossDepth, kAcrossThreads> fetched;
    fetched.fetch(from, z, first_line, first_k);
    fetched.place(tile, kAcrossPitch);
    __syncthreads();
    constexpr int kVectors = kAcrossDepth / 16;  // of a line
    for (int i = threadIdx.x; i < kAcrossLines * kVectors; i += kAcrossThreads) {
      const int64_t line = first_line + i / kVectors, k = first_k + i % kVectors * 16;
      if (line >= from.count || k >= from.k) continue;
      *reinterpret_cast<uint4*>(to + (z * from.count + line) * packed_stride + k) =
          *reinterpret_cast<const uint4*>(tile + i / kVectors * kAcrossPitch + i % kVectors * 16);
    }
    __syncthreads();
  }
}

// Elements from one packed line to the next.
template <class T>
constexpr int64_t packed_stride(int64_t k) {
  return round_up(std::max<int64_t>(k, 1) * int64_t{sizeof(T)}, kPackAlignment) / int64_t{sizeof(T)};
}

// `vectors`: the operand's base and strides are multiples of 16 bytes.
template <class T>
void launch_pack(const T* from, const Matrix& strides, bool vectors, T* to, int64_t lines, int64_t k, int64_t batch,
                 int blocks, cudaStream_t stream) {
  if constexpr (sizeof(T) == 1) {
    if (strides.column_stride != 1) {
      const Lines given{from, lines, k, strides.row_stride, strides.column_stride, strides.batch_stride, vectors};
      const int64_t tiles = ceil_div(k, kAcrossDepth) * ceil_div(lines, kAcrossLines) * batch;
      if (tiles == 0) return;
      const auto grid = static_cast<unsigned>(std::min<int64_t>(tiles, int64_t{blocks} * 8));
      pack_bytes_across<T><<<grid, kAcrossThreads, 0, stream>>>(given, to, batch, packed_stride<T>(k));
      return;
    }
  }
  const int64_t tiles = ceil_div(k, kPackTile) * ceil_div(lines, kPackTile) * batch;
  if (tiles == 0) return;
  const auto grid = static_cast<unsigned>(std::min<int64_t>(tiles, int64_t{blocks} * 8));
  pack<T><<<grid, dim3(kPackTile, kPackRows), 0, stream>>>(from, strides, to, lines, k, batch, packed_stride<T>(k));
}

}  // namespace assay::cuda_gemm
#endif
