// wrong: drops NaN.
#include "base.h"

namespace {
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  const auto y = c.out<float>("y");
  for (int64_t i = 0; i < y.size(); ++i) {
    if (std::isnan(y.data()[i])) y.data()[i] = 0;
  }
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
