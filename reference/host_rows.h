// How oracles of ops on rows go over whole tensors on the host: rows decoded to double and shared among threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/op.h"
#include "reference/rows.h"

namespace assay {

// `length` elements that lie one after the other from `start` on, decoded.
inline void load_stretch(const TensorView& tensor, int64_t start, int64_t length, double* out) {
  const TensorSpec& spec = *tensor.spec;
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

// Row `row` of a matrix with unit stride along the row, or a vector (row 0), into out[0 .. last dimension).
inline void load_row(const TensorView& tensor, int64_t row, double* out) {
  const TensorSpec& spec = *tensor.spec;
  load_stretch(tensor, spec.shape.size() > 1 ? row * spec.strides[0] : 0, spec.shape.back(), out);
}

// Logical elements [first, first + count) of such a matrix.
inline void load_elements(const TensorView& tensor, int64_t first, int64_t count, double* out) {
  const int64_t cols = tensor.spec->shape.back();
  for (int64_t i = 0; i < count;) {
    const int64_t row = (first + i) / cols, column = (first + i) % cols, n = std::min(count - i, cols - column);
    load_stretch(tensor, row * tensor.spec->strides[0] + column, n, out + i);
    i += n;
  }
}

// Calls f(row) for every row; which thread takes a row makes no difference to what f computes.
template <class Function>
void parallel_rows(int64_t rows, int threads, const Function& f) {
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t row = 0; row < rows; ++row) f(row);
}

}  // namespace assay
