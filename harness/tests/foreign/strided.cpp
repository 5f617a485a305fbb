// reduce/strided: the plainest maximum there is, one element at a time, as somebody else's team would bring it.
#include <assay/kernel.h>

#include <cmath>
#include <limits>

namespace {

const char* launch(const assay::Call& c) {
  const auto x = c.in<float>("x");
  const auto y = c.out<float>("y");
  for (int64_t o = 0; o < x.dim(0); ++o) {
    for (int64_t i = 0; i < x.dim(2); ++i) {
      float best = -std::numeric_limits<float>::infinity();
      for (int64_t j = 0; j < x.dim(1) && !std::isnan(best); ++j) {
        const float value = x.data()[o * x.stride(0) + j * x.stride(1) + i * x.stride(2)];
        if (!(value <= best)) best = value;
      }
      y.data()[o * y.stride(0) + i * y.stride(1)] = best;
    }
  }
  return nullptr;
}

}  // namespace

ASSAY_KERNEL(reduce, strided, .target = "cpu", .launch = launch,
             .contract = {.interface_version = 1,
                          .owner = "somebody@elsewhere.example",
                          .domain = "kind in max; dtype in f32",
                          .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART | ASSAY_SAME_THREADS | ASSAY_SAME_ALIGNMENT |
                                      ASSAY_SAME_BATCH | ASSAY_SAME_PADDING,
                          .arithmetic = {.accumulator = ASSAY_ACC_F32, .depth_divisor = 32}})
