// blas_rotg by OpenBLAS: cblas_srotg, cblas_drotg, crotg, zrotg, one call a pair.
#include <type_traits>

#include "blas.h"

// By their Fortran names: releases of OpenBLAS before 0.3.16 have no others.
extern "C" {
void crotg_(float* a, const float* b, float* c, float* s);
void zrotg_(double* a, const double* b, double* c, double* s);
}

namespace {

// b is an output of real numbers alone.
template <class T>
T* second(const assay::Call& c, std::type_identity_t<void (*)(T*, T*, T*, T*)>) {
  return c.out<T>("b").data();
}
template <class T>
const T* second(const assay::Call& c, std::type_identity_t<void (*)(T*, const T*, T*, T*)>) {
  return c.in<T>("b").data();
}

const char* launch(const assay::Call& c) {
  assay::blas::use_threads(c);
  const int64_t parts = c.word("domain") == "complex" ? 2 : 1;
  assay::blas::with_function(c, cblas_srotg, cblas_drotg, crotg_, zrotg_, [&](auto type, auto rotg) {
    using T = decltype(type);
    const auto a = c.out<T>("a"), cosine = c.out<T>("c"), sine = c.out<T>("s");
    auto* b = second<T>(c, rotg);
    for (int64_t i = 0; i < cosine.dim(0); ++i) {
      rotg(a.data() + parts * i, b + parts * i, cosine.data() + i, sine.data() + parts * i);
    }
  });
  return nullptr;
}

}  // namespace

ASSAY_KERNEL(blas_rotg, openblas, .target = "cpu", .launch = launch, .describe = assay::blas::describe,
             .plan_contract = assay::blas::plan_contract, .contract = assay::blas::contract(ASSAY_BLAS_DOMAIN))
