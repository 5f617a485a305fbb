// blas_scal by OpenBLAS: cblas_?scal, cblas_csscal, cblas_zdscal.
#include "blas.h"

namespace {

const char* launch(const assay::Call& c) {
  assay::blas::use_threads(c);
  const auto scale = [&](auto type, auto scal) {
    using T = decltype(type);
    scal(assay::blas::length(c, "n"), assay::blas::Factor<T>(c, "alpha", "alpha_im"), c.out<T>("x").data(),
         assay::blas::length(c, "incx"));
  };
  if (c.word("by") == "real") {
    assay::blas::with_function(c, cblas_sscal, cblas_dscal, cblas_csscal, cblas_zdscal, scale);
  } else {
    assay::blas::with_function(c, cblas_sscal, cblas_dscal, cblas_cscal, cblas_zscal, scale);
  }
  return nullptr;
}

}  // namespace

ASSAY_KERNEL(blas_scal, openblas, .target = "cpu", .launch = launch, .describe = assay::blas::describe,
             .plan_contract = assay::blas::plan_contract, .contract = assay::blas::contract(ASSAY_BLAS_DOMAIN))
