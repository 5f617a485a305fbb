// blas_dot by OpenBLAS: cblas_?dot, cblas_?dotu_sub, cblas_?dotc_sub, cblas_dsdot, one call a pair of vectors.
#include "blas.h"

namespace {

using assay::blas::entry_of;
using assay::blas::Kind;

template <class T, class R, class Dot>
void each(const assay::Call& call, Dot dot) {
  const auto x = call.in<T>("x"), y = call.in<T>("y");
  const auto r = call.out<R>("r");
  const blasint n = assay::blas::length(call, "n"), incx = assay::blas::length(call, "incx"),
                incy = assay::blas::length(call, "incy");
  for (int64_t i = 0; i < r.dim(0); ++i) dot(n, entry_of(x, i), incx, entry_of(y, i), incy, entry_of(r, i));
}

template <class T>
auto returned(T (*dot)(blasint, const T*, blasint, const T*, blasint)) {
  return [dot](blasint n, const T* x, blasint incx, const T* y, blasint incy, T* r) { *r = dot(n, x, incx, y, incy); };
}

const char* launch(const assay::Call& c) {
  assay::blas::use_threads(c);
  const bool conjugated = c.word("conj") == "y";
  switch (assay::blas::kind_of(c)) {
    case Kind::s:
      if (c.word("out") == "f64") {
        each<float, double>(c, [](blasint n, const float* x, blasint incx, const float* y, blasint incy, double* r) {
          *r = cblas_dsdot(n, x, incx, y, incy);
        });
      } else {
        each<float, float>(c, returned(cblas_sdot));
      }
      break;
    case Kind::d:
      each<double, double>(c, returned(cblas_ddot));
      break;
    case Kind::c:
      each<float, float>(c, conjugated ? cblas_cdotc_sub : cblas_cdotu_sub);
      break;
    case Kind::z:
      each<double, double>(c, conjugated ? cblas_zdotc_sub : cblas_zdotu_sub);
      break;
  }
  return nullptr;
}

const assay_contract* plan_contract(const assay::Call& c) {
  return c.word("out") == "f64" ? &assay::blas::kDouble : assay::blas::plan_contract(c);
}

}  // namespace

ASSAY_KERNEL(blas_dot, openblas, .target = "cpu", .launch = launch, .describe = assay::blas::describe,
             .plan_contract = plan_contract, .contract = assay::blas::contract(ASSAY_BLAS_DOMAIN))
