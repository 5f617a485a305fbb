// Loads and stores that convert between a tensor's element type and the type it is computed in: f16 and bf16 are
// computed in float, float and double in themselves. Widening is exact, narrowing rounds to nearest even, NaN stays
// NaN, subnormals are kept, on every instruction set. Highway's own narrowing is used only where it is a machine
// instruction: in 1.0.3 its bf16 truncates, and its emulation of f16 truncates and drops subnormals.
//
// Include it inside a Highway kernel after foreach_target.h; the names live in assay::simd::HWY_NAMESPACE.
// To add an element type: one widen and one narrow.
#if defined(ASSAY_KERNELS_COMMON_HALF_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_COMMON_HALF_INL_H
#undef ASSAY_KERNELS_COMMON_HALF_INL_H
#else
#define ASSAY_KERNELS_COMMON_HALF_INL_H
#endif

#include <assay/kernel.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// x86 from AVX2 on converts f16 in hardware, and AVX-512 has loads and stores that touch masked lanes alone.
#define ASSAY_HAS_F16C (HWY_TARGET <= HWY_AVX2)
#define ASSAY_HAS_MASKED_MEMORY (HWY_TARGET <= HWY_AVX3)

template <class T>
inline constexpr bool is_half =
    std::is_same_v<std::remove_const_t<T>, f16> || std::is_same_v<std::remove_const_t<T>, bf16>;

// The type that elements of T are computed in.
template <class T>
using ComputeOf = std::conditional_t<is_half<T>, float, std::remove_const_t<T>>;

// ---- between vectors of float and of their 16-bit storage ----

template <class D>
using StorageTag = hn::Rebind<uint16_t, D>;

template <class D>
HWY_INLINE hn::Vec<D> widen(D d, hn::Vec<StorageTag<D>> stored, bf16) {
  const hn::Rebind<uint32_t, D> du;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, stored)));
}

template <class D>
HWY_INLINE hn::Vec<StorageTag<D>> narrow(D d, hn::Vec<D> v, bf16) {
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(du, v);
  const auto upper = hn::ShiftRight<16>(bits);
  const auto half = hn::Add(hn::Set(du, 0x7FFF), hn::And(upper, hn::Set(du, 1)));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, half));
  const auto quiet = hn::Or(upper, hn::Set(du, 0x40));
  const auto result = hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(v)), quiet, rounded);
  (void)d;
  return hn::DemoteTo(StorageTag<D>(), hn::BitCast(di, result));
}

template <class D>
HWY_INLINE hn::Vec<D> widen(D d, hn::Vec<StorageTag<D>> stored, f16) {
#if ASSAY_HAS_F16C
  return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), stored));
#else
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  const auto bits = hn::PromoteTo(du, stored);
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000)));
  const auto magnitude = hn::And(bits, hn::Set(du, 0x7FFF));
  const auto signed_magnitude = hn::BitCast(di, magnitude);
  const auto shifted = hn::ShiftLeft<13>(magnitude);
  const auto normal = hn::Add(shifted, hn::Set(du, 112u << 23));     // exponent bias 127 - 15
  const auto nonfinite = hn::Add(shifted, hn::Set(du, 224u << 23));  // exponent 31 becomes 255
  const auto scaled = hn::Mul(hn::ConvertTo(d, signed_magnitude), hn::Set(d, 0x1p-24f));
  const auto is_tiny = hn::RebindMask(du, hn::Lt(signed_magnitude, hn::Set(di, 0x0400)));
  const auto is_nonfinite = hn::RebindMask(du, hn::Gt(signed_magnitude, hn::Set(di, 0x7BFF)));
  const auto finite = hn::IfThenElse(is_tiny, hn::BitCast(du, scaled), normal);
  return hn::BitCast(d, hn::Or(sign, hn::IfThenElse(is_nonfinite, nonfinite, finite)));
#endif
}

template <class D>
HWY_INLINE hn::Vec<StorageTag<D>> narrow(D d, hn::Vec<D> v, f16) {
  const StorageTag<D> ds;
#if ASSAY_HAS_F16C
  (void)d;
  return hn::BitCast(ds, hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v));
