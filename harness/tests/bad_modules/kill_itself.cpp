// crashed: ends itself by SIGKILL, which looks like somebody else's doing.
#include <signal.h>

#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  ::raise(SIGKILL);
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
