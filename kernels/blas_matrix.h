// What the kernels of BLAS levels 2 and 3 share beyond blas.h.
#ifndef ASSAY_KERNELS_BLAS_MATRIX_H
#define ASSAY_KERNELS_BLAS_MATRIX_H

#include "blas.h"

namespace assay::blas {

// Of matrices with N columns or rows, to which a kernel adds its other lengths and its pads: half of an int each, so
// that a leading dimension, a length and a pad together, is one too.
#define ASSAY_BLAS_MOST_OF_MATRIX "1073741823"
#define ASSAY_BLAS_MATRIX_DOMAIN "dtype in f32 f64; n <= " ASSAY_BLAS_MOST_OF_MATRIX

inline CBLAS_ORDER order(const Call& call) { return call.word("order") == "row" ? CblasRowMajor : CblasColMajor; }
inline CBLAS_TRANSPOSE transposed(const Call& call, const char* field) {
  const std::string_view word = call.word(field);
  return word == "n" ? CblasNoTrans : word == "t" ? CblasTrans : CblasConjTrans;
}
inline CBLAS_UPLO triangle(const Call& call) { return call.word("uplo") == "u" ? CblasUpper : CblasLower; }
inline CBLAS_DIAG diagonal(const Call& call) { return call.word("diag") == "u" ? CblasUnit : CblasNonUnit; }

// Of a matrix of numbers, complex ones being two elements.
template <class T>
blasint leading(const Call& call, const Tensor<T>& matrix) {
  const int64_t stride = matrix.stride(call.word("order") == "row" ? 0 : 1);
  return leading(call.word("domain") == "complex" ? stride / 2 : stride);
}

}  // namespace assay::blas
#endif
