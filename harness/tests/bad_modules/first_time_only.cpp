// wrong: answers correctly only the first time.
#include <cstring>

#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  static int launches = 0;
  if (++launches == 1) {
    bad::reduce(c);
  } else {
    const auto y = c.out<float>("y");
    std::memset(y.data(), 0, static_cast<size_t>(y.size()) * sizeof(float));
  }
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
