// A worker's view of the arena: each region mapped on its own, unmapped holes between. Remapping moves every region to
// another address, and the old addresses stay unmapped for a while, so that a kernel that kept a pointer faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/layout.h"

namespace assay {

class Mapping {
 public:
  Mapping();  // reserves the address range; throws Error
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  // The reserved addresses: all that any launch was ever given, and the holes.
  uint64_t range_begin() const { return reinterpret_cast<uint64_t>(range_); }
  uint64_t range_end() const;

  // Base pointers of the regions, in order; nullptr for one of 0 bytes that is the last (no workspace).
  std::vector<void*> map(int arena_file, const std::vector<Region>& regions);

 private:
  void unmap();
  std::byte* range_ = nullptr;
  uint64_t cursor_ = 0;
  uint64_t mapped_from_ = 0;
};

}  // namespace assay
