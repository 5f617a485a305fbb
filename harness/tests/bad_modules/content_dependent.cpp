// nondeterministic: another sign of zero where the output held other bytes before.
#include <cstring>

#include "base.h"

namespace {
const char* launch(const assay::Call& c) {
  const auto y = c.out<float>("y");
  uint32_t before = 0;
  if (y.size() > 0) std::memcpy(&before, y.data(), sizeof before);
  bad::reduce(c);
  if (before % 256 >= 128) bad::negate_first_zero(c);
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
