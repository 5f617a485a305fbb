// memory: takes memory until somebody stops it.
#include <cstdlib>
#include <cstring>

#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  while (void* block = std::malloc(1 << 20)) std::memset(block, 1, 1 << 20);
  bad::reduce(c);
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
