// blas_trsm by OpenBLAS: cblas_?trsm.
#include "blas_matrix.h"

namespace {

using namespace assay::blas;

const char* launch(const assay::Call& call) {
  use_threads(call);
  const CBLAS_SIDE side = call.word("side") == "l" ? CblasLeft : CblasRight;
  with_function(call, cblas_strsm, cblas_dtrsm, cblas_ctrsm, cblas_ztrsm, [&]<class T>(T, auto trsm) {
    const auto a = call.in<T>("a");
    const auto b = call.out<T>("b");
    trsm(order(call), side, triangle(call), transposed(call, "trans"), diagonal(call), length(call, "m"),
         length(call, "n"), Factor<T>(call, "alpha", "alpha_im"), a.data(), leading(call, a), b.data(),
         leading(call, b));
  });
  return nullptr;
}

}  // namespace

ASSAY_KERNEL(blas_trsm, openblas, .target = "cpu", .launch = launch, .describe = describe,
             .plan_contract = plan_contract,
             .contract = contract(ASSAY_BLAS_MATRIX_DOMAIN "; m <= " ASSAY_BLAS_MOST_OF_MATRIX
                                                           "; pad_a <= " ASSAY_BLAS_MOST_OF_MATRIX
                                                           "; pad_b <= " ASSAY_BLAS_MOST_OF_MATRIX))
