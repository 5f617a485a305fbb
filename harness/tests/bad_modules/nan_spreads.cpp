// wrong: a NaN anywhere becomes the answer everywhere.
#include <algorithm>

#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  const auto y = c.out<float>("y");
  const float* const nan = std::find_if(y.data(), bad::end_of(y), [](float value) { return std::isnan(value); });
  if (nan != bad::end_of(y)) std::fill(y.data(), bad::end_of(y), *nan);
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
