// Packing: copies a block of a matrix into scratch, converted to the type that is summed and laid out as the
// micro-kernel reads it: `rows` of the block become rows of the copy, or its columns when it is transposed.
#if defined(ASSAY_KERNELS_GEMM_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_GEMM_PACK_INL_H
#undef ASSAY_KERNELS_GEMM_PACK_INL_H
#else
#define ASSAY_KERNELS_GEMM_PACK_INL_H
#endif

#include <algorithm>

#include "common/half-inl.h"
#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();
namespace assay::gemm::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace assay::simd::HWY_NAMESPACE;

// Fetches what a walk down a strip `width` wide and `rows` long reads kAhead rows later; near the strip's end that is
// the top of the strip to its right. Rows lie pages apart, where no hardware prefetcher follows. An address that nobody
// owns does no harm here, but no pointer to it may be formed.
template <class T>
HWY_INLINE void fetch_ahead(const T* strip, int64_t stride, int64_t width, int64_t rows, int64_t r) {
  constexpr int64_t kAhead = 48;
  const bool in_strip = r + kAhead < rows;
  const int64_t ahead = in_strip ? (r + kAhead) * stride : (r + kAhead - rows) * stride + width;
  const uintptr_t address = reinterpret_cast<uintptr_t>(strip) + ahead * sizeof(T);
  for (uintptr_t line = 0; line < width * sizeof(T); line += 64) {
    __builtin_prefetch(reinterpret_cast<const char*>(address + line), 0, 2);
  }
}

// Copies columns into panels `width` wide, the panels `panel_stride` apart and their rows `to_stride`; the last panel
// is filled up with zeros.
template <class T, class Sum = ComputeOf<T>>
void copy_panels(const T* from, int64_t from_stride, int64_t rows, int64_t columns, Sum* to, int64_t to_stride,
                 int64_t width, int64_t panel_stride) {
  const hn::ScalableTag<Sum> d;
  const int64_t lanes = hn::Lanes(d);
  const T* strip = from;
  for (int64_t r = 0; r < rows; ++r, from += from_stride, to += to_stride) {
    fetch_ahead(strip, from_stride, columns, rows, r);
    Sum* panel = to;
    for (int64_t first = 0; first < columns; first += width, panel += panel_stride) {
      const int64_t count = std::min(width, columns - first);
      int64_t c = 0;
      for (; c + lanes <= count; c += lanes) hn::StoreU(load(d, from + first + c), d, panel + c);
      if (c < count) {
        store_n(d, load_n(d, from + first + c, count - c), panel + c, std::min(lanes, width - c));
        c += lanes;
      }
      for (; c < width; c += lanes) store_n(d, hn::Zero(d), panel + c, std::min(lanes, width - c));
    }
  }
}

#if HWY_TARGET != HWY_SCALAR  // which has vectors of one lane
// Stores the columns of four rows of 32-bit lanes, to_stride apart.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void store_columns(D d, V r0, V r1, V r2, V r3, hn::TFromD<D>* to, int64_t to_stride) {
  const V low01 = hn::InterleaveLower(d, r0, r1), low23 = hn::InterleaveLower(d, r2, r3);
  const V high01 = hn::InterleaveUpper(d, r0, r1), high23 = hn::InterleaveUpper(d, r2, r3);
  hn::StoreU(hn::ConcatLowerLower(d, low23, low01), d, to);
  hn::StoreU(hn::ConcatUpperUpper(d, low23, low01), d, to + to_stride);
  hn::StoreU(hn::ConcatLowerLower(d, high23, high01), d, to + 2 * to_stride);
  hn::StoreU(hn::ConcatUpperUpper(d, high23, high01), d, to + 3 * to_stride);
}

// Square blocks that fill one 128-bit vector a row; to and from as in transpose_block.
template <class T>
HWY_INLINE void transpose_square(const T* from, int64_t from_stride, float* to, int64_t to_stride) {
  const hn::CappedTag<float, 4> d;
  store_columns(d, load(d, from), load(d, from + from_stride), load(d, from + 2 * from_stride),
                load(d, from + 3 * from_stride), to, to_stride);
}

HWY_INLINE void transpose_square(const double* from, int64_t from_stride, double* to, int64_t to_stride) {
  const hn::CappedTag<double, 2> d;
  const auto r0 = hn::LoadU(d, from), r1 = hn::LoadU(d, from + from_stride);
  hn::StoreU(hn::InterleaveLower(d, r0, r1), d, to);
  hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, to + to_stride);
}
#endif

// to[c][r] = from[r][c], and zero for r in [rows, height).
template <class T, class Sum = ComputeOf<T>>
void transpose_block(const T* from, int64_t from_stride, int64_t rows, int64_t columns, Sum* to, int64_t to_stride,
                     int64_t height) {
  int64_t full_rows = 0, full_columns = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr int64_t kSquare = 16 / sizeof(Sum);
  full_rows = rows / kSquare * kSquare;
  full_columns = columns / kSquare * kSquare;
  for (int64_t r = 0; r < full_rows; r += kSquare) {
    const T* next = from + std::min(r + kSquare, rows - kSquare) * from_stride;  // rows are too short to be predicted
    for (int64_t c = 0; c < full_columns; c += kSquare) {
      if (c % (64 / int64_t(sizeof(T))) == 0) {
        for (int64_t i = 0; i < kSquare; ++i) hwy::Prefetch(next + i * from_stride + c);
      }
      transpose_square(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
    }
  }
#endif
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = r < full_rows ? full_columns : 0; c < columns; ++c) {
      to[c * to_stride + r] = load_one(from + r * from_stride + c);
    }
  }
  if (rows == height) return;
  for (int64_t c = 0; c < columns; ++c) std::fill(to + c * to_stride + rows, to + c * to_stride + height, Sum{0});
}

}  // namespace assay::gemm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
