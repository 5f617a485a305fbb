// blas_trmv by OpenBLAS: cblas_?trmv.
#include "blas_matrix.h"

namespace {

using namespace assay::blas;

const char* launch(const assay::Call& call) {
  use_threads(call);
  with_function(call, cblas_strmv, cblas_dtrmv, cblas_ctrmv, cblas_ztrmv, [&]<class T>(T, auto trmv) {
    const auto a = call.in<T>("a");
    const auto x = call.out<T>("x");
    trmv(order(call), triangle(call), transposed(call, "trans"), diagonal(call), length(call, "n"), a.data(),
         leading(call, a), x.data(), length(call, "incx"));
  });
  return nullptr;
}

}  // namespace

ASSAY_KERNEL(blas_trmv, openblas, .target = "cpu", .launch = launch, .describe = describe,
             .plan_contract = plan_contract,
             .contract = contract(ASSAY_BLAS_MATRIX_DOMAIN "; pad <= " ASSAY_BLAS_MOST_OF_MATRIX))
