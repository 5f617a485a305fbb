// What checks need to know about the numbers of an element type beyond core/dtype.h: rounding in the extended order,
// in which infinities are ends, and distance in units of the type itself. The type is a template argument, so that a
// loop over many elements is compiled once a type.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/dtype.h"

namespace assay {

// Calls body with std::integral_constant<DType, t>.
template <class Body>
decltype(auto) with_dtype(DType t, Body&& body) {
  switch (t) {
    case DType::f64:
      return body(std::integral_constant<DType, DType::f64>{});
    case DType::f32:
      return body(std::integral_constant<DType, DType::f32>{});
    case DType::f16:
      return body(std::integral_constant<DType, DType::f16>{});
    case DType::bf16:
      return body(std::integral_constant<DType, DType::bf16>{});
    case DType::e4m3:
      return body(std::integral_constant<DType, DType::e4m3>{});
    case DType::i32:
      return body(std::integral_constant<DType, DType::i32>{});
    case DType::i8:
      return body(std::integral_constant<DType, DType::i8>{});
    default:
      return body(std::integral_constant<DType, DType::u8>{});
  }
}

// The nearest number of T, ties to even; beyond the range an infinity (in e4m3 too, where it stands for NaN), in
// integers the nearest end. `x` is not NaN.
template <DType T>
ASSAY_HD double round_extended(double x) {
  if constexpr (T == DType::f32) return static_cast<float>(x);
  const double r = round_to(T, x);
  return r == r ? r : std::copysign(std::numeric_limits<double>::infinity(), x);
}

// Unsigned integers that hold the bits of an element.
template <size_t kBytes>
using BitsOf =
    std::conditional_t<kBytes == 8, uint64_t,
                       std::conditional_t<kBytes == 4, uint32_t, std::conditional_t<kBytes == 2, uint16_t, uint8_t>>>;

// Neighbouring numbers of T have neighbouring positions, so a difference of positions is a distance in ulps, across
// binades too. Both zeros are 0. `v` is a number of T or infinite.
template <DType T>
ASSAY_HD int64_t position(double v) {
  if constexpr (!is_float(T)) {
    return static_cast<int64_t>(v);
  } else {
    const uint64_t bits = encode(T, v);
    const auto magnitude = static_cast<int64_t>(bits & ~(uint64_t{1} << (8 * size_of(T) - 1)));
    return std::signbit(v) ? -magnitude : magnitude;
  }
}

}  // namespace assay
