// memory: opens a file at each launch, and closes none.
#include <fcntl.h>

#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  return ::open("/dev/null", O_RDONLY | O_CLOEXEC) < 0 ? "no more files" : nullptr;
}
}  // namespace
BAD_KERNEL(launch)
