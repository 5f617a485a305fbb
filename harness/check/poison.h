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

// `after_first` and `after_second` are element (0,...,0) after the run over each pattern. `single_bytes`: an element
// counts when any of its bytes is unwritten; ask for it where the contract promises the same bytes in both runs.
// Otherwise only when all are, since two honest runs that differ can hold the patterns of one byte by chance.
Unwritten find_unwritten(const TensorSpec& spec, const std::byte* after_first, const std::byte* after_second,
                         bool single_bytes);

std::string describe(const TensorSpec& spec, const Unwritten& unwritten);  // empty when nothing is

}  // namespace assay
