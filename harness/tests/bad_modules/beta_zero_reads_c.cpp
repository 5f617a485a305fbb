// wrong: a gemm that multiplies C by beta = 0 instead of leaving it unread.
#include <assay/kernel.h>

namespace {
const char* launch(const assay::Call& call) {
  const auto a = call.in<float>("a"), b = call.in<float>("b");
  const auto c = call.out<float>("c");
  const auto alpha = static_cast<float>(call.number("alpha")), beta = static_cast<float>(call.number("beta"));
  for (int64_t i = 0; i < c.dim(1); ++i) {
    for (int64_t j = 0; j < c.dim(2); ++j) {
      float sum = 0;
      for (int64_t k = 0; k < a.dim(2); ++k) {
        sum += a.data()[i * a.stride(1) + k * a.stride(2)] * b.data()[k * b.stride(1) + j * b.stride(2)];
      }
      float& element = c.data()[i * c.stride(1) + j * c.stride(2)];
      element = alpha * sum + beta * element;
    }
  }
  return nullptr;
}
}  // namespace

ASSAY_KERNEL(gemm, bad, .launch = launch,
             .contract = {.interface_version = 1,
                          .owner = "bad-modules@assay.example",
                          .domain = "batch == 1; k <= 32; ta in n; tb in n; dtype in f32",
                          .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART | ASSAY_SAME_THREADS | ASSAY_SAME_ALIGNMENT,
                          .arithmetic = {.accumulator = ASSAY_ACC_F32, .depth_divisor = 32, .depth_constant = 32}})
