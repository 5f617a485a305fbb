// Counts what this process takes from the heap, so that a launch that allocates is seen. The worker program replaces
// malloc and its family for that (allocations.cpp is linked into it alone); under a sanitizer, which owns malloc, the
// counters stay at zero and `counted` is false.
#pragma once

#include <cstdint>

namespace assay {

struct Allocations {
  bool counted = false;
  int64_t calls = 0;        // malloc, calloc, realloc, aligned variants, so far
  int64_t outstanding = 0;  // bytes taken and not given back
};
Allocations allocations();

}  // namespace assay
