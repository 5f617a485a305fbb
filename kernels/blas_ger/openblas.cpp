// blas_ger by OpenBLAS: cblas_?ger, cblas_?geru, cblas_?gerc.
#include "blas_matrix.h"

namespace {

using namespace assay::blas;

const char* launch(const assay::Call& call) {
  use_threads(call);
  const bool conjugated = call.word("conj") == "y";
  const auto cger = conjugated ? cblas_cgerc : cblas_cgeru, zger = conjugated ? cblas_zgerc : cblas_zgeru;
  with_function(call, cblas_sger, cblas_dger, cger, zger, [&]<class T>(T, auto ger) {
    const auto x = call.in<T>("x"), y = call.in<T>("y");
    const auto a = call.out<T>("a");
    ger(order(call), length(call, "m"), length(call, "n"), Factor<T>(call, "alpha", "alpha_im"), x.data(),
        length(call, "incx"), y.data(), length(call, "incy"), a.data(), leading(call, a));
  });
  return nullptr;
}

}  // namespace

ASSAY_KERNEL(blas_ger, openblas, .target = "cpu", .launch = launch, .describe = describe,
             .plan_contract = plan_contract,
             .contract = contract(ASSAY_BLAS_MATRIX_DOMAIN "; m <= " ASSAY_BLAS_MOST_OF_MATRIX
                                                           "; pad <= " ASSAY_BLAS_MOST_OF_MATRIX))
