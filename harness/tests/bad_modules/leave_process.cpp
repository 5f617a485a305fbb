// memory: starts a process that outlives the launch.
#include <unistd.h>

#include <utility>

#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  static bool started = false;
  if (!std::exchange(started, true) && ::fork() == 0) {
    ::setsid();
    if (::fork() == 0) ::sleep(600);
    ::_exit(0);
  }
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
