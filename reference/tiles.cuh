// Matrix products of oracles on a CUDA device: every element's sum is one thread's, in the order of k, from tiles in
// shared memory. What is added, and what becomes of a sum, is the op's:
//   Work::Operand             an element of a factor, as it is multiplied
//   Work::Sum                 of one element of the product; Work::Sum{} is that of no terms
//   Work::kRowsEach           rows of a thread's part of a tile: as many as its registers hold sums of
//   work.a(entry, i, k), work.b(entry, k, j)    elements; a_runs_along_k, b_runs_along_k: where neighbours lie
//   work.add(a, b, sum)       adds a product
//   work.finish(entry, i, j, sum)
// An entry is counted from work.first_entry.
#pragma once

#include "core/cuda.cuh"

namespace assay {

struct TileShape {
  int64_t first_row, rows, cols, depth;  // rows [first_row, first_row + rows) of each entry's product
};

namespace tiles {

constexpr int kRows = 64, kCols = 64, kDepth = 16;  // of a block's tile
constexpr int kColsEach = 4;                        // of a thread's part: two pairs, half a tile apart
constexpr int kPad = 2;                             // keeps neighbouring steps of k out of one bank
static_assert(kRows == kCols);

template <class Work>
constexpr int kTileThreads = (kRows / Work::kRowsEach) * (kCols / kColsEach);

// Where element `at` of a tile's kRows x kDepth lies, neighbours being neighbours in memory.
struct Place {
  int line, k;
};
__device__ inline Place place(int at, bool runs_along_k) {
  return runs_along_k ? Place{at / kDepth, at % kDepth} : Place{at % kRows, at / kRows};
}

template <class Work>
__global__ void __launch_bounds__(kTileThreads<Work>) product(Work work, TileShape shape, int64_t col_tiles) {
  using Operand = typename Work::Operand;
  constexpr int kRowsEach = Work::kRowsEach, kLoads = kRows * kDepth / kTileThreads<Work>;
  __shared__ alignas(16) Operand a_tile[kDepth][kRows + kPad], b_tile[kDepth][kCols + kPad];
  const int64_t entry = work.first_entry + blockIdx.y;
  const int64_t top = blockIdx.x / col_tiles * kRows, left = blockIdx.x % col_tiles * kCols;
  const int64_t rows = shape.rows - top, cols = shape.cols - left;  // may exceed the tile
  const int thread = static_cast<int>(threadIdx.x);
  const int row = thread / (kCols / kColsEach) * kRowsEach, col = thread % (kCols / kColsEach) * 2;
  const auto col_of = [col](int j) { return col + j % 2 + j / 2 * (kCols / 2); };
  const auto place_of = [thread](int n, bool along_k) { return place(n * kTileThreads<Work> + thread, along_k); };

  Operand a_next[kLoads], b_next[kLoads];
  const auto fetch = [&](int64_t k0) {
#pragma unroll
    for (int n = 0; n < kLoads; ++n) {
      const Place in_a = place_of(n, work.a_runs_along_k), in_b = place_of(n, work.b_runs_along_k);
      a_next[n] = in_a.line < rows && k0 + in_a.k < shape.depth
                      ? work.a(entry, shape.first_row + top + in_a.line, k0 + in_a.k)
                      : Operand{};
      b_next[n] =
          in_b.line < cols && k0 + in_b.k < shape.depth ? work.b(entry, k0 + in_b.k, left + in_b.line) : Operand{};
    }
  };

  typename Work::Sum sums[kRowsEach][kColsEach] = {};
  const auto step = [&](int k) {
    Operand a[kRowsEach], b[kColsEach];
#pragma unroll
    for (int i = 0; i < kRowsEach; ++i) a[i] = a_tile[k][row + i];
#pragma unroll
    for (int j = 0; j < kColsEach; ++j) b[j] = b_tile[k][col_of(j)];
#pragma unroll
    for (int i = 0; i < kRowsEach; ++i) {
#pragma unroll
      for (int j = 0; j < kColsEach; ++j) work.add(a[i], b[j], sums[i][j]);
    }
  };

  fetch(0);
  for (int64_t k0 = 0; k0 < shape.depth; k0 += kDepth) {
#pragma unroll
    for (int n = 0; n < kLoads; ++n) {
      const Place in_a = place_of(n, work.a_runs_along_k), in_b = place_of(n, work.b_runs_along_k);
      a_tile[in_a.k][in_a.line] = a_next[n];
      b_tile[in_b.k][in_b.line] = b_next[n];
    }
    __syncthreads();
    if (k0 + kDepth < shape.depth) fetch(k0 + kDepth);
    if (shape.depth - k0 >= kDepth) {
#pragma unroll 4
      for (int k = 0; k < kDepth; ++k) step(k);
    } else {
      for (int k = 0; k < shape.depth - k0; ++k) step(k);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kRowsEach; ++i) {
#pragma unroll
    for (int j = 0; j < kColsEach; ++j) {
      if (row + i < rows && col_of(j) < cols) {
        work.finish(entry, shape.first_row + top + row + i, left + col_of(j), sums[i][j]);
      }
    }
  }
}

}  // namespace tiles

// For `entries` matrices; `work` counts entries from 0.
template <class Work>
void compute_product(const Work& work, const TileShape& shape, int64_t entries, cudaStream_t stream) {
  constexpr int64_t kMostEntries = 65535;  // of a grid's second axis
  if (shape.rows == 0 || shape.cols == 0) return;
  const int64_t row_tiles = (shape.rows + tiles::kRows - 1) / tiles::kRows;
  const int64_t col_tiles = (shape.cols + tiles::kCols - 1) / tiles::kCols;
  if (row_tiles * col_tiles > 0x7fffffff) throw Error("oracle: a chunk has more tiles than a grid holds");
  for (int64_t first = 0; first < entries; first += kMostEntries) {
    Work part = work;
    part.first_entry += first;
    const dim3 grid(static_cast<unsigned>(row_tiles * col_tiles),
                    static_cast<unsigned>(std::min(entries - first, kMostEntries)));
    tiles::product<<<grid, tiles::kTileThreads<Work>, 0, stream>>>(part, shape, col_tiles);
    require_launched("oracle product");
  }
}

}  // namespace assay
