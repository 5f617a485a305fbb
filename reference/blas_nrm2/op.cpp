// The BLAS Euclidean norm: r = sqrt(sum_i |x_i|^2). Of `batch` vectors, one call each. Of no elements it is 0. With a
// negative increment the reference BLAS gives the norm from 3.10 on (dnrm2.f90; with 0, the first element counts n
// times) and gave 0 before, as OpenBLAS did in 0.3.21 and does not in 0.3.34: what lies between is let pass. Where r is
// a number of the type it must be met, however large or small the squares are: the reference BLAS scales. One infinity
// makes r infinite, a NaN makes it NaN; of two infinities a rescaled sum (reference BLAS up to 3.9) makes NaN:
// either is let pass.
#include "reference/blas.h"

namespace assay {
namespace blas_nrm2 {
namespace {

using namespace blas;

constexpr double kRescaling = 5, kPlain = 1;  // roundings a term

// r in twice fp64 of n parts x(i), with gemm's conditions; terms is r itself. The largest is scaled to [1, 2) by a
// power of two: nothing overflows, and what underflows is less than n 2^-1074 of a sum of 1 or more. Squares and sums
// by two_prod and two_sum are off by gamma_n(u)^2, the root by 25/8 u^2 (math/dd.h): together less than 2
// gamma_(n+8)^2.
template <class Part>
gemm::Element norm_of(int64_t n, const Part& x) {
  gemm::Element e;
  e.condition[gemm::kOperand] = 1;
  e.condition[gemm::kQuantum] = kNoQuantum;
  double largest = 0;
  int64_t infinities = 0;
  bool any_nan = false;
  for (int64_t i = 0; i < n; ++i) {
    const double magnitude = std::fabs(x(i));
    any_nan = any_nan || !(magnitude == magnitude);
    infinities += magnitude == kInfinity;
    if (magnitude > largest) largest = magnitude;
  }
  if (any_nan || infinities > 0) {
    e.hi = any_nan ? std::numeric_limits<double>::quiet_NaN() : kInfinity;
    if (!any_nan && infinities > 1) let_differ(e);
    return e;
  }
  if (largest == 0) return e;
  const int exponent = std::ilogb(largest);
  double high = 0, low = 0, ignored = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double scaled = std::ldexp(x(i), -exponent);
    gemm::add_product_exactly(scaled, scaled, high, low, ignored);
  }
  const DoubleDouble root = square_root(two_sum(high, low));
  const double r = std::ldexp(root.hi, exponent);
  if (!(r < 0x1.fffffp1023)) return anything();  // at the end of fp64
  e.hi = r;
  e.lo = std::ldexp(root.lo, exponent);
  e.condition[gemm::kTerms] = r * (1 + 0x1p-50);
  e.condition[gemm::kQuantum] = -kNoQuantum;  // never exact
  const double g = gamma_n(static_cast<double>(n) + 8, kDoubleRoundoff);
  e.e_ref = 2 * g * g * r + (r < 0x1p-900 ? 0x1p-1073 : 0);
  return e;
}

// Of an increment of 0 or less: 0 or the norm.
gemm::Element norm_or_zero(gemm::Element norm) {
  if (!is_finite(norm.hi) || !is_finite(norm.e_ref)) return anything();
  norm.e_ref += norm.hi / 2 * (1 + 0x1p-50);
  norm.hi /= 2;
  norm.lo /= 2;
  return norm;
}

class Nrm2Op final : public BlasOp {
 public:
  std::string_view name() const override { return "blas_nrm2"; }
  std::string_view summary() const override { return "r = sqrt of the sum of |x_i|^2 (BLAS ?nrm2, scnrm2, dznrm2)"; }
  std::vector<FieldSpec> fields() const override { return norm_fields(); }

  std::vector<Case> cases(Tier tier) const override {
    CaseList list(*this, tier);
    add_norm_cases(list);
    return list.take();
  }

  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    const std::string& fill = c.word("fill");
    const double share = fill == "huge" ? 1 / std::sqrt(std::max(c.real("n") * 2, 1.0)) : 1;
    return norm_tensors(c, {.generator = fill, .scale = share});
  }

  std::vector<Reference> oracle(const Case& c, std::span<const TensorView> tensors, int) const override {
    const int64_t n = c.integer("n"), parts = parts_of(c);
    Reference r = blank_reference(*tensors[1].spec);
    for (int64_t entry = 0; entry < c.integer("batch"); ++entry) {
      const Vector x(c, tensors[0], n, c.integer("incx"), entry);
      const gemm::Element norm = norm_of(n * parts, [&](int64_t i) { return x(i / parts, i % parts); });
      store(r, entry, c.integer("incx") > 0 ? norm : norm_or_zero(norm));
    }
    return {r};
  }

  // Relative to r, of N squares that are all positive:
  //   plain, or in three sums (J. L. Blue, "A portable Fortran program to find the Euclidean norm of a vector", ACM
  //   TOMS 4(1), 1978; E. Anderson, "Algorithm 978", ACM TOMS 44(1), 2017): N roundings of the sum, 8 of joining the
  //   sums rescaled by the largest so far (reference BLAS up to 3.9), which the contract has to declare: ssq (s/t)^2 +
  //   1 at every step, 5 roundings
  // and half of it after the root, whose own rounding and whose factor's are 2 more.
  Bounds bounds(const Case& c, const Contract& contract, const Reference& reference) const override {
    const auto n = static_cast<double>(terms(c));
    const double of_a_term = contract.arithmetic.rescales_online != 0 ? kRescaling : kPlain;
    return bounds_of(rule_of(reference.dtype, contract, of_a_term * n / 2 + 8, 1), reference, 1, gemm::kPer);
  }

  std::vector<Sensitivity> sensitivities(const Case& c) const override { return norm_sensitivities(c); }

  std::vector<RowIndependence> row_independence(const Case& c) const override { return norm_row_independence(c); }
  std::optional<Case> leading_part(const Case& c) const override { return first_of_batch(c); }
  std::vector<TensorAxis> row_order(const Case& c) const override { return order_of_batch(c, {"x", "r"}); }

  std::optional<Case> more_terms(const Case& c) const override {
    if (c.integer("n") == 0 || c.integer("incx") <= 0) return std::nullopt;
    return longer(c, "n");
  }

 protected:
  int64_t terms(const Case& c) const override { return c.integer("n") * parts_of(c); }
};

}  // namespace
}  // namespace blas_nrm2

std::unique_ptr<Op> make_blas_nrm2_op() { return std::make_unique<blas_nrm2::Nrm2Op>(); }

}  // namespace assay
