// Writes a row of results, around the caches where nobody reads them soon. Include it inside a Highway kernel after
// foreach_target.h; whoever streamed calls hwy::FlushStream() before another thread may read.
#if defined(ASSAY_KERNELS_COMMON_STREAM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_COMMON_STREAM_INL_H
#undef ASSAY_KERNELS_COMMON_STREAM_INL_H
#else
#define ASSAY_KERNELS_COMMON_STREAM_INL_H
#endif

#include <cstdint>

#include "common/half-inl.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, class T>
HWY_INLINE void store_or_stream(D d, hn::Vec<D> v, T* to, bool stream) {
  // Highway 1.0.3 streams no less than 16 bytes, whatever the vector's size.
  constexpr bool kStreams = hn::MaxLanes(D()) * sizeof(T) >= 16;
  if (!kStreams || !stream) {
    store(d, v, to);
  } else if constexpr (is_half<T>) {
    hn::Stream(narrow(d, v, T{}), StorageTag<D>(), &to->bits);
  } else {
    hn::Stream(v, d, to);
  }
}

// Elements before the first whole vector of `to` that is aligned, as a streamed one has to be; `to` is aligned to its
// elements.
template <class D, class T>
HWY_INLINE int64_t elements_before_alignment(D d, const T* to) {
  const size_t vector_bytes = hn::Lanes(d) * sizeof(T);
  const size_t past = reinterpret_cast<uintptr_t>(to) % vector_bytes;
  return static_cast<int64_t>((vector_bytes - past) % vector_bytes / sizeof(T));
}

// to[0, n) = results.whole(i), vectors of the results from i on, and results.first(i, count), where only the first
// `count` lanes matter. Where a vector begins depends on the address: each lane must depend on its own element alone.
template <class D, class T, class Results>
HWY_INLINE void write_row(D d, const Results& results, T* to, int64_t n, bool stream) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  const auto write_first = [&](int64_t count) HWY_ATTR {
    store_n(d, results.first(i, static_cast<size_t>(count)), to + i, static_cast<size_t>(count));
    i += count;
  };
  if (stream) {
    const int64_t head = HWY_MIN(n, elements_before_alignment(d, to));
    if (head > 0) write_first(head);
  }
  if (stream) {
    // Two pages at a time: one would leave memory waiting for its translation at each page's end.
    const int64_t half = (n - i) / lanes / 2 * lanes;
    for (const int64_t end = i + half; i < end; i += lanes) {
      store_or_stream(d, results.whole(i), to + i, true);
      store_or_stream(d, results.whole(i + half), to + i + half, true);
    }
    i += half;
  }
  for (; i + lanes <= n; i += lanes) store_or_stream(d, results.whole(i), to + i, stream);
  if (i < n) write_first(n - i);
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
