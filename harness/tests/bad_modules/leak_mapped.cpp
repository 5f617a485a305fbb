// memory: takes 800 KiB at each launch, not from the heap, and gives none back.
#include <sys/mman.h>

#include <cstring>

#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  constexpr size_t kBytes = 800 << 10;
  bad::reduce(c);
  void* taken = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (taken == MAP_FAILED) return "no memory";
  std::memset(taken, 1, kBytes);
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
