// crashed: calls abort.
#include <cstdlib>

#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  std::abort();
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
