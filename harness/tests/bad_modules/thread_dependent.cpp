// nondeterministic: another sign of zero for an odd number of threads.
#include "base.h"

namespace {
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  const auto y = c.out<float>("y");
  if (c.threads() % 2 == 1 && y.size() > 0 && y.data()[0] == 0) y.data()[0] = -y.data()[0];
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
