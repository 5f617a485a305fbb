// nondeterministic: another sign of zero at the start of a page.
#include "base.h"

namespace {
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  const auto y = c.out<float>("y");
  const bool aligned = reinterpret_cast<uintptr_t>(y.data()) % 4096 == 0;
  if (aligned) bad::negate_first_zero(c);
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
