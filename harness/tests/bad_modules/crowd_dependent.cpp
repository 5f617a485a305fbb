// nondeterministic: another sign of zero for many threads.
#include "base.h"

namespace {
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  if (c.threads() > 4) bad::negate_first_zero(c);
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
