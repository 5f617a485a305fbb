// Element types: names, sizes, and exact conversion between their bits and double. To add a type: one enumerator, one
// row in format_of(), one in kDTypeNames.
//
// encode() rounds to nearest even. Floats overflow as the format does (infinity; e4m3 has none and gives NaN unless
// `saturate`); integers always saturate. decode() is exact for every type but i64-sized integers, which do not exist
// here.
#pragma once

#include <assay/abi.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include "core/hd.h"

namespace assay {

enum class DType : uint8_t { f64, f32, f16, bf16, e4m3, i32, i8, u8 };
inline constexpr std::array<std::string_view, 8> kDTypeNames{"f64", "f32", "f16", "bf16", "e4m3", "i32", "i8", "u8"};

// A binary floating-point format. `precision` counts the implicit bit; the smallest normal number is 2^min_exponent.
struct FloatFormat {
  int precision;
  int min_exponent;
  int max_exponent;  // of the largest finite number, as floor(log2)
  bool has_infinity;
};

ASSAY_HD constexpr bool is_float(DType t) { return t <= DType::e4m3; }

ASSAY_HD constexpr FloatFormat format_of(DType t) {
  switch (t) {
    case DType::f64:
      return {53, -1022, 1023, true};
    case DType::f32:
      return {24, -126, 127, true};
    case DType::f16:
      return {11, -14, 15, true};
    case DType::bf16:
      return {8, -126, 127, true};
    case DType::e4m3:
      return {4, -6, 8, false};
    default:
      return {0, 0, 0, false};
  }
}

ASSAY_HD constexpr size_t size_of(DType t) {
  switch (t) {
    case DType::f64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::f16:
    case DType::bf16:
      return 2;
    default:
      return 1;
  }
}

// Unit roundoff: 2^-precision. Zero for integers.
ASSAY_HD constexpr double unit_roundoff(DType t) {
  double u = 1;
  for (int i = 0; i < format_of(t).precision; ++i) u *= 0.5;
  return is_float(t) ? u : 0;
}

ASSAY_HD constexpr double largest_finite(DType t) {
  switch (t) {
    case DType::f64:
      return std::numeric_limits<double>::max();
    case DType::f32:
      return std::numeric_limits<float>::max();
    case DType::f16:
      return 65504;
    case DType::bf16:
      return 0x1.fep127;
    case DType::e4m3:
      return 448;
    case DType::i32:
      return 2147483647;
    case DType::i8:
      return 127;
    default:
      return 255;
  }
}

// Most negative value.
ASSAY_HD constexpr double lowest(DType t) {
  switch (t) {
    case DType::i32:
      return -2147483648.0;
    case DType::i8:
      return -128;
    case DType::u8:
      return 0;
    default:
      return -largest_finite(t);
  }
}

// Distance from zero to the smallest positive (subnormal) number of a float type.
ASSAY_HD inline double smallest_subnormal(DType t) {
  return std::ldexp(1.0, format_of(t).min_exponent - format_of(t).precision + 1);
}

inline std::string_view name_of(DType t) { return kDTypeNames[static_cast<size_t>(t)]; }

inline std::optional<DType> dtype_named(std::string_view name) {
  for (size_t i = 0; i < kDTypeNames.size(); ++i) {
    if (kDTypeNames[i] == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

constexpr assay_dtype abi_dtype(DType t) {
  switch (t) {
    case DType::f64:
      return {2, 64, 1};
    case DType::f32:
      return {2, 32, 1};
    case DType::f16:
      return {2, 16, 1};
    case DType::bf16:
      return {4, 16, 1};
    case DType::e4m3:
      return {10, 8, 1};
    case DType::i32:
      return {0, 32, 1};
    case DType::i8:
      return {0, 8, 1};
    default:
      return {1, 8, 1};
  }
}

namespace detail {
ASSAY_HD inline double power_of_two(int exponent) {  // of normal doubles
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

// Machines differ in what a conversion makes of a NaN.
ASSAY_HD constexpr uint64_t quiet_nan_bits(DType t, bool negative) {
  switch (t) {
    case DType::f64:
      return negative ? 0xfff8000000000000u : 0x7ff8000000000000u;
    case DType::f32:
      return negative ? 0xffc00000u : 0x7fc00000u;
    case DType::f16:
      return negative ? 0xfe00u : 0x7e00u;
    case DType::bf16:
      return negative ? 0xffc0u : 0x7fc0u;
    default:  // e4m3; integers have none
      return negative ? 0xffu : 0x7fu;
  }
}

// The value of a float's bits. A GPU's conversion loses sign and payload of a NaN.
ASSAY_HD inline double widened(uint32_t bits) {
  const auto value = std::bit_cast<float>(bits);
#ifdef __CUDA_ARCH__
  if (!(value == value)) {
    return std::bit_cast<double>(quiet_nan_bits(DType::f64, (bits >> 31) != 0) | uint64_t{bits & 0x7fffffu} << 29);
  }
#endif
  return value;
}
}  // namespace detail

// The value of an element's bits (in the low bytes of `bits`).
ASSAY_HD inline double decode(DType t, uint64_t bits) {
  switch (t) {
    case DType::f64:
      return std::bit_cast<double>(bits);
    case DType::f32:
      return detail::widened(static_cast<uint32_t>(bits));
    case DType::bf16:
      return detail::widened(static_cast<uint32_t>(bits) << 16);
    case DType::i32:
      return static_cast<int32_t>(bits);
    case DType::i8:
      return static_cast<int8_t>(bits);
    case DType::u8:
      return static_cast<uint8_t>(bits);
    default:
      break;
  }
  const bool half = t == DType::f16;
  const int fraction_bits = half ? 10 : 3;
  const int exponent_mask = half ? 31 : 15;
  const int bias = half ? 15 : 7;
  const int fraction = static_cast<int>(bits & ((1u << fraction_bits) - 1));
  const int exponent = static_cast<int>(bits >> fraction_bits) & exponent_mask;
  const bool negative = (bits >> (half ? 15 : 7)) & 1;
  double value;
  if (half ? exponent == 31 && fraction != 0 : exponent == 15 && fraction == 7) {  // a GPU's minus would lose the sign
    return std::bit_cast<double>(detail::quiet_nan_bits(DType::f64, negative));
  } else if (half && exponent == 31) {
    value = std::numeric_limits<double>::infinity();
  } else {
    const int least = exponent == 0 ? 1 : exponent;  // subnormals share the exponent of the smallest normal numbers
    const int integer = fraction + (exponent == 0 ? 0 : 1 << fraction_bits);
    value = integer * detail::power_of_two(least - bias - fraction_bits);
  }
  return negative ? -value : value;
}

// `x` rounded to the nearest number of `t`, ties to even, as a double. NaN for NaN in float types, 0 in integers.
ASSAY_HD inline double round_to(DType t, double x, bool saturate = false) {
  if (!is_float(t)) {
    if (!(x == x)) return 0;
    const double r = std::nearbyint(x);
    return r < lowest(t) ? lowest(t) : r > largest_finite(t) ? largest_finite(t) : r;
  }
  if (t == DType::f64) return x;
  // Adding 1.5 times 2^52 of the last place to be kept makes the hardware round there, to nearest even. Without a
  // branch: zeros, infinities and NaN come out as they are, and what lies beyond the range still does.
  const FloatFormat f = format_of(t);
  const int exponent = static_cast<int>(std::bit_cast<uint64_t>(x) >> 52 & 0x7ff) - 1023;
  const int below = exponent < f.max_exponent ? exponent : f.max_exponent;
  const int lowest_bit = (below < f.min_exponent ? f.min_exponent : below) - f.precision + 1;
  const double magic = 1.5 * detail::power_of_two(lowest_bit + 52);
  const double r = std::copysign((x + magic) - magic, x);
  const double beyond = saturate         ? largest_finite(t)
                        : f.has_infinity ? std::numeric_limits<double>::infinity()
                                         : std::numeric_limits<double>::quiet_NaN();
  return std::fabs(r) > largest_finite(t) ? std::copysign(beyond, x) : r;
}

// Bits of round_to(t, x). NaN becomes the type's quiet NaN with the sign of x.
ASSAY_HD inline uint64_t encode(DType t, double x, bool saturate = false) {
  const double r = round_to(t, x, saturate);
  if (!(r == r)) return detail::quiet_nan_bits(t, std::signbit(r));
  switch (t) {
    case DType::f64:
      return std::bit_cast<uint64_t>(r);
    case DType::f32:
      return std::bit_cast<uint32_t>(static_cast<float>(r));
    case DType::bf16:
      return std::bit_cast<uint32_t>(static_cast<float>(r)) >> 16;
    case DType::i32:
      return static_cast<uint32_t>(static_cast<int32_t>(r));
    case DType::i8:
      return static_cast<uint8_t>(static_cast<int8_t>(r));
    case DType::u8:
      return static_cast<uint8_t>(r);
    default:
      break;
  }
  const bool half = t == DType::f16;
  const int fraction_bits = half ? 10 : 3;
  const int bias = half ? 15 : 7;
  const uint64_t sign = std::signbit(r) ? (half ? 0x8000u : 0x80u) : 0u;
  const double magnitude = std::fabs(r);
  if (std::isinf(magnitude)) return sign | 0x7c00u;
  if (magnitude == 0) return sign;
  const uint64_t wide = std::bit_cast<uint64_t>(magnitude);
  const int biased = static_cast<int>(wide >> 52) - 1023 + bias;
  if (biased <= 0) return sign | static_cast<uint64_t>(magnitude * detail::power_of_two(bias - 1 + fraction_bits));
  const uint64_t fraction = (wide >> (52 - fraction_bits)) & ((1u << fraction_bits) - 1);
  return sign | (static_cast<uint64_t>(biased) << fraction_bits) | fraction;
}

// Element `i` of a packed array.
ASSAY_HD inline uint64_t load_bits(DType t, const void* base, int64_t i) {
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const char*>(base) + i * static_cast<int64_t>(size_of(t)), size_of(t));
  return bits;
}
ASSAY_HD inline void store_bits(DType t, void* base, int64_t i, uint64_t bits) {
  std::memcpy(static_cast<char*>(base) + i * static_cast<int64_t>(size_of(t)), &bits, size_of(t));
}
ASSAY_HD inline double load(DType t, const void* base, int64_t i) { return decode(t, load_bits(t, base, i)); }

}  // namespace assay
