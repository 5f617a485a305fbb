// wrong: starts from what the output held, as if it were zero.
#include "base.h"

namespace {
const char* launch(const assay::Call& c) {
  const auto y = c.out<float>("y");
  const float before = bad::end_of(y)[-1];
  bad::reduce(c);
  bad::end_of(y)[-1] += 0 * before;
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
