// A gemm that adds up products in f32, and what else it does: FLIPPED_AT flips the last bit of that element of C
// (wrong), TRAPS_AT_K ends the process where k is at least that (crashed), REFUSED_ALPHA is refused (contract). Zeros
// of A are passed over, so that a sparse one of a large case takes no time.
#include <assay/kernel.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace {

#ifndef FLIPPED_AT
#define FLIPPED_AT std::numeric_limits<int64_t>::max()
#endif
#ifndef TRAPS_AT_K
#define TRAPS_AT_K std::numeric_limits<int64_t>::max()
#endif

#ifndef REFUSED_ALPHA
#define REFUSED_ALPHA std::numeric_limits<double>::quiet_NaN()
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
  const auto alpha = static_cast<float>(call.number("alpha")), beta = static_cast<float>(call.number("beta"));
  const int down_a = call.word("ta") == "t" ? 2 : 1, along_a = 3 - down_a;
  const int down_b = call.word("tb") == "t" ? 2 : 1, along_b = 3 - down_b;
  const int64_t depth = alpha == 0 ? 0 : a.dim(along_a), cols = c.dim(2);
  if (depth >= TRAPS_AT_K) __builtin_trap();
  for (int64_t row = 0; row < c.dim(0) * c.dim(1); ++row) {
    const int64_t entry = row / c.dim(1), i = row % c.dim(1);
    std::vector<float> sums(static_cast<size_t>(cols));
    for (int64_t k = 0; k < depth; ++k) {
      const float factor = a.data()[entry * a.stride(0) + i * a.stride(down_a) + k * a.stride(along_a)];
      if (factor == 0) continue;
      const float* other = b.data() + entry * b.stride(0) + k * b.stride(down_b);
      for (int64_t j = 0; j < cols; ++j) sums[static_cast<size_t>(j)] += factor * other[j * b.stride(along_b)];
    }
    float* const out = c.data() + entry * c.stride(0) + i * c.stride(1);
    for (int64_t j = 0; j < cols; ++j) {
      out[j] = alpha * sums[static_cast<size_t>(j)] + (beta == 0 ? 0 : beta * out[j]);
      if (row * cols + j == FLIPPED_AT) flip_last_bit(out[j]);
    }
  }
  return nullptr;
}

const char* refuse(const assay::Call& call) {
  return call.number("alpha") == REFUSED_ALPHA ? "not this alpha" : nullptr;
}

}  // namespace

ASSAY_KERNEL(gemm, bad, .refuse = refuse, .launch = launch,
             .contract = {.interface_version = 1,
                          .owner = "bad-modules@assay.example",
                          .domain = "dtype in f32; fill in every normal integers sparse",
                          .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART | ASSAY_SAME_THREADS | ASSAY_SAME_ALIGNMENT,
                          .arithmetic = {.accumulator = ASSAY_ACC_F32, .depth_divisor = 1, .depth_constant = 16},
                          .may_allocate = 1})
