// What oracles of ops on rows share: rows decoded to double, rows shared among threads, and sums of a fixed order.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/hd.h"
#include "core/op.h"

namespace assay {

// The larger number; a where b is NaN. (std::fmax is a call into libm.)
ASSAY_HD inline double larger(double a, double b) { return a < b ? b : a; }

// Sums in eight interleaved partial sums, so that the depth is an eighth of the length; the order, and so the bits, do
// not depend on machine or thread count.
template <class Real>
class LaneSum {
 public:
  static constexpr int kLanes = 8;
  ASSAY_HD void add(int64_t i, Real value) { lanes_[i & (kLanes - 1)] = lanes_[i & (kLanes - 1)] + value; }
  ASSAY_HD Real total() const {
    return ((lanes_[0] + lanes_[1]) + (lanes_[2] + lanes_[3])) + ((lanes_[4] + lanes_[5]) + (lanes_[6] + lanes_[7]));
  }
  // Roundings that a term passes through, of n terms.
  ASSAY_HD static double depth(int64_t n) { return static_cast<double>((n + kLanes - 1) / kLanes + 3); }

 private:
  Real lanes_[kLanes] = {};
};

// Row `row` of a matrix with unit stride along the row, or a vector (row 0), into out[0 .. last dimension).
inline void load_row(const TensorView& tensor, int64_t row, double* out) {
  const TensorSpec& spec = *tensor.spec;
  const int64_t start = spec.shape.size() > 1 ? row * spec.strides[0] : 0, length = spec.shape.back();
  const std::byte* first = tensor.data + start * static_cast<int64_t>(size_of(spec.dtype));
  const auto load_as = [=]<DType kType>(std::integral_constant<DType, kType>) {
    for (int64_t i = 0; i < length; ++i) out[i] = load(kType, first, i);
  };
  switch (spec.dtype) {
    case DType::f64:
      return load_as(std::integral_constant<DType, DType::f64>());
    case DType::f32:
      return load_as(std::integral_constant<DType, DType::f32>());
    case DType::f16:
      return load_as(std::integral_constant<DType, DType::f16>());
    case DType::bf16:
      return load_as(std::integral_constant<DType, DType::bf16>());
    default:
      for (int64_t i = 0; i < length; ++i) out[i] = load(spec.dtype, first, i);
  }
}

// Calls f(row) for every row; which thread takes a row makes no difference to what f computes.
template <class Function>
void parallel_rows(int64_t rows, int threads, const Function& f) {
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t row = 0; row < rows; ++row) f(row);
}

}  // namespace assay
