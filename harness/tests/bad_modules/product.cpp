// A gemm that adds up products in f32 and, where FLIPPED_AT is given, flips the last bit of that element of C: wrong.
// Zeros of A are passed over, so that a sparse one of a large case takes no time.
#include <assay/kernel.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace {

#ifdef FLIPPED_AT
constexpr int64_t kFlippedAt = FLIPPED_AT;
#else
constexpr int64_t kFlippedAt = -1;
#endif

void flip_last_bit(float& x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  bits ^= 1;
  std::memcpy(&x, &bits, sizeof bits);
}

const char* launch(const assay::Call& call) {
  const auto a = call.in<float>("a"), b = call.in<float>("b");
  const auto c = call.out<float>("c");
  for (int64_t i = 0; i < c.dim(1); ++i) {
    std::vector<float> row(static_cast<size_t>(c.dim(2)));
    for (int64_t k = 0; k < a.dim(2); ++k) {
      const float factor = a.data()[i * a.stride(1) + k];
      if (factor == 0) continue;
      const float* other = b.data() + k * b.stride(1);
      for (size_t j = 0; j < row.size(); ++j) row[j] += factor * other[j];
    }
    for (int64_t j = 0; j < c.dim(2); ++j) c.data()[i * c.stride(1) + j] = row[static_cast<size_t>(j)];
  }
  if (0 <= kFlippedAt && kFlippedAt < c.dim(1) * c.dim(2)) {
    flip_last_bit(c.data()[kFlippedAt / c.dim(2) * c.stride(1) + kFlippedAt % c.dim(2)]);
  }
  return nullptr;
}

}  // namespace

ASSAY_KERNEL(gemm, bad, .launch = launch,
             .contract = {
                 .interface_version = 1,
                 .owner = "bad-modules@assay.example",
                 .domain = "batch == 1; ta in n; tb in n; alpha == 1; beta == 0; dtype in f32; fill in integers sparse",
                 .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART | ASSAY_SAME_THREADS | ASSAY_SAME_ALIGNMENT,
                 .arithmetic = {.accumulator = ASSAY_ACC_F32, .depth_divisor = 1, .depth_constant = 16},
                 .may_allocate = 1})
