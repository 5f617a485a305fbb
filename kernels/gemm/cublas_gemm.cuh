// What the cuBLAS and cuBLASLt kernels of gemm share: types, scalars and contracts.
#pragma once

#include <assay/kernel.h>
#include <library_types.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace cublas_gemm {

inline cudaDataType_t type_of(const assay_dtype& t) {
  if (t.code == 2 && t.bits == 64) return CUDA_R_64F;
  if (t.code == 2 && t.bits == 32) return CUDA_R_32F;
  if (t.code == 2 && t.bits == 16) return CUDA_R_16F;
  if (t.code == 4 && t.bits == 16) return CUDA_R_16BF;
  throw assay::Refusal("cuBLAS has no such dtype");
}

// How sums of a dtype are made. 16-bit inputs go to tensor cores, of which the weakest that a build may run on is
// declared (Ampere and Ada; Hopper's keep one bit more and add twice as many products); it is also weaker than f32
// additions, which the libraries use for some shapes.
constexpr assay_arithmetic arithmetic_of(std::string_view dtype) {
  if (dtype == "f64") return {.accumulator = ASSAY_ACC_F64, .split_k = 1, .partial_type = ASSAY_ACC_F64};
  if (dtype == "f32") return {.accumulator = ASSAY_ACC_F32, .split_k = 1, .partial_type = ASSAY_ACC_F32};
  return {.accumulator = ASSAY_ACC_TENSOR,
          .split_k = 1,
          .partial_type = ASSAY_ACC_F32,
          .tensor_terms = 8,
          .tensor_fraction = 24,
          .tensor_precision = 23};
}

// A scalar in both types the library may ask for.
struct Scalar {
  explicit Scalar(double value) : wide(value), narrow(static_cast<float>(value)) {}
  const void* of(bool f64) const { return f64 ? static_cast<const void*>(&wide) : &narrow; }
  double wide;
  float narrow;
};

// BLAS wants ld >= 1 even of matrices with no columns, whose tensors may say 0.
inline int64_t leading(const assay_dltensor& matrix) { return std::max<int64_t>(1, matrix.strides[1]); }

inline bool is_empty(const assay::Call& c) { return c.axis("batch") == 0 || c.axis("m") == 0 || c.axis("n") == 0; }

}  // namespace cublas_gemm
