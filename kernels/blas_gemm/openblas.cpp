// blas_gemm by OpenBLAS: cblas_?gemm.
#include "blas_matrix.h"

namespace {

using namespace assay::blas;

const char* launch(const assay::Call& call) {
  use_threads(call);
  with_function(call, cblas_sgemm, cblas_dgemm, cblas_cgemm, cblas_zgemm, [&]<class T>(T, auto gemm) {
    const auto a = call.in<T>("a"), b = call.in<T>("b");
    const auto c = call.out<T>("c");
    gemm(order(call), transposed(call, "transa"), transposed(call, "transb"), length(call, "m"), length(call, "n"),
         length(call, "k"), Factor<T>(call, "alpha", "alpha_im"), a.data(), leading(call, a), b.data(),
         leading(call, b), Factor<T>(call, "beta", "beta_im"), c.data(), leading(call, c));
  });
  return nullptr;
}

}  // namespace

ASSAY_KERNEL(blas_gemm, openblas, .target = "cpu", .launch = launch, .describe = describe,
             .plan_contract = plan_contract,
             .contract = contract(ASSAY_BLAS_MATRIX_DOMAIN
                                  "; m <= " ASSAY_BLAS_MOST_OF_MATRIX "; k <= " ASSAY_BLAS_MOST_OF_MATRIX
                                  "; pad_a <= " ASSAY_BLAS_MOST_OF_MATRIX "; pad_b <= " ASSAY_BLAS_MOST_OF_MATRIX
                                  "; pad_c <= " ASSAY_BLAS_MOST_OF_MATRIX))
