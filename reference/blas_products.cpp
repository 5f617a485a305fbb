#include "reference/blas_products.h"

namespace assay::blas {

gemm::Element ProductSum::finish(int part, Complex c) const {
  const Complex alpha = scaling_.alpha, beta = scaling_.beta;
  if (beta.is_zero()) c = {};
  const Complex finite{assay::is_finite(c.re) ? c.re : 0, assay::is_finite(c.im) ? c.im : 0};
  // With ' for the other part: (x y).re = x.re y.re - x.im y.im, (x y).im = x.re y.im + x.im y.re
  const Real &own = part == 0 ? re_ : im_, &other = part == 0 ? im_ : re_;
  const double turn = part == 0 ? -1 : 1;
  const double c_own = part == 0 ? finite.re : finite.im, c_other = part == 0 ? finite.im : finite.re;
  const DoubleDouble value = (own.sum() * alpha.re + other.sum() * (turn * alpha.im)) +
                             (two_prod(beta.re, c_own) + two_prod(turn * beta.im, c_other));

  const auto n = static_cast<double>(scaling_.is_complex ? 2 * products_ : products_);
  const double rounded_up = 1 + (n + 16) * 0x1p-52;  // the magnitudes were themselves summed in fp64
  const double magnitude = own.magnitude * rounded_up, other_magnitude = other.magnitude * rounded_up;
  const double factor = std::fmax(1, std::fmax(extent_of(alpha), extent_of(beta)));
  gemm::Element e;
  double& terms = e.condition[gemm::kTerms];
  double& largest = e.condition[gemm::kLargest];
  terms = (std::fabs(alpha.re) * magnitude + std::fabs(alpha.im) * other_magnitude + std::fabs(beta.re * c_own) +
           std::fabs(beta.im * c_other)) *
          rounded_up;
  largest = std::fmax(std::fmax(magnitude, other_magnitude), terms);
  int quantum = scaled_quantum(quantum_, alpha);
  if (!finite.is_zero()) quantum = finer_of(quantum, scaled_quantum(quantum_of(finite), beta));
  e.condition[gemm::kQuantum] = quantum;
  e.condition[gemm::kOperand] = std::fmax(1, std::fmax(largest_a_, largest_b_)) * factor;

  bool unclear = skipped_;
  e.hi = value.hi;
  e.lo = value.lo;
  if (has_special_ || !is_finite(c)) {
    largest = std::fmax(largest, (n * largest_a_ * largest_b_ * std::fmax(1, extent_of(alpha)) + terms) * rounded_up);
    unclear = settle_special(part, c, value, e);
  } else if (!assay::is_finite(e.hi) || !assay::is_finite(largest)) {
    return anything();  // the order of summation decides
  }
  if (unclear) let_differ(e);
  if (!assay::is_finite(e.hi)) {
    e.lo = 0;
    return e;
  }
  if (!unclear && sums_are_exact(DType::f64, largest, quantum, false)) return e;
  const double g = gamma_n(n + 32, kDoubleRoundoff);
  e.e_ref = g * g * terms + (n + 8) * 0x1p-1074 * factor;
  return e;
}

// Of an element with NaN or infinity among its inputs, `value` being the sum of all else. Whether practice differs.
bool ProductSum::settle_special(int part, Complex c, const DoubleDouble& value, gemm::Element& e) const {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Complex alpha = scaling_.alpha, beta = scaling_.beta;
  if (!scaling_.is_complex) {
    const double of_products = has_special_ ? alpha.re * special_ : 0;
    const double total = value.hi + (of_products + (assay::is_finite(c.re) ? 0 : beta.re * c.re));
    e.hi = is_nan(total) ? kNan : total;  // one NaN on every machine
    return skipped_ && !is_nan(total);
  }
  const double own = part == 0 ? c.re : c.im, other = part == 0 ? c.im : c.re;
  const bool is_infinite = has_special_ || !assay::is_finite(own) || (!assay::is_finite(other) && beta.im != 0);
  if (!is_infinite) return true;  // beside NaN or infinity in the other part of c, under a real beta
  e.hi = kNan;
  return !(has_nan_ || (!has_infinity(c) && (is_nan(own) || (is_nan(other) && beta.im != 0))));
}

gemm::Rule product_rule(DType dtype, bool of_complex, const Contract& contract, int64_t products) {
  const int32_t unit = charged_accumulator(contract, dtype);
  const auto n = static_cast<double>(of_complex ? 2 * products : products);
  gemm::Rule rule;
  rule.input = dtype;
  rule.flushes = contract.arithmetic.flushes_subnormals != 0;
  rule.rounding = gamma_n(n + (of_complex ? 6 : 2), unit_roundoff(accumulator_type(unit)));
  rule.underflow = (rule.flushes ? 8 * n + 16 : 4 * n + 8) * underflow_error(unit, rule.flushes);
  rule.passed[rule.types++] = accumulator_type(unit);
  return rule;
}

gemm::Rule product_rule(const Case& c, const Contract& contract, int64_t products) {
  return product_rule(dtype_of(c), is_complex(c), contract, products);
}

}  // namespace assay::blas