#else
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(du, v);
  const auto magnitude = hn::And(bits, hn::Set(du, 0x7FFFFFFF));
  const auto signed_magnitude = hn::BitCast(di, magnitude);
  const auto is_nan = hn::RebindMask(du, hn::Gt(signed_magnitude, hn::Set(di, 0x7F800000)));
  const auto is_big = hn::RebindMask(du, hn::Gt(signed_magnitude, hn::Set(di, 0x477FEFFF)));   // >= 65520
  const auto is_tiny = hn::RebindMask(du, hn::Lt(signed_magnitude, hn::Set(di, 0x38800000)));  // < 2^-14
  const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 1));
  const auto rounded = hn::Add(magnitude, hn::Add(hn::Set(du, 0xFFF), odd));
  const auto normal = hn::ShiftRight<13>(hn::Sub(rounded, hn::Set(du, 112u << 23)));
  // Adding 0.5, whose last place is 2^-24, rounds to a multiple of f16's smallest subnormal.
  const auto half = hn::Set(d, 0.5f);
  const auto tiny = hn::Sub(hn::BitCast(du, hn::Add(hn::BitCast(d, magnitude), half)), hn::BitCast(du, half));
  const auto quiet = hn::Or(hn::Set(du, 0x7E00), hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 0x3FF)));
  auto result = hn::IfThenElse(is_tiny, tiny, normal);
  result = hn::IfThenElse(is_big, hn::Set(du, 0x7C00), result);
  result = hn::IfThenElse(is_nan, quiet, result);
  result = hn::Or(result, hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 0x8000)));
  return hn::DemoteTo(ds, hn::BitCast(di, result));
#endif
}

// ---- a whole vector, at any address ----

template <class D, class T>
HWY_INLINE hn::Vec<D> load(D d, const T* from) {
  if constexpr (is_half<T>) {
    return widen(d, hn::LoadU(StorageTag<D>(), &from->bits), T{});
  } else {
    return hn::LoadU(d, from);
  }
}

template <class D, class T>
HWY_INLINE void store(D d, hn::Vec<D> v, T* to) {
  if constexpr (is_half<T>) {
    hn::StoreU(narrow(d, v, T{}), StorageTag<D>(), &to->bits);
  } else {
    hn::StoreU(v, d, to);
  }
}

// ---- the first `count` lanes, count <= Lanes(d); no other byte is touched, other lanes load as zero ----

template <class D>
HWY_INLINE hn::Vec<D> load_lanes(D d, const hn::TFromD<D>* from, size_t count) {
#if ASSAY_HAS_MASKED_MEMORY
  return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#else
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(D())] = {};
  std::memcpy(lanes, from, std::min(count, hn::MaxLanes(D())) * sizeof(lanes[0]));
  return hn::Load(d, lanes);
#endif
}

template <class D>
HWY_INLINE void store_lanes(D d, hn::Vec<D> v, hn::TFromD<D>* to, size_t count) {
#if ASSAY_HAS_MASKED_MEMORY
  hn::BlendedStore(v, hn::FirstN(d, count), d, to);
#else
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(D())];
  hn::Store(v, d, lanes);
  std::memcpy(to, lanes, std::min(count, hn::MaxLanes(D())) * sizeof(lanes[0]));
#endif
}

template <class D, class T>
HWY_INLINE hn::Vec<D> load_n(D d, const T* from, size_t count) {
  if constexpr (is_half<T>) {
    return widen(d, load_lanes(StorageTag<D>(), &from->bits, count), T{});
  } else {
    return load_lanes(d, from, count);
  }
}

template <class D, class T>
HWY_INLINE void store_n(D d, hn::Vec<D> v, T* to, size_t count) {
  if constexpr (is_half<T>) {
    store_lanes(StorageTag<D>(), narrow(d, v, T{}), &to->bits, count);
  } else {
    store_lanes(d, v, to, count);
  }
}

// ---- one element ----

template <class T>
HWY_INLINE ComputeOf<T> load_one(const T* from) {
  return hn::GetLane(load(hn::CappedTag<ComputeOf<T>, 1>(), from));
}

template <class T>
HWY_INLINE void store_one(ComputeOf<T> value, T* to) {
  const hn::CappedTag<ComputeOf<T>, 1> d;
  store(d, hn::Set(d, value), to);
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
