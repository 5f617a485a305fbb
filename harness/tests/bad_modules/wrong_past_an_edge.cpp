// wrong, where no listed case looks: of columns side by side whose length is one past a multiple of 64, from 513 on, it
// takes the first row for the largest. What fuzz_cli_test.cpp has found by drawn cases.
#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  const auto x = c.in<float>("x");
  const auto y = c.out<float>("y");
  bad::reduce(c);
  if (x.dim(1) <= 512 || x.dim(1) % 64 != 1 || x.dim(2) < 2) return nullptr;
  for (int64_t o = 0; o < x.dim(0); ++o) {
    for (int64_t i = 0; i < x.dim(2); ++i) {
      y.data()[o * y.stride(0) + i * y.stride(1)] = x.data()[o * x.stride(0) + i * x.stride(2)];
    }
  }
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
