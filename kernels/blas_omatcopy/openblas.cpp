// blas_omatcopy by OpenBLAS: cblas_?omatcopy.
#include "blas_matrix.h"

namespace {

using assay::blas::leading;
using assay::blas::length;

CBLAS_TRANSPOSE transposition(const assay::Call& c) {
  return c.word("trans") == "r" ? CblasConjNoTrans : assay::blas::transposed(c, "trans");
}

const char* launch(const assay::Call& c) {
  // It refuses matrices of nothing, aloud; there is nothing to do.
  if (c.axis("rows") == 0 || c.axis("cols") == 0) return nullptr;
  assay::blas::use_threads(c);
  assay::blas::with_function(
      c, cblas_somatcopy, cblas_domatcopy, cblas_comatcopy, cblas_zomatcopy, [&](auto type, auto omatcopy) {
        using T = decltype(type);
        const auto a = c.in<T>("a");
        const auto b = c.out<T>("b");
        omatcopy(assay::blas::order(c), transposition(c), length(c, "rows"), length(c, "cols"),
                 assay::blas::Factor<T>(c, "alpha", "alpha_im"), a.data(), leading(c, a), b.data(), leading(c, b));
      });
  return nullptr;
}

}  // namespace

ASSAY_KERNEL(blas_omatcopy, openblas, .target = "cpu", .launch = launch, .describe = assay::blas::describe,
             .plan_contract = assay::blas::plan_contract,
             .contract = assay::blas::contract("dtype in f32 f64; rows <= " ASSAY_BLAS_MOST_OF_MATRIX
                                               "; cols <= " ASSAY_BLAS_MOST_OF_MATRIX
                                               "; pad_a <= " ASSAY_BLAS_MOST_OF_MATRIX
                                               "; pad_b <= " ASSAY_BLAS_MOST_OF_MATRIX))
