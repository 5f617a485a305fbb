// Integers modulo the prime p = 2^61 - 1, one source for host and device. A residue is a number in [0, p). Whatever is
// added in whatever order gives the same residue: there is nothing to round.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/hd.h"

namespace assay::residue {

inline constexpr uint64_t kModulus = (uint64_t{1} << 61) - 1;

// Of any 64 bits: 2^61 is 1.
ASSAY_HD constexpr uint64_t of_bits(uint64_t x) {
  const uint64_t folded = (x & kModulus) + (x >> 61);
  return folded >= kModulus ? folded - kModulus : folded;
}

ASSAY_HD constexpr uint64_t negated(uint64_t x) { return x == 0 ? 0 : kModulus - x; }

// Negatives are p - |c|.
ASSAY_HD constexpr uint64_t of_integer(int64_t c) {
  return c >= 0 ? of_bits(static_cast<uint64_t>(c)) : negated(of_bits(uint64_t{0} - static_cast<uint64_t>(c)));
}

ASSAY_HD constexpr uint64_t add(uint64_t x, uint64_t y) {
  const uint64_t sum = x + y;
  return sum >= kModulus ? sum - kModulus : sum;
}

ASSAY_HD constexpr uint64_t multiply(uint64_t x, uint64_t y) {
  const auto product = static_cast<unsigned __int128>(x) * y;  // below 2^122
  return add(of_bits(static_cast<uint64_t>(product) & kModulus), of_bits(static_cast<uint64_t>(product >> 61)));
}

// Many numbers below 2^64 added up by their halves: nothing is lost before 2^32 of them, and parts of a sum may be made
// anywhere and in any order.
struct HalfSums {
  uint64_t low = 0, high = 0;

  ASSAY_HD constexpr void add(uint64_t x) {
    low += x & 0xffffffffu;
    high += x >> 32;
  }
};

ASSAY_HD constexpr uint64_t of_sum(const HalfSums& sum) {
  return add(of_bits(sum.low), multiply(of_bits(sum.high), uint64_t{1} << 32));
}

// The least double that is no less than the sum.
inline double rounded_up(const HalfSums& sum) {
  const unsigned __int128 exact = (static_cast<unsigned __int128>(sum.high) << 32) + sum.low;
  const auto nearest = static_cast<double>(exact);
  return static_cast<unsigned __int128>(nearest) < exact
             ? std::nextafter(nearest, std::numeric_limits<double>::infinity())
             : nearest;
}

// An element as an integer of magnitude `limit` or less, where it is one.
struct Integer {
  bool is_one = false;
  int64_t value = 0;  // 0 where it is none
};
ASSAY_HD inline Integer integer_within(double x, double limit) {
  const bool is_one = std::fabs(x) <= limit && std::trunc(x) == x;  // not so of a NaN
  return {is_one, is_one ? static_cast<int64_t>(x) : 0};
}

}  // namespace assay::residue
