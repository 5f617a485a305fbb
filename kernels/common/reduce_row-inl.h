// The order in which the SIMD kernels combine the terms of one row: the same for every address, leading dimension,
// thread count and neighbour, so that the bits are too. Include it inside a Highway kernel after foreach_target.h.
//
// A block is 32 vectors: four accumulators take eight vectors each, in turn, then are combined pairwise into the total
// of the blocks before it; last come the lanes, pairwise. With N lanes that is a tree of depth ceil(n / 32N) + 9 +
// log2(N); kRowDepthDivisor and kRowDepthConstant (rows.h) cover N = 1 (scalar code) to 16.
#if defined(ASSAY_KERNELS_COMMON_REDUCE_ROW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_COMMON_REDUCE_ROW_INL_H
#undef ASSAY_KERNELS_COMMON_REDUCE_ROW_INL_H
#else
#define ASSAY_KERNELS_COMMON_REDUCE_ROW_INL_H
#endif

#include <cstdint>
#include <limits>

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
    return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a);
  }
};

// The larger of two numbers; of NaN and a number either. For callers that see NaN elsewhere.
struct MaxOfNumbers : Max {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Max(a, b);
  }
};

template <class D, class Combine>
HWY_INLINE hn::TFromD<D> reduce_lanes(D d, hn::Vec<D> v, Combine combine) {
  const hn::CappedTag<hn::TFromD<D>, 1> one;
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(D())];
  hn::Store(v, d, lanes);
  for (size_t half = hn::Lanes(d) / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) {
      lanes[i] = hn::GetLane(combine(hn::Set(one, lanes[i]), hn::Set(one, lanes[i + half])));
    }
  }
  return lanes[0];
}

// Combines terms.whole(i), vectors of the elements from i on, and terms.part(i, count), whose lanes from `count` on
// hold combine.identity(), over a row of n elements. Every element is asked for once, in order.
template <class D, class Combine, class Terms>
HWY_INLINE hn::TFromD<D> reduce_row(D d, int64_t n, Combine combine, const Terms& terms) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto total = combine.identity(d);
  for (int64_t i = 0; i < n;) {
    auto a = combine.identity(d), b = a, c = a, e = a;
    const int64_t block_end = HWY_MIN(n, i + 32 * lanes);
    for (; i + 4 * lanes <= block_end; i += 4 * lanes) {
      a = combine(a, terms.whole(i));
      b = combine(b, terms.whole(i + lanes));
      c = combine(c, terms.whole(i + 2 * lanes));
      e = combine(e, terms.whole(i + 3 * lanes));
    }
    for (int next = 0; i < block_end; ++next) {
      const int64_t count = HWY_MIN(lanes, block_end - i);
      const auto term = count == lanes ? terms.whole(i) : terms.part(i, static_cast<size_t>(count));
      i += count;
      if (next == 0) a = combine(a, term);
      if (next == 1) b = combine(b, term);
      if (next == 2) c = combine(c, term);
      if (next == 3) e = combine(e, term);
    }
    total = combine(total, combine(combine(a, b), combine(c, e)));
  }
  return reduce_lanes(d, total, combine);
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
