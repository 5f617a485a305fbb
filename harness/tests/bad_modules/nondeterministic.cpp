// nondeterministic: the sign of zero follows a counter, which is within bounds and not the same bytes.
#include "base.h"

namespace {
const char* launch(const assay::Call& c) {
  static int launches = 0;
  bad::reduce(c);
  if (++launches % 7 == 0) bad::negate_first_zero(c);
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
