// What the products on CUDA cores and by mma.sync share: tiles of C taken one after another, and tiles of operands
// brought from device memory to shared memory through registers, so that any base and any stride will do.
#ifndef ASSAY_KERNELS_GEMM_TILES_CUH
#define ASSAY_KERNELS_GEMM_TILES_CUH

#include "gemm/cuda_call.cuh"

namespace assay::cuda_gemm {

// Blocks of rows and columns of C in each of `batch` matrices; blocks beyond a grid's size are taken in turns.
struct TileGrid {
  int64_t rows = 0, columns = 0, batch = 0;
  int64_t count() const { return rows * columns * batch; }
};

struct TileIndex {
  int64_t row, column, z;
};

// Neighbouring indices share operands: kTogether blocks of rows are taken before the next block of columns.
__device__ inline TileIndex tile_at(const TileGrid& grid, int64_t index) {
  constexpr int64_t kTogether = 8;
  const int64_t in_matrix = grid.rows * grid.columns;
  const int64_t rest = index % in_matrix, first = rest / (kTogether * grid.columns) * kTogether;
  const int64_t rows = min(kTogether, grid.rows - first), within = rest - first * grid.columns;
  return {first + within % rows, within / rows, index / in_matrix};
}

inline unsigned blocks_of(const TileGrid& grid) { return unsigned(std::min<int64_t>(grid.count(), 1 << 30)); }

// One operand for the device: element (line, p) of matrix z at z batch_stride + line line_stride + p k_stride, one of
// the two strides being 1. `vectors`: 16-byte loads along that axis are aligned.
struct Lines {
  const void* data;
  int64_t count, k;
  int64_t line_stride, k_stride, batch_stride;
  bool vectors;
};

inline Lines lines(const Call& call, const char* name, const Matrix& matrix, int64_t count, int64_t k, int64_t batch,
                   int64_t element_bytes) {
  const bool along_k = matrix.column_stride == 1;
  const auto aligned = [&](int64_t many, int64_t stride) { return many <= 1 || stride * element_bytes % 16 == 0; };
  const bool vectors = call.tensor(name).alignment % 16 == 0 && aligned(batch, matrix.batch_stride) &&
                       (along_k ? aligned(count, matrix.row_stride) : aligned(k, matrix.column_stride));
  return {nullptr, count, k, matrix.row_stride, matrix.column_stride, matrix.batch_stride, vectors};
}

// A tile of kLines by kDepth elements of type T on its way: fetch() to registers, place() to shared memory. The tile is
// stored with its contiguous axis as in device memory (along_k: [line][k], otherwise [k][line]), at distance `pitch`.
template <class T, int kLines, int kDepth, int kThreads>
struct Fetched {
  static constexpr int kWidth = 16 / int(sizeof(T));
  static constexpr int kVectors = kLines * kDepth / kWidth / kThreads;
  static_assert(kVectors * kWidth * kThreads == kLines * kDepth);
  union Vector {
    uint4 whole;
    T element[kWidth];
    __device__ Vector() : whole{0, 0, 0, 0} {}
  };
  Vector vector[kVectors];

  // Row and column, in the stored order, of this thread's vector i.
  template <bool kAlongK>
  static __device__ int row(int i) {
    return (int(threadIdx.x) + i * kThreads) / ((kAlongK ? kDepth : kLines) / kWidth);
  }
  template <bool kAlongK>
  static __device__ int column(int i) {
    return (int(threadIdx.x) + i * kThreads) % ((kAlongK ? kDepth : kLines) / kWidth) * kWidth;
  }

  template <bool kAlongK>
  __device__ void fetch(const Lines& from, int64_t z, int64_t first_line, int64_t first_k) {
    const T* matrix = static_cast<const T*>(from.data) + z * from.batch_stride;
    const int64_t rows = kAlongK ? from.count : from.k, columns = kAlongK ? from.k : from.count;
    const int64_t stride = kAlongK ? from.line_stride : from.k_stride;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const int64_t r = (kAlongK ? first_line : first_k) + row<kAlongK>(i);
      const int64_t c = (kAlongK ? first_k : first_line) + column<kAlongK>(i);
      vector[i] = Vector();
      if (r >= rows || c >= columns) continue;
      const T* element = matrix + r * stride + c;
      if (from.vectors && c + kWidth <= columns) {
        vector[i].whole = *reinterpret_cast<const uint4*>(element);
      } else {
#pragma unroll
        for (int e = 0; e < kWidth; ++e) {
          if (c + e < columns) vector[i].element[e] = element[e];
        }
      }
    }
  }

  template <bool kAlongK>
  __device__ void place(T* tile, int pitch) const {
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      *reinterpret_cast<uint4*>(tile + row<kAlongK>(i) * pitch + column<kAlongK>(i)) = vector[i].whole;
    }
  }
};

// The same for bytes that lie across K: stored [k][line] in device memory, turned to [line][k] on their way. Blocks of
// 4 x 4 bytes, four along K and eight along the lines a warp.
template <int kLines, int kDepth, int kThreads>
struct FetchedBytesAcross {
  static constexpr int kBlocks = kLines * kDepth / 16 / kThreads;
  static_assert(kLines == 128 && kDepth == 64 && kBlocks * kThreads * 16 == kLines * kDepth);
  uint32_t row[kBlocks][4];

  static __device__ int block(int i) { return int(threadIdx.x) + i * kThreads; }
  static __device__ int k_of(int i) { return (block(i) % 4 + block(i) / 128 % 4 * 4) * 4; }
  static __device__ int line_of(int i) { return (block(i) / 4 % 8 + (block(i) / 32 % 4) * 8) * 4; }

  __device__ void fetch(const Lines& from, int64_t z, int64_t first_line, int64_t first_k) {
    const auto* matrix = static_cast<const uint8_t*>(from.data) + z * from.batch_stride;
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      const int64_t line = first_line + line_of(i);
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const int64_t k = first_k + k_of(i) + r;
        row[i][r] = 0;
        if (k >= from.k || line >= from.count) continue;
        const uint8_t* bytes = matrix + k * from.k_stride + line;
        if (from.vectors && line + 4 <= from.count) {
          row[i][r] = *reinterpret_cast<const uint32_t*>(bytes);
        } else {
          for (int e = 0; e < 4; ++e) {
            if (line + e < from.count) row[i][r] |= uint32_t{bytes[e]} << (8 * e);
          }
        }
      }
    }
  }
  template <class T>
  __device__ void place(T* tile, int pitch) const {
    static_assert(sizeof(T) == 1);
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      const uint32_t low_01 = __byte_perm(row[i][0], row[i][1], 0x5140);
      const uint32_t low_23 = __byte_perm(row[i][2], row[i][3], 0x5140);
      const uint32_t high_01 = __byte_perm(row[i][0], row[i][1], 0x7362);
      const uint32_t high_23 = __byte_perm(row[i][2], row[i][3], 0x7362);
      const uint32_t lines[4] = {__byte_perm(low_01, low_23, 0x5410), __byte_perm(low_01, low_23, 0x7632),
                                 __byte_perm(high_01, high_23, 0x5410), __byte_perm(high_01, high_23, 0x7632)};
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        *reinterpret_cast<uint32_t*>(tile + (line_of(i) + e) * pitch + k_of(i)) = lines[e];
      }
    }
  }
};

}  // namespace assay::cuda_gemm
#endif
