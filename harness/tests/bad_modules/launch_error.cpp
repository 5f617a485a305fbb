// crashed: reports an error from launch.
#include "base.h"

namespace {
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  return "out of luck";
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
