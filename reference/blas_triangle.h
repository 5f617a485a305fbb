// Triangular matrices of the BLAS: trmv and trsm.
#pragma once

#include "reference/blas_matrix.h"

namespace assay::blas {

inline FieldSpec uplo_field() { return choice_field("uplo", "the triangle of a that is read", {"u", "l"}); }
inline FieldSpec diag_field() { return choice_field("diag", "u: the diagonal is 1 and not read", {"n", "u"}); }

// Generators of square matrices have their rows where a lower triangle is as uplo says, so that fill=triangle has NaN
// in the triangle that is not read; in op(A) the rows of the others run along the summed index.
inline FillSpec triangle_fill(const Case& c, FillSpec fill) {
  if (fill.generator == "triangle") return along(c.word("uplo") == "l" ? 1 : 0, fill);
  return along(c.word("trans") == "n" ? 1 : 0, fill);
}

// op(A) of a triangular matrix. Row i has elements first(i) to end(i) - 1.
class Triangle {
 public:
  Triangle(const Case& c, const TensorView& view)
      : matrix_(c, view, c.word("trans")),
        n_(view.spec->shape[0]),
        is_lower_((c.word("uplo") == "l") == (c.word("trans") == "n")),
        has_unit_diagonal_(c.word("diag") == "u") {}

  bool is_lower() const { return is_lower_; }
  bool has_unit_diagonal() const { return has_unit_diagonal_; }
  int64_t first(int64_t i) const { return is_lower_ ? 0 : i; }
  int64_t end(int64_t i) const { return is_lower_ ? i + 1 : n_; }
  Complex operator()(int64_t i, int64_t j) const {
    if (i == j && has_unit_diagonal_) return {1, 0};
    return matrix_(i, j);
  }

 private:
  Matrix matrix_;
  int64_t n_;
  bool is_lower_, has_unit_diagonal_;
};

}  // namespace assay::blas
