// Packing and the micro-kernel of the int8 product. Zero points are subtracted while packing, so that elements are
// 16-bit integers within +-255, and elements of two neighbouring k form a pair: one instruction multiplies pairs and
// adds both products to a 32-bit sum. Nothing saturates and every sum of a k within the contract is exact.
#if defined(ASSAY_KERNELS_GEMM_INT8_PAIRS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_GEMM_INT8_PAIRS_INL_H
#undef ASSAY_KERNELS_GEMM_INT8_PAIRS_INL_H
#else
#define ASSAY_KERNELS_GEMM_INT8_PAIRS_INL_H
#endif

#include <algorithm>
#include <cstring>

#include "common/half-inl.h"
#include "gemm/micro-inl.h"
#include "gemm/pack-inl.h"
#include "gemm/plan.h"

#if !HWY_ARCH_X86
#error "pairs are laid out as x86 adds them; another architecture's order is in RearrangeToOddPlusEven"
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::gemm_int8::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using gemm::kDepth;

// Two elements of neighbouring k, the earlier one in the lower half.
HWY_INLINE int32_t pair_of(int first, int second) {
  return int32_t(uint32_t(uint16_t(first)) | uint32_t(uint16_t(second)) << 16);
}

// ---- packing ----

// to[r][c] = from[r][c] - zero, rows of `to` kDepth apart; an odd row ends with a zero.
inline void pack_rows(const int8_t* from, int64_t stride, int64_t rows, int64_t columns, int zero, int16_t* to) {
  const hn::ScalableTag<int16_t> d;
  const hn::Rebind<int8_t, decltype(d)> stored;
  const int64_t lanes = hn::Lanes(d);
  const auto offset = hn::Set(d, int16_t(zero));
  for (int64_t r = 0; r < rows; ++r, from += stride, to += kDepth) {
    int64_t c = 0;
    for (; c + lanes <= columns; c += lanes) {
      hn::StoreU(hn::Sub(hn::PromoteTo(d, hn::LoadU(stored, from + c)), offset), d, to + c);
    }
    for (; c < columns; ++c) to[c] = int16_t(from[c] - zero);
    if (columns % 2 != 0) to[columns] = 0;
  }
}

// to[j] pairs the elements j of two rows; columns in [columns, width) are zero.
inline void pack_pair_of_rows(const int8_t* first, const int8_t* second, int64_t columns, int zero, int32_t* to,
                              int64_t width) {
  const hn::ScalableTag<int32_t> d;
  const hn::Rebind<int8_t, decltype(d)> stored;
  const int64_t lanes = hn::Lanes(d);
  const auto offset = hn::Set(d, zero), lower = hn::Set(d, 0xFFFF);
  int64_t j = 0;
  for (; j + lanes <= columns; j += lanes) {
    const auto even = hn::Sub(hn::PromoteTo(d, hn::LoadU(stored, first + j)), offset);
    const auto odd = hn::Sub(hn::PromoteTo(d, hn::LoadU(stored, second + j)), offset);
    hn::StoreU(hn::Or(hn::And(even, lower), hn::ShiftLeft<16>(odd)), d, to + j);
  }
  for (; j < columns; ++j) to[j] = pair_of(first[j] - zero, second[j] - zero);
  std::fill(to + columns, to + width, 0);
}

// B stored as rows of k, in panels `width` wide: to[panel][p][j] pairs rows 2p and 2p + 1.
inline void pack_pairs(const int8_t* from, int64_t stride, int64_t depth, int64_t columns, int zero, int32_t* to,
                       int64_t width) {
  const int64_t panel = (depth + 1) / 2 * width;
  for (int64_t k = 0; k < depth; k += 2, to += width) {
    gemm::HWY_NAMESPACE::fetch_ahead(from, stride, columns, depth, k);
    gemm::HWY_NAMESPACE::fetch_ahead(from, stride, columns, depth, k + 1);
    const int8_t* row = from + k * stride;
    for (int64_t j = 0; j < columns; j += width) {
      const int64_t count = std::min(width, columns - j);
      int32_t* pairs = to + j / width * panel;
      if (k + 1 < depth) {
        pack_pair_of_rows(row + j, row + stride + j, count, zero, pairs, width);
      } else {
        for (int64_t c = 0; c < width; ++c) pairs[c] = c < count ? pair_of(row[j + c] - zero, 0) : 0;
      }
    }
  }
}

