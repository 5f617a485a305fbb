// The micro-kernel: a strip of C, kRows x kVectors vectors, is held in registers while one block of K streams past.
#if defined(ASSAY_KERNELS_GEMM_MICRO_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_GEMM_MICRO_INL_H
#undef ASSAY_KERNELS_GEMM_MICRO_INL_H
#else
#define ASSAY_KERNELS_GEMM_MICRO_INL_H
#endif

#include <algorithm>

#include "common/half-inl.h"
#include "gemm/pack-inl.h"
#include "gemm/plan.h"

HWY_BEFORE_NAMESPACE();
namespace assay::gemm::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace assay::simd::HWY_NAMESPACE;

// Registers decide the widest strip: accumulators, one row of B, one broadcast element of A.
#if HWY_TARGET <= HWY_AVX3
constexpr int kMaxRows = 14;  // 28 of 32 registers accumulate
constexpr int kRegisters = 32;
#elif HWY_TARGET == HWY_SCALAR
constexpr int kMaxRows = 4;
constexpr int kRegisters = 16;
#else
constexpr int kMaxRows = 6;  // 12 of 16
constexpr int kRegisters = 16;
#endif
constexpr int kVectors = 2;      // vectors a row of the widest strip
constexpr int kWideVectors = 8;  // and of the narrowest

// Vectors a row when `rows` rows are all there is: as many as the registers hold, a power of two.
constexpr int wide_vectors(int rows) {
  int vectors = kVectors;
  while (vectors < kWideVectors && (rows + 1) * 2 * vectors + 1 <= kRegisters) vectors *= 2;
  return vectors;
}

// tile[r][c] = (resumes ? tile[r][c] : 0) + sum over k of a[r][k] b[k][c]. Rows of `a` are kDepth apart and rows of
// `tile` one strip. The sum of a block runs through k in order in every kernel of this file, whatever its strip: the
// result's bits do not depend on which of them computed it. kFetches: B is read in place, so
// that its rows are worth fetching ahead.
template <int kRows, int kStripVectors, bool kFetches, class Sum, class TB>
HWY_NOINLINE void micro(const Sum* HWY_RESTRICT a, const TB* HWY_RESTRICT b, int64_t b_stride, int64_t depth,
                        bool resumes, Sum* HWY_RESTRICT tile) {
  const hn::ScalableTag<Sum> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  [[maybe_unused]] const TB* const strip = b;
  V sums[kRows][kStripVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kStripVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  for (int64_t k = 0; k < depth; ++k) {
    V row[kStripVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kStripVectors; ++v) row[v] = load(d, b + v * lanes);
    if constexpr (kFetches) fetch_ahead(strip, b_stride, kStripVectors * lanes, depth, k);
    b += b_stride;
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const V element = hn::Set(d, a[r * kDepth + k]);
#pragma GCC unroll 16
      for (int v = 0; v < kStripVectors; ++v) sums[r][v] = hn::MulAdd(element, row[v], sums[r][v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kStripVectors; ++v) {
      Sum* to = tile + (r * kStripVectors + v) * lanes;
      hn::Store(resumes ? hn::Add(hn::Load(d, to), sums[r][v]) : sums[r][v], d, to);
    }
  }
}

template <class Sum, class TB>
using MicroKernel = void (*)(const Sum*, const TB*, int64_t, int64_t, bool, Sum*);

// A kernel and the strip it computes.
template <class Sum, class TB>
struct Strip {
  int64_t rows, columns;
  MicroKernel<Sum, TB> run;
};

// The smallest strip that covers `rows` rows, among kRows and its successive halves; all have the widest one's width.
template <class Sum, int kRows = kMaxRows>
Strip<Sum, Sum> packed_strip(int64_t rows) {
  if constexpr (kRows > 1) {
    if (rows <= (kRows + 1) / 2) return packed_strip<Sum, (kRows + 1) / 2>(rows);
  }
  return {kRows, int64_t(kVectors * hn::Lanes(hn::ScalableTag<Sum>())), &micro<kRows, kVectors, false, Sum, Sum>};
}

// The same for B read in place: as wide as the registers allow.
template <class Sum, class TB, int kRows = kMaxRows>
Strip<Sum, TB> wide_strip(int64_t rows) {
  if constexpr (kRows > 1) {
    if (rows <= (kRows + 1) / 2) return wide_strip<Sum, TB, (kRows + 1) / 2>(rows);
  }
  constexpr int kWide = wide_vectors(kRows);
  return {kRows, int64_t(kWide * hn::Lanes(hn::ScalableTag<Sum>())), &micro<kRows, kWide, true, Sum, TB>};
}

}  // namespace assay::gemm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
