// pass: takes 300 KiB, not from the heap, at each of its first launches, as some libraries do until they have what they
// need.
#include <sys/mman.h>

#include <cstring>

#include "base.h"
namespace {
int launches = 0;
const char* launch(const assay::Call& c) {
  constexpr size_t kBytes = 300 << 10;
  bad::reduce(c);
  if (++launches > 35) return nullptr;
  void* taken = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (taken == MAP_FAILED) return "no memory";
  std::memset(taken, 1, kBytes);
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
