// memory: reads beyond the input.
#include "base.h"

namespace {
const char* launch(const assay::Call& c) {
  const auto x = c.in<float>("x");
  [[maybe_unused]] volatile float beyond = x.data()[x.size()];
  bad::reduce(c);
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
