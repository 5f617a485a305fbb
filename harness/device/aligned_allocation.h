// Buffers at a multiple of `alignment` from an allocator that promises less.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace assay {

struct AlignedAllocation {
  void* allocated = nullptr;  // to be given back
  std::byte* base = nullptr;  // base + `before` is aligned
};

// `before` bytes and then `bytes` aligned ones, which end where the allocation does if the allocator puts a slightly
// longer one where the first was: a step beyond is then a step out of it. `allocate` throws rather than give null.
template <class Allocate, class Release>
AlignedAllocation allocate_aligned(uint64_t before, uint64_t bytes, uint64_t alignment, const Allocate& allocate,
                                   const Release& release) {
  uint64_t skipped = 0;
  for (bool again = false;; again = true) {
    void* const allocated = allocate(std::max<uint64_t>(1, skipped + before + bytes));
    const uint64_t past = (reinterpret_cast<uint64_t>(allocated) + before) % alignment;
    const uint64_t missing = past == 0 ? 0 : alignment - past;
    if (missing <= skipped) return {allocated, static_cast<std::byte*>(allocated) + missing};
    release(allocated);
    skipped = again ? alignment : missing;
  }
}

}  // namespace assay
