// blas_asum by OpenBLAS: cblas_?asum, cblas_scasum, cblas_dzasum, one call a vector.
#include "blas.h"

namespace {

const char* launch(const assay::Call& c) {
  assay::blas::with_function(c, cblas_sasum, cblas_dasum, cblas_scasum, cblas_dzasum, [&](auto type, auto function) {
    using T = decltype(type);
    assay::blas::each_vector<T, T>(c, "r", function);
  });
  return nullptr;
}

}  // namespace

ASSAY_KERNEL(blas_asum, openblas, .target = "cpu", .launch = launch, .describe = assay::blas::describe,
             .plan_contract = assay::blas::plan_contract, .contract = assay::blas::contract(ASSAY_BLAS_DOMAIN))
