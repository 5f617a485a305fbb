// wrong: of four elements or more it passes over the last.
#include <algorithm>

#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  const auto x = c.in<float>("x");
  const auto y = c.out<float>("y");
  bad::reduce(c);
  for (int64_t o = 0; x.dim(1) >= 4 && o < x.dim(0); ++o) {
    for (int64_t i = 0; i < x.dim(2); ++i) {
      const auto at = [&](int64_t j) { return x.data()[o * x.stride(0) + j * x.stride(1) + i * x.stride(2)]; };
      float best = at(0);
      for (int64_t j = 1; j + 1 < x.dim(1); ++j) best = std::max(best, at(j));
      y.data()[o * y.stride(0) + i * y.stride(1)] = best;
    }
  }
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
