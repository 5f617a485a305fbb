// timeout: never returns.
#include "base.h"

namespace {
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  for (volatile int forever = 1; forever != 0;) {
  }
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
