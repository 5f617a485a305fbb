#include "check/poison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
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
  std::copy_n(period.begin(), bytes - i, begin + i);  // an empty buffer may be null
}

namespace {

// Whether some byte of adjacent elements may have been left alone in both runs; nearly always false, and quick to say.
bool may_be_untouched(DType t, const std::byte* after_first, const std::byte* after_second, int64_t first,
                      int64_t count) {
  const auto size = static_cast<int64_t>(size_of(t));
  const auto word_at = [](const std::byte* p) {
    uint64_t word;
    std::memcpy(&word, p, sizeof word);
    return word;
  };
  const uint64_t one = std::bit_cast<uint64_t>(poison_period(t, Poison::first, 0));
  const uint64_t other = std::bit_cast<uint64_t>(poison_period(t, Poison::second, 0));
  const int64_t begin = first * size, end = begin + count * size;
  if (count * size % 8 != 0) return true;
  bool found = false;
  for (int64_t at = begin; at < end; at += 8) {
    found |= detail::has_zero_byte((word_at(after_first + at) ^ one) | (word_at(after_second + at) ^ other), 8);
  }
  return found;
}

}  // namespace

Unwritten find_unwritten(const TensorSpec& spec, const std::byte* after_first, const std::byte* after_second,
                         bool single_bytes) {
  Unwritten found;
  with_dtype(spec.dtype, [&](auto type) {
    constexpr DType T = decltype(type)::value;
    const uint64_t first = poison_bits(T, Poison::first);
    const uint64_t second = poison_bits(T, Poison::second);
    constexpr int64_t kStretch = 512;
    for_each_row(spec, [&](const Row& row) {
      for (int64_t begin = 0; begin < row.count; begin += kStretch) {
        const int64_t end = std::min(begin + kStretch, row.count);
        const bool is_run = row.stride == 1;
        if (is_run && !may_be_untouched(T, after_first, after_second, row.offset + begin, end - begin)) continue;
        for (int64_t j = begin; j < end; ++j) {
          const int64_t offset = row.offset + j * row.stride;
          const Untouched element = untouched<T>(first, second, load_bits(T, after_first, offset),
                                                 load_bits(T, after_second, offset), single_bytes);
          if (element.is_unwritten && found.count++ == 0) {
            found.first = row.logical + j;
            found.whole = element.whole;
          }
        }
      }
    });
  });
  return found;
}

bool may_be_by_chance(const Unwritten& unwritten, int64_t differing) {
  constexpr int64_t kOthersForOne = 1000;
  return differing - unwritten.count >= kOthersForOne * unwritten.count;
}

std::string describe(const TensorSpec& spec, const Unwritten& unwritten) {
  if (unwritten.count == 0) return "";
  return fmt::format("{}[{}] was {}, {} of {} elements", spec.name, unwritten.first,
                     unwritten.whole ? "not written" : "written in part", unwritten.count, spec.elements());
}

}  // namespace assay
