// Stores of results that nobody reads soon, around the caches. Include it inside a Highway kernel after
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

// Whether vectors of `to`'s elements, one after the other from `to` on, may be streamed.
template <class D, class T>
HWY_INLINE bool can_stream(D d, const T* to) {
  return reinterpret_cast<uintptr_t>(to) % (hn::Lanes(d) * sizeof(T)) == 0;
}

template <class D, class T>
HWY_INLINE void store_or_stream(D d, hn::Vec<D> v, T* to, bool stream) {
  if (!stream) {
    store(d, v, to);
  } else if constexpr (is_half<T>) {
    hn::Stream(narrow(d, v, T{}), StorageTag<D>(), &to->bits);
  } else {
    hn::Stream(v, d, to);
  }
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
