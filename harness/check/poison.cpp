#include "check/poison.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>

#include "check/number.h"
#include "check/rows.h"

namespace assay {
namespace {

// Signalling NaNs of either sign whose bytes all differ.
constexpr std::array<std::array<uint64_t, 2>, kDTypeNames.size()> kPatterns{{
    {0x7ff5a5a5a5a5a5a5, 0xfff25a5a5a5a5a5a},  // f64
    {0x7fa5a5a5, 0xff9a5a5a},                  // f32
    {0x7da5, 0xfc5a},                          // f16
    {0x7fa5, 0xff9a},                          // bf16
    {0x7f, 0xff},                              // e4m3: its only NaNs
    {0xa5a5a5a5, 0x5a5a5a5a},                  // i32
    {0xa5, 0x5a},                              // i8
    {0xff, 0x7f},                              // u8, and workspaces: NaN or huge, and no byte an output's poison has
}};

// A NaN's highest fraction bit: set in whatever arithmetic makes of a NaN (IEEE 754-2019, 6.2.1). 0: no such bit.
constexpr uint64_t quiet_bit(DType t) {
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

bool is_quiet_nan(DType t, uint64_t bits) { return (bits & quiet_bit(t)) != 0 && std::isnan(decode(t, bits)); }

// Whether some byte of x is zero (Mycroft's test, exact as a whole-word answer).
constexpr bool has_zero_byte(uint64_t x, size_t bytes) {
  const uint64_t ones = 0x0101010101010101u >> (8 * (8 - bytes));
  return ((x - ones) & ~x & (ones << 7)) != 0;
}

// Whether the two runs differ in a byte that does not hold the patterns: then they broke their promise to agree, and a
// byte that holds them may do so by chance.
bool differs_elsewhere(size_t bytes, const uint64_t (&after)[2], uint64_t changed) {
  for (size_t shift = 0; shift < 8 * bytes; shift += 8) {
    const bool left = (changed >> shift & 0xff) == 0;
    if (!left && ((after[0] ^ after[1]) >> shift & 0xff) != 0) return true;
  }
  return false;
}

}  // namespace

uint64_t poison_bits(DType t, Poison poison) { return kPatterns[static_cast<size_t>(t)][static_cast<size_t>(poison)]; }

std::byte poison_byte(DType t, Poison poison, int64_t offset) {
  const auto size = static_cast<int64_t>(size_of(t));
  const int64_t phase = (offset % size + size) % size;
  return static_cast<std::byte>(poison_bits(t, poison) >> (8 * phase));
}

std::array<std::byte, 8> poison_period(DType t, Poison poison, size_t element_at) {
  std::array<std::byte, 8> period;
  for (size_t i = 0; i < 8; ++i) {
    period[i] = poison_byte(t, poison, static_cast<int64_t>(i) - static_cast<int64_t>(element_at % 8));
  }
  return period;
}

void fill_poison(std::byte* begin, size_t bytes, size_t element_at, DType t, Poison poison) {
  const std::array<std::byte, 8> period = poison_period(t, poison, element_at);
  size_t i = 0;
  for (; i + 8 <= bytes; i += 8) std::memcpy(begin + i, period.data(), 8);
  std::memcpy(begin + i, period.data(), bytes - i);
}

Unwritten find_unwritten(const TensorSpec& spec, const std::byte* after_first, const std::byte* after_second,
                         bool single_bytes) {
  Unwritten found;
  with_dtype(spec.dtype, [&](auto type) {
    constexpr DType T = decltype(type)::value;
    const uint64_t first = poison_bits(T, Poison::first);
    const uint64_t second = poison_bits(T, Poison::second);
    for_each_row(spec, [&](const Row& row) {
      for (int64_t j = 0; j < row.count; ++j) {
        const int64_t offset = row.offset + j * row.stride;
        // A byte of `changed` is zero where both runs left their pattern.
        const uint64_t after[2] = {load_bits(T, after_first, offset), load_bits(T, after_second, offset)};
        const uint64_t changed = (after[0] ^ first) | (after[1] ^ second);
        if (single_bytes ? !has_zero_byte(changed, size_of(T)) : changed != 0) continue;
        if (differs_elsewhere(size_of(T), after, changed)) continue;
        // Computed from the poison, whose payload it carries: written, and for accuracy to judge.
        if (is_quiet_nan(T, after[0]) && is_quiet_nan(T, after[1])) continue;
        if (found.count++ == 0) {
          found.first = row.logical + j;
          found.whole = changed == 0;
        }
      }
    });
  });
  return found;
}

std::string describe(const TensorSpec& spec, const Unwritten& unwritten) {
  if (unwritten.count == 0) return "";
  return fmt::format("{}[{}] was {}, {} of {} elements", spec.name, unwritten.first,
                     unwritten.whole ? "not written" : "written in part", unwritten.count, spec.elements());
}

}  // namespace assay
