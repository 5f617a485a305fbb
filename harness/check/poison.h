// What memory holds before a kernel writes it, and how unwritten output is found.
//
// There are two patterns that differ in every byte. In float types both are signalling NaNs: arithmetic on unwritten
// memory shows, and what it makes of them is a quiet NaN, which is not mistaken for memory left alone (a kernel that
// reads what it should only write is wrong; one that does not write is another fault). Integers have no NaN and get two
// different bytes. Those of u8, which fill workspaces too, are in no other type's pattern of the same run: what is
// copied from a workspace nobody wrote is not mistaken for output left alone. A kernel runs once over each: a byte that
// holds the first pattern after the first run and the second pattern after the second was not written. A result that
// happens to equal one pattern in one run is not mistaken for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/hd.h"
#include "core/op.h"

namespace assay {

enum class Poison { first, second };

// Bits of one poisoned element.
uint64_t poison_bits(DType t, Poison poison);

// The byte of the pattern at `offset` bytes from an element's first byte; negative offsets are before it.
std::byte poison_byte(DType t, Poison poison, int64_t offset);

// The pattern as 8 bytes that repeat from an address `element_at` bytes before the first byte of an element.
std::array<std::byte, 8> poison_period(DType t, Poison poison, size_t element_at);

// Fills [begin, begin + bytes). The byte at begin + element_at is the first of an element: the pattern keeps step with
// the elements wherever a buffer starts.
void fill_poison(std::byte* begin, size_t bytes, size_t element_at, DType t, Poison poison);

struct Unwritten {
  int64_t count = 0;   // elements with an unwritten byte
  int64_t first = -1;  // logical index
  bool whole = true;   // of the first: all of its bytes, or some
};

// What two runs left of one element whose patterns are `first` and `second`.
struct Untouched {
  bool is_unwritten = false;
  bool whole = false;  // all of its bytes
};
template <DType T>
ASSAY_HD Untouched untouched(uint64_t first, uint64_t second, uint64_t after_first, uint64_t after_second,
                             bool single_bytes);

// `after_first` and `after_second` are element (0,...,0) after the run over each pattern. `single_bytes`: an element
// counts when any of its bytes is unwritten; ask for it where the contract promises the same bytes in both runs.
// Otherwise only when all are, since two honest runs that differ can hold the patterns of one byte by chance.
Unwritten find_unwritten(const TensorSpec& spec, const std::byte* after_first, const std::byte* after_second,
                         bool single_bytes);

// Whether these elements may have been written all the same: `differing` elements of the two runs, these counted in,
// are not the same. Of bytes that change at random one in 65536 holds its first pattern in the first run and its second
// in the second, so that of elements of eight bytes one in 8192 does. One in 1000 is allowed, as answers are not evenly
// spread.
bool may_be_by_chance(const Unwritten& unwritten, int64_t differing);

std::string describe(const TensorSpec& spec, const Unwritten& unwritten);  // empty when nothing is

namespace detail {

// A NaN's highest fraction bit: set in whatever arithmetic makes of a NaN (IEEE 754-2019, 6.2.1). 0: no such bit.
ASSAY_HD constexpr uint64_t quiet_bit(DType t) {
  switch (t) {
    case DType::f64:
      return uint64_t{1} << 51;
    case DType::f32:
      return 1u << 22;
    case DType::f16:
      return 1u << 9;
    case DType::bf16:
      return 1u << 6;
    default:
      return 0;
  }
}

ASSAY_HD inline bool is_quiet_nan(DType t, uint64_t bits) {
  const double value = decode(t, bits);
  return (bits & quiet_bit(t)) != 0 && !(value == value);
}

// Whether some byte of x is zero (Mycroft's test, exact as a whole-word answer).
ASSAY_HD constexpr bool has_zero_byte(uint64_t x, size_t bytes) {
  const uint64_t ones = 0x0101010101010101u >> (8 * (8 - bytes));
  return ((x - ones) & ~x & (ones << 7)) != 0;
}

// Whether the two runs differ in a byte that does not hold the patterns: then they broke their promise to agree, and a
// byte that holds them may do so by chance.
ASSAY_HD constexpr bool differs_elsewhere(size_t bytes, uint64_t after_first, uint64_t after_second, uint64_t changed) {
  for (size_t shift = 0; shift < 8 * bytes; shift += 8) {
    const bool left = (changed >> shift & 0xff) == 0;
    if (!left && ((after_first ^ after_second) >> shift & 0xff) != 0) return true;
  }
  return false;
}

}  // namespace detail

template <DType T>
ASSAY_HD Untouched untouched(uint64_t first, uint64_t second, uint64_t after_first, uint64_t after_second,
                             bool single_bytes) {
  // A byte of `changed` is zero where both runs left their pattern.
  const uint64_t changed = (after_first ^ first) | (after_second ^ second);
  if (single_bytes ? !detail::has_zero_byte(changed, size_of(T)) : changed != 0) return {};
  if (detail::differs_elsewhere(size_of(T), after_first, after_second, changed)) return {};
  // Computed from the poison, whose payload it carries: written, and for accuracy to judge.
  if (detail::is_quiet_nan(T, after_first) && detail::is_quiet_nan(T, after_second)) return {};
  return {true, changed == 0};
}

}  // namespace assay
