// The order in which the SIMD kernels combine the terms of one row: the same for every address, leading dimension,
// thread count and neighbour, so that the bits are too. Include it inside a Highway kernel after foreach_target.h.
//
// A block is 32 vectors, 16 pairs of them (pair-inl.h): four accumulators take eight vectors each, in turn, then are
// combined pairwise into the total of the blocks before it; last come the lanes, pairwise. With N lanes that is a tree
// of depth ceil(n / 32N) + 9 + log2(N); kRowDepthDivisor and kRowDepthConstant (rows.h) cover N = 1 (scalar code)
// to 16.
#if defined(ASSAY_KERNELS_COMMON_REDUCE_ROW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_COMMON_REDUCE_ROW_INL_H
#undef ASSAY_KERNELS_COMMON_REDUCE_ROW_INL_H
#else
#define ASSAY_KERNELS_COMMON_REDUCE_ROW_INL_H
#endif

#include <cstdint>
#include <limits>

#include "common/pair-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct Add {
  template <class D>
  HWY_INLINE hn::Vec<D> identity(D d) const {
    return hn::Zero(d);
  }
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Add(a, b);
  }
};

// The larger; NaN if either is.
struct Max {
  template <class D>
  HWY_INLINE hn::Vec<D> identity(D d) const {
    return hn::Set(d, -std::numeric_limits<hn::TFromD<D>>::infinity());
  }
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
#if HWY_TARGET <= HWY_SSE4 && HWY_TARGET >= HWY_AVX3_DL
    // x86's maximum is its second operand where one is NaN or both are zeros: a waits for one instruction less.
    return hn::IfThenElse(hn::IsNaN(b), b, hn::Max(b, a));
#else
    return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a);
#endif
  }
};

// The larger of two numbers; of NaN and a number either. For callers that see NaN elsewhere.
struct MaxOfNumbers : Max {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Max(a, b);
  }
};

// The lanes pairwise: i with i + half, then the same of the half.
template <class D, class Combine>
HWY_INLINE hn::TFromD<D> reduce_lanes(D d, hn::Vec<D> v, Combine combine) {
#if HWY_TARGET <= HWY_SSE4 && HWY_TARGET >= HWY_AVX3_DL
  if constexpr (hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) == 64) {
    v = combine(v, hn::ConcatLowerUpper(d, v, v));
    v = combine(v, hn::SwapAdjacentBlocks(v));
  } else if constexpr (hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) == 32) {
    v = combine(v, hn::ConcatLowerUpper(d, v, v));
  }
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    v = combine(v, hn::Shuffle1032(v));
    v = combine(v, hn::Shuffle2301(v));
  } else {
    v = combine(v, hn::Shuffle01(v));
  }
  return hn::GetLane(v);
#else
  const hn::CappedTag<hn::TFromD<D>, 1> one;
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(D())];
  hn::Store(v, d, lanes);
  for (size_t half = hn::Lanes(d) / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) {
      lanes[i] = hn::GetLane(combine(hn::Set(one, lanes[i]), hn::Set(one, lanes[i + half])));
    }
  }
  return lanes[0];
#endif
}

// reduce_row where the row is long or not; `run` is first_run's.
template <bool kLong, class D, class Combine, class Terms>
HWY_INLINE hn::TFromD<D> reduce_runs(D d, int64_t n, int64_t run, Combine combine, const Terms& terms) {
  constexpr Turn kEven = kLong ? Turn::even : Turn::only, kOdd = kLong ? Turn::odd : Turn::only;
  const int64_t two = 2 * static_cast<int64_t>(hn::Lanes(d));
  // From an even pair to the odd one, from there to the next even one, and where pairs of pairs end.
  const int64_t to_odd = kLong ? run : two, step = kLong ? two : 2 * two;
  const int64_t pairs_end = kLong ? run : n / (2 * two) * (2 * two);
  auto total = combine.identity(d);
  for (int64_t i = 0; i < pairs_end;) {
    auto a = combine.identity(d), b = a, c = a, e = a;
    for (const int64_t block_end = HWY_MIN(pairs_end, i + 8 * step); i < block_end; i += step) {
      const auto p = terms.whole(i, kEven);
      a = combine(a, p.first);
      b = combine(b, p.second);
      const auto q = terms.whole(i + to_odd, kOdd);
      c = combine(c, q.first);
      e = combine(e, q.second);
    }
    total = combine(total, combine(combine(a, b), combine(c, e)));
  }
  int64_t i = kLong ? 2 * run : pairs_end;
  for (; i + two <= n; i += two) {
    const auto p = terms.whole(i, kOdd);
    total = combine(total, combine(p.first, p.second));
  }
  if (i < n) {
    const auto p = terms.part(i, static_cast<size_t>(n - i));
    total = combine(total, combine(p.first, p.second));
  }
  return reduce_lanes(d, total, combine);
}

// Combines terms.whole(i, turn), pairs of the elements from i on, and terms.part(i, count), whose elements from `count`
// on are combine.identity(), over a row of n elements. Every element is asked for once: a long row's runs (rows.h) take
// turns, each in order, and what they leave over comes last.
template <class D, class Combine, class Terms>
HWY_INLINE hn::TFromD<D> reduce_row(D d, int64_t n, Combine combine, const Terms& terms) {
  const int64_t run = first_run(n, 2 * static_cast<int64_t>(hn::Lanes(d)));
  return run < n ? reduce_runs<true>(d, n, run, combine, terms) : reduce_runs<false>(d, n, run, combine, terms);
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
