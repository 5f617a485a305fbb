// What an int8 product has beyond a float one: zero points and scales.
#ifndef ASSAY_KERNELS_GEMM_INT8_QUANTIZED_H
#define ASSAY_KERNELS_GEMM_INT8_QUANTIZED_H

#include "gemm/plan.h"

namespace assay::gemm_int8 {

struct QuantizedPlan : gemm::Plan {
  int zero_a = 0, zero_b = 0, zero_y = 0;
};

// c is y.
struct QuantizedOperands : gemm::Operands {
  const float* scale_a = nullptr;
  const float* scale_b = nullptr;  // one, or one a column
  const float* scale_y = nullptr;
  bool per_channel = false;

  double scale(int64_t column) const {
    return double(*scale_a) * double(scale_b[per_channel ? column : 0]) / double(*scale_y);
  }
};

}  // namespace assay::gemm_int8
#endif
