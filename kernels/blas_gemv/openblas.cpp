// blas_gemv by OpenBLAS: cblas_?gemv.
#include "blas_matrix.h"

namespace {

using namespace assay::blas;

const char* launch(const assay::Call& call) {
  use_threads(call);
  with_function(call, cblas_sgemv, cblas_dgemv, cblas_cgemv, cblas_zgemv, [&]<class T>(T, auto gemv) {
    const auto a = call.in<T>("a"), x = call.in<T>("x");
    const auto y = call.out<T>("y");
    gemv(order(call), transposed(call, "trans"), length(call, "m"), length(call, "n"),
         Factor<T>(call, "alpha", "alpha_im"), a.data(), leading(call, a), x.data(), length(call, "incx"),
         Factor<T>(call, "beta", "beta_im"), y.data(), length(call, "incy"));
  });
  return nullptr;
}

}  // namespace

ASSAY_KERNEL(blas_gemv, openblas, .target = "cpu", .launch = launch, .describe = describe,
             .plan_contract = plan_contract,
             .contract = contract(ASSAY_BLAS_MATRIX_DOMAIN "; m <= " ASSAY_BLAS_MOST_OF_MATRIX
                                                           "; pad <= " ASSAY_BLAS_MOST_OF_MATRIX))
