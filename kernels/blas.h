// What the kernels that call CBLAS share: arguments as CBLAS wants them, and what OpenBLAS promises.
#ifndef ASSAY_KERNELS_BLAS_H
#define ASSAY_KERNELS_BLAS_H

#include <assay/kernel.h>
#include <cblas.h>

#include <algorithm>
#include <array>

namespace assay::blas {

// Which of the four functions of a name a call is for.
enum class Kind { s, d, c, z };
inline Kind kind_of(const Call& call) {
  const bool single = call.word("dtype") == "f32";
  if (call.word("domain") == "complex") return single ? Kind::c : Kind::z;
  return single ? Kind::s : Kind::d;
}

// The domain of every such kernel; each adds what else is an int to CBLAS.
#define ASSAY_BLAS_DOMAIN "dtype in f32 f64; n <= 2147483647"

inline blasint length(const Call& call, const char* field) { return static_cast<blasint>(call.axis(field)); }

// BLAS wants a leading dimension of at least 1, even of a matrix with no columns.
inline blasint leading(int64_t stride) { return static_cast<blasint>(std::max<int64_t>(1, stride)); }

// A factor of fields NAME and NAME_im, which CBLAS takes by value where it is real and by address where it is complex.
template <class T>
class Factor {
 public:
  Factor(const Call& call, const char* re, const char* im)
      : parts_{static_cast<T>(call.number(re)), static_cast<T>(call.number(im))} {}
  operator T() const { return parts_[0]; }                // NOLINT(google-explicit-constructor)
  operator const T*() const { return parts_.data(); }     // NOLINT(google-explicit-constructor)
  operator const void*() const { return parts_.data(); }  // NOLINT(google-explicit-constructor)

 private:
  std::array<T, 2> parts_;
};

// body(T{}, function) with the one of four functions that the call is for, and its type of real numbers.
template <class S, class D, class C, class Z, class Body>
void with_function(const Call& call, S s, D d, C c, Z z, Body body) {
  switch (kind_of(call)) {
    case Kind::s:
      return body(float{}, s);
    case Kind::d:
      return body(double{}, d);
    case Kind::c:
      return body(float{}, c);
    case Kind::z:
      return body(double{}, z);
  }
}

// Where vector `entry` of a tensor of several begins.
template <class Tensor>
auto* entry_of(const Tensor& t, int64_t entry) {
  return t.data() + entry * t.stride(0);
}

inline void use_threads(const Call& call) { openblas_set_num_threads(call.threads()); }

inline void describe(const Call&, const Describe& emit) {
  emit("isa", openblas_get_corename());
  emit("library", openblas_get_config());
}

// result[i] = function(n, vector i of x, incx), one call a vector.
template <class T, class R, class Function>
void each_vector(const Call& call, const char* result, Function function) {
  use_threads(call);
  const auto x = call.in<T>("x");
  const auto r = call.out<R>(result);
  const blasint n = length(call, "n"), incx = length(call, "incx");
  for (int64_t i = 0; i < r.dim(0); ++i) r.data()[i] = static_cast<R>(function(n, entry_of(x, i), incx));
}

// The depth of a sum is OpenBLAS's secret (its blocking differs from core to core); the ops' bounds hold for every
// order. It promises nothing across thread counts, addresses or leading dimensions: edges take other micro-kernels.
constexpr assay_contract contract(const char* domain, int32_t accumulator = ASSAY_ACC_F32) {
  return {.interface_version = 1,
          .owner = "libraries@assay",
          .domain = domain,
          .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART,
          .arithmetic = {.accumulator = accumulator, .split_k = 1},
          .nan_policy = ASSAY_NAN_PROPAGATES,
          .may_allocate = 1};  // packing buffers, from a pool of its own
}

inline constexpr assay_contract kDouble = contract(ASSAY_BLAS_DOMAIN, ASSAY_ACC_F64);
inline const assay_contract* plan_contract(const Call& call) {
  return call.word("dtype") == "f64" ? &kDouble : nullptr;
}

}  // namespace assay::blas
#endif
