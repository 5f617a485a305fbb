// crashed: follows a wild pointer.
#include "base.h"

namespace {
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  *reinterpret_cast<volatile int*>(uintptr_t{16}) = 1;
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
