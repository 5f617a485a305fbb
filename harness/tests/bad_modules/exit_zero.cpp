// crashed: ends the process with status 0, as if all were well.
#include <cstdlib>

#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  std::exit(0);
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
