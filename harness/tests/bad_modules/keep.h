// For modules that keep memory: what they take, not from the heap, and never give back.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstring>

namespace bad {

// In use from now on, to the last page. An error, or null.
inline const char* keep(size_t bytes) {
  void* taken = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (taken == MAP_FAILED) return "no memory";
  std::memset(taken, 1, bytes);
  return nullptr;
}

}  // namespace bad
