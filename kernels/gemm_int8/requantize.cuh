// A sum of int8 products made an element of y: saturate(round(scale_a scale_b / scale_y sum + zy)), ties to even, with
// the bits of double precision.
#ifndef ASSAY_KERNELS_GEMM_INT8_REQUANTIZE_CUH
#define ASSAY_KERNELS_GEMM_INT8_REQUANTIZE_CUH

#include <cstdint>

namespace assay::gemm_int8 {

__device__ inline double scale_of(double scale_a, double scale_b, double scale_y) {
  return __ddiv_rn(__dmul_rn(scale_a, scale_b), scale_y);
}

__device__ inline int8_t requantize(int32_t sum, double scale, int zero_y) {
  const double scaled = __dadd_rn(__dmul_rn(double(sum), scale), double(zero_y));
  return static_cast<int8_t>(int(fmin(fmax(rint(scaled), -128.0), 127.0)));
}

// The same where f32 can tell, which is far faster; false, and `y` means nothing, where its error might reach a tie.
// `scale` is the double one rounded. Within 300 the scaled sum is within 428, and four roundings of 2^-24 are off by
// less than 0.0001. Without a branch.
__device__ inline bool requantize_quickly(int32_t sum, float scale, int zero_y, int8_t& y) {
  const float value = fmaf(float(sum), scale, float(zero_y));
  const float nearest = rintf(value);
  y = static_cast<int8_t>(int(fminf(fmaxf(nearest, -128), 127)));
  const bool scale_is_normal = fabsf(scale) >= 0x1p-126f && fabsf(scale) < INFINITY;
  return scale_is_normal & ((fabsf(value) > 300) | (fabsf(value - nearest) < 0.49989f));
}

}  // namespace assay::gemm_int8
#endif
