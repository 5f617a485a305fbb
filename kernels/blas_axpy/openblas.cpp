// blas_axpy by OpenBLAS: cblas_?axpy.
#include "blas.h"

namespace {

using assay::blas::length;

const char* launch(const assay::Call& c) {
  assay::blas::use_threads(c);
  assay::blas::with_function(c, cblas_saxpy, cblas_daxpy, cblas_caxpy, cblas_zaxpy, [&](auto type, auto axpy) {
    using T = decltype(type);
    axpy(length(c, "n"), assay::blas::Factor<T>(c, "alpha", "alpha_im"), c.in<T>("x").data(), length(c, "incx"),
         c.out<T>("y").data(), length(c, "incy"));
  });
  return nullptr;
}

}  // namespace

ASSAY_KERNEL(blas_axpy, openblas, .target = "cpu", .launch = launch, .describe = assay::blas::describe,
             .plan_contract = assay::blas::plan_contract, .contract = assay::blas::contract(ASSAY_BLAS_DOMAIN))
