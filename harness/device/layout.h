// Where a case's buffers lie. Each tensor and the workspace gets a region of whole pages of its own (of a CPU, or the
// larger ones of a GPU); in a worker every region is mapped between unmapped holes, so that a step beyond it faults.
// Inside the region the buffer touches one of the holes as nearly as its alignment allows, and the rest of the region
// is slack: poisoned and checked for writes.
//
//   place end:    | slack ...... | padding of offset | elements | hole        (the last byte meets the hole)
//   place start:  hole | padding of offset | elements | ...... slack |
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/op.h"

namespace assay {

struct Region {
  uint64_t block = 0;         // that holds it, by id, and
  uint64_t block_offset = 0;  //   where in it: bytes, whole pages. Both are given by Memory::place (memory.h)
  uint64_t length = 0;        // of the region, bytes, whole pages
  uint64_t base = 0;          // of the aligned base pointer, bytes into the region
  uint64_t first = 0;         // of element (0,...,0): base + byte_offset
  uint64_t bytes = 0;         // from the first element to the end of the last
  uint64_t alignment = 1;     // guaranteed for the first element, bytes
  bool filled = false;        // holds what a kernel may read; given by whoever fills it
};

// barely_aligned: as `end`, at a multiple of the alignment that is none of twice as much, where that is less than a
// page.
enum class Place { end, start, barely_aligned };

// What a worker maps regions at. `fresh`: addresses not used before, so that whoever kept an old one meets nothing
// there. `kept`: those of the last regions, if these lie in the same blocks and it saves time: a GPU's driver takes
// long to map.
enum class Addresses { fresh, kept };

// The least slack a region keeps on the side that does not meet a hole, so that no buffer size leaves a side unguarded.
inline constexpr uint64_t kLeastSlack = 256;

uint64_t page_size();  // of the CPU

// A region for `bytes` whose base is a multiple of `alignment` (a power of two) and whose first element lies
// `byte_offset` further; `element` bytes is the alignment that is left then. Its length is a multiple of `granularity`.
Region place_region(uint64_t bytes, uint64_t alignment, uint64_t byte_offset, uint64_t element, Place place,
                    uint64_t granularity = page_size());

// One region a tensor, then one for the workspace. `alignment` is what the contract asks of every tensor (0: the
// element's own size). `scatter`, where it is not 0, draws how far each buffer lies from where `place` says, a multiple
// of 64 bytes below 4096 (and of the alignment): how buffers share cache sets and pages with each other differs from
// one timing process to the next.
struct Workspace {
  uint64_t bytes = 0;
  uint64_t alignment = 1;
  bool zeroed = false;
};
struct Layout {
  std::vector<Region> regions;
  uint64_t total = 0;  // bytes of memory needed
};
Layout lay_out(const std::vector<TensorSpec>& tensors, uint64_t alignment, int64_t offset_elements, Place place,
               const Workspace& workspace, uint64_t granularity = page_size(), uint64_t scatter = 0);

}  // namespace assay
