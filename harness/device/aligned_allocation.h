// Buffers at a multiple of `alignment` from an allocator that promises less.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/error.h"

namespace assay {

struct AlignedAllocation {
  void* allocated = nullptr;  // to be given back
  std::byte* base = nullptr;  // base + `before` is aligned
};

// `before` bytes and then `bytes` aligned ones, which end where the allocation does: a step beyond is a step out of it.
// In front of them may lie what alignment costs, which belongs to the allocation: a step into that is not seen.
// `allocate` throws rather than give null. Throws Error when it gives no place with that end.
template <class Allocate, class Release>
AlignedAllocation allocate_aligned(uint64_t before, uint64_t bytes, uint64_t alignment, const Allocate& allocate,
                                   const Release& release) {
  constexpr int kMostAttempts = 8;
  // An allocation of no bytes is none, and one of a byte more would have that byte behind the buffer.
  uint64_t skipped = before + bytes == 0 ? alignment : 0;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    void* const allocated = allocate(skipped + before + bytes);
    const uint64_t past = (reinterpret_cast<uint64_t>(allocated) + skipped + before) % alignment;
    if (past == 0) return {allocated, static_cast<std::byte*>(allocated) + skipped};
    release(allocated);
    skipped += alignment - past;  // never less: an allocator that moves between two places for two lengths settles
  }
  throw Error("no allocation ends with a buffer of " + std::to_string(bytes) + " bytes at a multiple of " +
              std::to_string(alignment) + ": " + std::to_string(kMostAttempts) + " attempts");
}

}  // namespace assay
