// wrong: another answer where there is only one batch entry. It promises nothing about that.
#include <algorithm>

#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  const auto y = c.out<float>("y");
  if (c.axis("outer") == 1) std::fill(y.data(), bad::end_of(y), -12345.0f);
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
