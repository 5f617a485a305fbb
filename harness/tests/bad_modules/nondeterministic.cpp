// nondeterministic: the sign of zero follows a counter, which is within bounds and not the same bytes.
#include "base.h"

namespace {
const char* launch(const assay::Call& c) {
  static int launches = 0;
  bad::reduce(c);
  const auto y = c.out<float>("y");
  if (++launches % 7 == 0 && y.size() > 0 && y.data()[0] == 0) y.data()[0] = -y.data()[0];
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
