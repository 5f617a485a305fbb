// blas_copy by OpenBLAS: cblas_?copy.
#include "blas.h"

namespace {

using assay::blas::length;

const char* launch(const assay::Call& c) {
  assay::blas::use_threads(c);
  assay::blas::with_function(c, cblas_scopy, cblas_dcopy, cblas_ccopy, cblas_zcopy, [&](auto type, auto copy) {
    using T = decltype(type);
    copy(length(c, "n"), c.in<T>("x").data(), length(c, "incx"), c.out<T>("y").data(), length(c, "incy"));
  });
  return nullptr;
}

}  // namespace

ASSAY_KERNEL(blas_copy, openblas, .target = "cpu", .launch = launch, .describe = assay::blas::describe,
             .contract = assay::blas::contract(ASSAY_BLAS_DOMAIN, ASSAY_ACC_NONE))
