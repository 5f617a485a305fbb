// blas_syrk by OpenBLAS: cblas_?syrk.
#include "blas_matrix.h"

namespace {

using namespace assay::blas;

const char* launch(const assay::Call& call) {
  use_threads(call);
  with_function(call, cblas_ssyrk, cblas_dsyrk, cblas_csyrk, cblas_zsyrk, [&]<class T>(T, auto syrk) {
    const auto a = call.in<T>("a");
    const auto c = call.out<T>("c");
    syrk(order(call), triangle(call), transposed(call, "trans"), length(call, "n"), length(call, "k"),
         Factor<T>(call, "alpha", "alpha_im"), a.data(), leading(call, a), Factor<T>(call, "beta", "beta_im"), c.data(),
         leading(call, c));
  });
  return nullptr;
}

}  // namespace

ASSAY_KERNEL(blas_syrk, openblas, .target = "cpu", .launch = launch, .describe = describe,
             .plan_contract = plan_contract,
             .contract = contract(ASSAY_BLAS_MATRIX_DOMAIN "; k <= " ASSAY_BLAS_MOST_OF_MATRIX
                                                           "; pad_a <= " ASSAY_BLAS_MOST_OF_MATRIX
                                                           "; pad_c <= " ASSAY_BLAS_MOST_OF_MATRIX))
