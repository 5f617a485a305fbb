// wrong: takes an output that begins as its last answer did for that answer, and leaves it.
#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  static const float* last = nullptr;
  static float first = 0;
  const auto y = c.out<float>("y");
  if (y.size() == 0 || (last == y.data() && *last == first)) return nullptr;
  bad::reduce(c);
  last = y.data();
  first = *last;
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
