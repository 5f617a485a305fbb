// memory: writes next time through a pointer it kept.
#include "base.h"

namespace {
const char* launch(const assay::Call& c) {
  static float* kept = nullptr;
  bad::reduce(c);
  const auto y = c.out<float>("y");
  if (kept != nullptr && kept != y.data()) *kept = 0;
  kept = y.data();
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
