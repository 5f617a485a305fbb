// When floating-point sums are exact in every order: if all terms are multiples of 2^quantum and no partial sum can
// exceed 2^(quantum + precision) in magnitude, every partial sum is representable, so no rounding ever happens.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/dtype.h"
#include "core/hd.h"

namespace assay {

// Quantum of no term at all: a multiple of everything.
inline constexpr int kNoQuantum = 1 << 20;

// Of a number that is not 0. (In device code std::countr_zero compiles, and counts 32 bits.)
ASSAY_HD inline int trailing_zeros(uint64_t x) {
#ifdef __CUDA_ARCH__
  return __ffsll(static_cast<long long>(x)) - 1;
#else
  return std::countr_zero(x);
#endif
}

// Exponent of the lowest set bit of a finite number; kNoQuantum for zero.
ASSAY_HD inline int quantum_of(double x) {
  if (x == 0) return kNoQuantum;
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const int field = static_cast<int>(bits >> 52 & 0x7ff);
  const uint64_t significand = (bits & 0xfffffffffffffu) | (field == 0 ? 0 : uint64_t{1} << 52);
  return (field == 0 ? 1 : field) - 1075 + trailing_zeros(significand);
}

ASSAY_HD inline int finer_of(int a, int b) { return a < b ? a : b; }

// Sums of multiples of 2^quantum, bounded by `largest` whatever the order, are exact in `type`. With flushing, a
// non-zero multiple must be a normal number.
ASSAY_HD inline bool sums_are_exact(DType type, double largest, int quantum, bool flushes_subnormals) {
  const FloatFormat format = format_of(type);
  const int finest = flushes_subnormals ? format.min_exponent : format.min_exponent - format.precision + 1;
  if (quantum < finest || !(largest <= largest_finite(type))) return false;
  return largest <= std::ldexp(1.0, quantum < 4096 ? quantum + format.precision : 4096);
}

}  // namespace assay
