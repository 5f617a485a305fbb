// blas_nrm2 by OpenBLAS: cblas_?nrm2, cblas_scnrm2, cblas_dznrm2, one call a vector.
#include "blas.h"

namespace {

const char* launch(const assay::Call& c) {
  assay::blas::with_function(c, cblas_snrm2, cblas_dnrm2, cblas_scnrm2, cblas_dznrm2, [&](auto type, auto function) {
    using T = decltype(type);
    assay::blas::each_vector<T, T>(c, "r", function);
  });
  return nullptr;
}

// By which of the three ways (reference/blas_nrm2/op.cpp) differs from core to core and from release to release.
constexpr assay_contract rescaled(int32_t accumulator) {
  assay_contract contract = assay::blas::contract(ASSAY_BLAS_DOMAIN, accumulator);
  contract.arithmetic.rescales_online = 1;
  return contract;
}
constexpr assay_contract kDouble = rescaled(ASSAY_ACC_F64);
const assay_contract* plan_contract(const assay::Call& c) { return c.word("dtype") == "f64" ? &kDouble : nullptr; }

}  // namespace

ASSAY_KERNEL(blas_nrm2, openblas, .target = "cpu", .launch = launch, .describe = assay::blas::describe,
             .plan_contract = plan_contract, .contract = rescaled(ASSAY_ACC_F32))
