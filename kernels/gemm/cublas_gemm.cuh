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
  if (t.code == 10 && t.bits == 8) return CUDA_R_8F_E4M3;
  throw assay::Refusal("cuBLAS has no such dtype");
}

// How sums of a dtype are made. 16-bit inputs go to tensor cores, of which the weakest that a build may run on is
// declared (Ampere and Ada; Hopper's keep one bit more and add twice as many products); it is also weaker than f32
// additions, which the libraries use for some shapes. Of e4m3, NVIDIA says that sums are "periodically" promoted to a
// higher precision without fast accumulation (cuBLAS documentation, CUBLASLT_MATMUL_DESC_FAST_ACCUM), not how often:
// none is declared.
constexpr assay_arithmetic arithmetic_of(std::string_view dtype) {
  if (dtype == "f64") return {.accumulator = ASSAY_ACC_F64, .split_k = 1, .partial_type = ASSAY_ACC_F64};
  if (dtype == "f32") return {.accumulator = ASSAY_ACC_F32, .split_k = 1, .partial_type = ASSAY_ACC_F32};
  const bool fp8 = dtype == "e4m3";
  return {.accumulator = ASSAY_ACC_TENSOR,
          .split_k = 1,
          .partial_type = ASSAY_ACC_F32,
          .tensor_terms = fp8 ? 32 : 8,
          .tensor_fraction = fp8 ? 13 : 24,
          .tensor_precision = fp8 ? 13 : 23};
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