// B stored as columns of k: the same from the transposed matrix.
inline void pack_pairs_transposed(const int8_t* from, int64_t stride, int64_t depth, int64_t columns, int zero,
                                  int32_t* to, int64_t width) {
  int64_t full_columns = 0, full_depth = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<int32_t, 4> d;
  const hn::Repartition<int16_t, decltype(d)> halves;
  const hn::Rebind<int8_t, decltype(halves)> stored;
  const auto offset = hn::Set(halves, int16_t(zero));
  full_columns = columns / 4 * 4;
  full_depth = depth / 8 * 8;
  for (int64_t j = 0; j < full_columns; j += 4) {
    for (int64_t k = 0; k < full_depth; k += 8) {
      const auto pairs = [&](int64_t column) HWY_ATTR {
        return hn::BitCast(d, hn::Sub(hn::PromoteTo(halves, hn::LoadU(stored, from + column * stride + k)), offset));
      };
      gemm::HWY_NAMESPACE::store_columns(d, pairs(j), pairs(j + 1), pairs(j + 2), pairs(j + 3), to + k / 2 * width + j,
                                         width);
    }
  }
#endif
  for (int64_t j = 0; j < columns; ++j) {
    const int8_t* column = from + j * stride;
    for (int64_t k = j < full_columns ? full_depth : 0; k < depth; k += 2) {
      to[k / 2 * width + j] = pair_of(column[k] - zero, k + 1 < depth ? column[k + 1] - zero : 0);
    }
  }
  for (int64_t p = 0; p < (depth + 1) / 2; ++p) std::fill(to + p * width + columns, to + (p + 1) * width, 0);
}

// ---- the micro-kernel ----

using Tag = hn::ScalableTag<int32_t>;
using Sums = hn::Vec<Tag>;

// Whether the machine multiplies and adds pairs in one instruction. Highway 1.0.3 has no name for it.
#if HWY_TARGET == HWY_AVX3
inline bool has_vnni() { return __builtin_cpu_supports("avx512vnni"); }
#else
inline bool has_vnni() { return false; }
#endif

template <bool kVnni>
HWY_INLINE Sums add_products(Sums sum, Sums a, Sums b) {
#if HWY_TARGET == HWY_SCALAR
  const int32_t left = hn::GetLane(a), right = hn::GetLane(b);
  return hn::Add(sum, hn::Set(Tag(), int16_t(left) * int16_t(right) + (left >> 16) * (right >> 16)));
#else
#if HWY_TARGET == HWY_AVX3
  if constexpr (kVnni) {
    __asm__("vpdpwssd %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
    return sum;
  }
#endif
  const hn::Repartition<int16_t, Tag> halves;
  Sums other = hn::Zero(Tag());  // stays zero on x86
  return hn::ReorderWidenMulAccumulate(Tag(), hn::BitCast(halves, a), hn::BitCast(halves, b), sum, other);
#endif
}

// tile[r][c] = (resumes ? tile[r][c] : 0) + sum over pairs p of a[r][p] . b[p][c]; layouts as in gemm/micro-inl.h.
template <int kRows, bool kVnni>
HWY_NOINLINE void micro(const int16_t* HWY_RESTRICT a, const int32_t* HWY_RESTRICT b, int64_t pairs, bool resumes,
                        int32_t* HWY_RESTRICT tile) {
  constexpr int kVectors = gemm::HWY_NAMESPACE::kVectors;
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  Sums sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  for (int64_t p = 0; p < pairs; ++p, b += kVectors * lanes) {
    Sums row[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) row[v] = hn::Load(d, b + v * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      int32_t element;
      std::memcpy(&element, a + r * kDepth + 2 * p, sizeof element);
      const Sums pair = hn::Set(d, element);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sums[r][v] = add_products<kVnni>(sums[r][v], pair, row[v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      int32_t* to = tile + (r * kVectors + v) * lanes;
      hn::Store(resumes ? hn::Add(hn::Load(d, to), sums[r][v]) : sums[r][v], d, to);
    }
  }
}

struct Strip {
  int64_t rows;
  void (*run)(const int16_t*, const int32_t*, int64_t, bool, int32_t*);
};

// The smallest strip that covers `rows` rows, among the widest one's rows and their successive halves.
template <bool kVnni, int kRows = gemm::HWY_NAMESPACE::kMaxRows>
Strip strip_for(int64_t rows) {
  if constexpr (kRows > 1) {
    if (rows <= (kRows + 1) / 2) return strip_for<kVnni, (kRows + 1) / 2>(rows);
  }
  return {kRows, &micro<kRows, kVnni>};
}

}  // namespace assay::gemm_int8::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
