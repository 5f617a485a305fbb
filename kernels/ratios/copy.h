// The copy that memory-bound kernels are measured against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "subject.h"

namespace assay::ratios {

class CopyBuffers {
 public:
  CopyBuffers(uint64_t bytes, int threads);  // of each of the two buffers, rounded up to whole pages
  void stream();                             // vector loads, streaming stores: no line is fetched to be overwritten
  void plain();                              // memcpy
  uint64_t bytes_moved() const { return 2 * bytes_; }

 private:
  uint64_t bytes_;
  int threads_;
  std::unique_ptr<std::byte, FreeArena> from_, to_;
};

}  // namespace assay::ratios
