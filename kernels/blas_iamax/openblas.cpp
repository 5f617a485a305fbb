// blas_iamax by OpenBLAS: cblas_i?amax, one call a vector.
#include "blas.h"

namespace {

const char* launch(const assay::Call& c) {
  assay::blas::with_function(c, cblas_isamax, cblas_idamax, cblas_icamax, cblas_izamax, [&](auto type, auto function) {
    using T = decltype(type);
    assay::blas::each_vector<T, int32_t>(c, "k", function);
  });
  return nullptr;
}

}  // namespace

ASSAY_KERNEL(blas_iamax, openblas, .target = "cpu", .launch = launch, .describe = assay::blas::describe,
             .contract = assay::blas::contract(ASSAY_BLAS_DOMAIN, ASSAY_ACC_NONE))
