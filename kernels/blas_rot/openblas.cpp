// blas_rot by OpenBLAS: cblas_srot, cblas_drot, csrot, zdrot.
#include "blas.h"

// By their Fortran names: releases of OpenBLAS before 0.3.16 have no others.
extern "C" {
void csrot_(const blasint* n, float* x, const blasint* incx, float* y, const blasint* incy, const float* c,
            const float* s);
void zdrot_(const blasint* n, double* x, const blasint* incx, double* y, const blasint* incy, const double* c,
            const double* s);
}

namespace {

using assay::blas::length;

// With arguments by value.
template <class T>
auto by_value(void (*rot)(const blasint*, T*, const blasint*, T*, const blasint*, const T*, const T*)) {
  return [rot](blasint n, T* x, blasint incx, T* y, blasint incy, T c, T s) { rot(&n, x, &incx, y, &incy, &c, &s); };
}

const char* launch(const assay::Call& c) {
  assay::blas::use_threads(c);
  assay::blas::with_function(c, cblas_srot, cblas_drot, by_value(csrot_), by_value(zdrot_),
                             [&](auto type, const auto& rot) {
                               using T = decltype(type);
                               rot(length(c, "n"), c.out<T>("x").data(), length(c, "incx"), c.out<T>("y").data(),
                                   length(c, "incy"), static_cast<T>(c.number("c")), static_cast<T>(c.number("s")));
                             });
  return nullptr;
}

}  // namespace

ASSAY_KERNEL(blas_rot, openblas, .target = "cpu", .launch = launch, .describe = assay::blas::describe,
             .plan_contract = assay::blas::plan_contract, .contract = assay::blas::contract(ASSAY_BLAS_DOMAIN))
