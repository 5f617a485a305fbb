// Two vectors at once: 2 Lanes(d) neighbouring elements of a row, in the order that is cheapest to convert. Of bf16,
// the first vector holds the even elements and the second the odd ones, which a shift and a mask make of one load, and
// a shift and a merge make into one store; of other types each holds one half. An element's place depends on its index
// alone. Include it inside a Highway kernel after foreach_target.h.
#if defined(ASSAY_KERNELS_COMMON_PAIR_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_COMMON_PAIR_INL_H
#undef ASSAY_KERNELS_COMMON_PAIR_INL_H
#else
#define ASSAY_KERNELS_COMMON_PAIR_INL_H
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "common/half-inl.h"
#include "common/rows.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
struct Pair {
  hn::Vec<D> first, second;
};

template <class T>
inline constexpr bool is_interleaved = std::is_same_v<std::remove_const_t<T>, bf16>;

// f(vector) on both, f(vector, vector) on those of two pairs.
template <class D, class F>
HWY_INLINE Pair<D> each(D, const Pair<D>& p, F f) {
  return {f(p.first), f(p.second)};
}
template <class D, class F>
HWY_INLINE Pair<D> each(D, const Pair<D>& p, const Pair<D>& q, F f) {
  return {f(p.first, q.first), f(p.second, q.second)};
}

// The first `count` elements of p, others from q.
template <class T, class D>
HWY_INLINE Pair<D> first_of(D d, size_t count, const Pair<D>& p, const Pair<D>& q) {
  const size_t lanes = hn::Lanes(d);
  const size_t first = is_interleaved<T> ? (count + 1) / 2 : HWY_MIN(count, lanes);
  return {hn::IfThenElse(hn::FirstN(d, first), p.first, q.first),
          hn::IfThenElse(hn::FirstN(d, count - first), p.second, q.second)};
}

// ---- bf16 as words of two elements, the even one in the lower half ----

template <class D>
HWY_INLINE Pair<D> split(D d, hn::Vec<hn::RebindToUnsigned<D>> words) {
  const hn::RebindToUnsigned<D> du;
  return {hn::BitCast(d, hn::ShiftLeft<16>(words)), hn::BitCast(d, hn::And(words, hn::Set(du, 0xFFFF0000u)))};
}

// Rounds to nearest even, in the upper half of each lane. NaN stays NaN where the lower half of its payload is 0: so
// are those that come from 16-bit elements and those that arithmetic makes.
template <class D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> rounded_upper_half(D d, hn::Vec<D> v) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, v);
  const auto is_odd = hn::TestBit(bits, hn::Set(du, 0x10000u));
  (void)d;
  return hn::Add(bits, hn::IfThenElse(is_odd, hn::Set(du, 0x8000u), hn::Set(du, 0x7FFFu)));
}

template <class D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> merge(D d, const Pair<D>& p) {
  const hn::RebindToUnsigned<D> du;
  return hn::Or(hn::ShiftRight<16>(rounded_upper_half(d, p.first)),
                hn::And(rounded_upper_half(d, p.second), hn::Set(du, 0xFFFF0000u)));
}

// ---- loads and stores, at any address ----

// Asks memory for the cache lines of the pair that lies `bytes` after `from`.
template <class D, class T>
HWY_INLINE void fetch_pair(D, const T* from, int64_t bytes) {
  constexpr int64_t kLine = 64, kPairBytes = 2 * hn::MaxLanes(D()) * sizeof(T);
  for (int64_t line = 0; line < kPairBytes; line += kLine) fetch_ahead(from, bytes + line);
}

template <class D, class T>
HWY_INLINE Pair<D> load_pair(D d, const T* from) {
  if constexpr (is_interleaved<T>) {
    return split(d, hn::LoadU(hn::RebindToUnsigned<D>(), reinterpret_cast<const uint32_t*>(from)));
  } else {
    return {load(d, from), load(d, from + hn::Lanes(d))};
  }
}

// The first `count` elements, 0 < count < 2 Lanes(d); no other byte is touched, other elements load as zero.
template <class D, class T>
HWY_INLINE Pair<D> load_pair_n(D d, const T* from, size_t count) {
  if constexpr (is_interleaved<T>) {
    const hn::RebindToUnsigned<D> du;
#if ASSAY_HAS_MASKED_MEMORY
    const hn::Repartition<uint16_t, D> d16;
    return split(d, hn::BitCast(du, hn::MaskedLoad(hn::FirstN(d16, count), d16, &from->bits)));
#else
    HWY_ALIGN uint32_t words[hn::MaxLanes(D())] = {};
    std::memcpy(words, from, HWY_MIN(count, 2 * hn::MaxLanes(D())) * sizeof(T));
    return split(d, hn::Load(du, words));
#endif
  } else {
    const size_t lanes = hn::Lanes(d);
    if (count <= lanes) return {load_n(d, from, count), hn::Zero(d)};
    return {load(d, from), load_n(d, from + lanes, count - lanes)};
  }
}

template <class D, class T>
HWY_INLINE void store_pair(D d, const Pair<D>& p, T* to) {
  if constexpr (is_interleaved<T>) {
    hn::StoreU(merge(d, p), hn::RebindToUnsigned<D>(), reinterpret_cast<uint32_t*>(to));
  } else {
    store(d, p.first, to);
    store(d, p.second, to + hn::Lanes(d));
  }
}

template <class D, class T>
HWY_INLINE void store_pair_n(D d, const Pair<D>& p, T* to, size_t count) {
  if constexpr (is_interleaved<T>) {
#if ASSAY_HAS_MASKED_MEMORY
    const hn::Repartition<uint16_t, D> d16;
    hn::BlendedStore(hn::BitCast(d16, merge(d, p)), hn::FirstN(d16, count), d16, &to->bits);
#else
    HWY_ALIGN uint32_t words[hn::MaxLanes(D())];
    hn::Store(merge(d, p), hn::RebindToUnsigned<D>(), words);
    std::memcpy(to, words, HWY_MIN(count, 2 * hn::MaxLanes(D())) * sizeof(T));
#endif
  } else {
    const size_t lanes = hn::Lanes(d);
    store_n(d, p.first, to, HWY_MIN(count, lanes));
    if (count > lanes) store_n(d, p.second, to + lanes, count - lanes);
  }
}

// Around the caches; `to` is aligned to the pair's bytes or a cache line, whichever is less.
template <class D, class T>
HWY_INLINE void stream_pair(D d, const Pair<D>& p, T* to) {
  // Highway 1.0.3 streams no less than 16 bytes, whatever the vector's size.
  if constexpr (hn::MaxLanes(D()) * sizeof(T) < 16) {
    store_pair(d, p, to);
  } else if constexpr (is_interleaved<T>) {
    hn::Stream(merge(d, p), hn::RebindToUnsigned<D>(), reinterpret_cast<uint32_t*>(to));
  } else if constexpr (is_half<T>) {
    const StorageTag<D> ds;
    const auto first = narrow(d, p.first, T{}), second = narrow(d, p.second, T{});
#if ASSAY_HAS_MASKED_MEMORY
    const hn::Repartition<uint16_t, D> d16;
    hn::Stream(hn::Combine(d16, second, first), d16, &to->bits);
    (void)ds;
#else
    hn::Stream(first, ds, &to->bits);
    hn::Stream(second, ds, &to->bits + hn::Lanes(d));
#endif
  } else {
    hn::Stream(p.first, d, to);
    hn::Stream(p.second, d, to + hn::Lanes(d));
  }
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
