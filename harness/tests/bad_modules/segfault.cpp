// crashed: follows a wild pointer.
#include "base.h"

namespace {
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  int* volatile wild = reinterpret_cast<int*>(uintptr_t{16});
  *wild = 1;
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
