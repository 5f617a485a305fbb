// High precision C = alpha op(A) op(B) + beta C, element by element: one source for host and device.
//
// f32, f16, bf16: products are exact in fp64 and are summed there in the order k = 0, 1, ...; E_ref =
// gamma_(K+2)(2^-53) times the terms (Higham, section 3.1). f64: Dot2 of T. Ogita, S. M. Rump and S. Oishi, "Accurate
// sum and dot product", SIAM J. Sci. Comput. 26(6), 2005: the rounding errors of products and sums are themselves
// summed, the result is kept unrounded. Those errors are at most u |product| and u |partial sum|, together n u S, and
// are summed with relative error gamma_n; the scalars add a few roundings of the low part: E_ref = gamma_(K+8)(2^-53)^2
// times the terms, plus what products lose by underflow. Where all sums are exact E_ref = 0.
//
// Where finite inputs may overflow fp64 itself, the order of summation decides what comes out: such an element has an
// infinite E_ref around a finite r.
//
// Conditions of an element, in the order of Reference::conditions. With S = sum_k |a_ik b_kj|:
//   terms    at least |alpha| S + |beta c|
//   largest  no intermediate of any order of summation exceeds it: at least max(S, terms) where the inputs are finite,
//            otherwise K max|a| max|b| max(1, |alpha|) + |beta c| over the finite ones. Negative, -0 among it, where
//            correct implementations differ (ops of BLAS say where): r or NaN, or where r is NaN an infinity too
//   quantum  exponent e such that every product, scaled or not, and beta c are multiples of 2^e
//   operand  max(1, max_k |a_ik|, max_k |b_kj|) max(1, |alpha|, |beta|): bounds a factor scaled beforehand, and what an
//            underflow may be multiplied by
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/hd.h"
#include "reference/math/bounds.h"
#include "reference/math/dd.h"
#include "reference/math/exact.h"
#include "reference/math/tensor_unit.h"
#include "reference/rule.h"

namespace assay::gemm {

enum Condition : int { kTerms, kLargest, kQuantum, kOperand, kConditions };
inline constexpr Per kPer[kConditions] = {Per::element, Per::element, Per::element, Per::element};

// Adds a b to a running sum in fp64, for a and b of f32 or narrower: at most 24 bits each, and nothing below 2^-149, so
// that the product is exact and a fused multiply-add gives the bits of a product and a sum. On a device it takes half
// the time; on a host without the instruction it takes many times as long.
ASSAY_HD inline void add_product(double a, double b, double& sum, double& magnitude) {
#ifdef __CUDA_ARCH__
  sum = __fma_rn(a, b, sum);
  magnitude = __fma_rn(std::fabs(a), std::fabs(b), magnitude);
#else
  const double product = a * b;
  sum += product;
  magnitude += std::fabs(product);
#endif
}

// The same with the rounding errors gathered in `low`; the sum is high + low. `low` means nothing once `high` is not
// finite. Without a branch, so that loops over elements vectorise.
ASSAY_HD inline void add_product_exactly(double a, double b, double& high, double& low, double& magnitude) {
  const double product = a * b;
  const double product_error = __builtin_fma(a, b, -product);
  const double sum = high + product;
  const double part = sum - high;
  const double sum_error = (high - (sum - part)) + (product - part);
  high = sum;
  low += sum_error + product_error;
  magnitude += std::fabs(product);
}

// What is known of a row of op(A) or a column of op(B).
struct Line {
  double largest = 0;  // of the finite magnitudes
  int64_t nonzeros = 0;
  int64_t last = 0;          // index of the last non-zero element
  int quantum = kNoQuantum;  // of all finite elements
  bool finite = true;

  // The line of these elements and of those of `other`.
  ASSAY_HD void add(const Line& other) {
    largest = std::fmax(largest, other.largest);
    quantum = finer_of(quantum, other.quantum);
    if (other.nonzeros > 0 && other.last > last) last = other.last;
    nonzeros += other.nonzeros;
    finite = finite && other.finite;
  }

  ASSAY_HD void add(double x, int64_t index) {
    if (!is_finite(x)) {
      finite = false;
    } else if (x != 0) {
      largest = std::fmax(largest, std::fabs(x));
      quantum = finer_of(quantum, quantum_of(x));
      ++nonzeros;
      last = index;
    }
  }
};

// Running sums of one element over k; low stays 0 in fp64 summation.
struct Sums {
  double high = 0, low = 0, magnitude = 0;
};

// Quantum common to all products of two lines. With at most one non-zero term the product's own holds, which is coarser
// than the lines' together; a_at(k) and b_at(k) give the lines' elements.
template <class A, class B>
ASSAY_HD int quantum_of_products(const Line& a, const Line& b, const A& a_at, const B& b_at) {
  if (a.nonzeros == 0 || b.nonzeros == 0) return kNoQuantum;
  if (a.nonzeros > 1 && b.nonzeros > 1) return a.quantum + b.quantum;
  const int64_t k = a.nonzeros == 1 ? a.last : b.last;
  const double x = a_at(k), y = b_at(k);
  return x == 0 || y == 0 || !is_finite(x) || !is_finite(y) ? kNoQuantum : quantum_of(x) + quantum_of(y);
}

struct Scalars {
  double alpha = 1, beta = 0;
  int64_t k = 0;
  bool dot2 = false;  // how the sums were formed

  ASSAY_HD bool reads_products() const { return alpha != 0 && k > 0; }
  ASSAY_HD bool reads_c() const { return beta != 0; }
};

struct Element {
  double hi = 0, lo = 0, e_ref = 0;
  double condition[kConditions] = {};
};

ASSAY_HD inline int scaled_quantum(int quantum, double factor) {
  if (quantum == kNoQuantum) return quantum;
  const int shift = quantum_of(factor);
  return shift < 0 ? quantum + shift : quantum;
}

// Turns the sums over k into the element. `products_quantum` is common to all its products; `sums`, a, b and
// products_quantum are ignored unless products are read, c unless beta is non-zero.
ASSAY_HD inline Element finish(const Scalars& scalars, const Sums& sums, const Line& a, const Line& b,
                               int products_quantum, double c) {
  const double n = static_cast<double>(scalars.k);
  const bool reads_products = scalars.reads_products();
  const bool reads_c = scalars.reads_c();
  const double alpha = std::fabs(scalars.alpha);
  const double factor = std::fmax(1, std::fmax(alpha, std::fabs(scalars.beta)));

  const double scaled = reads_products ? scalars.alpha * sums.high : 0;
  const double scaled_error =
      reads_products ? __builtin_fma(scalars.alpha, sums.high, -scaled) + scalars.alpha * sums.low : 0;
  const double added = reads_c ? scalars.beta * c : 0;
  const double added_error = reads_c ? __builtin_fma(scalars.beta, c, -added) : 0;
  const DoubleDouble sum = two_sum(scaled, added);

  Element e;
  const double rounded_up = 1 + (n + 8) * 0x1p-52;  // the magnitudes were themselves summed in fp64
  const double magnitude = reads_products ? sums.magnitude * rounded_up : 0;
  e.condition[kTerms] = (alpha * magnitude + std::fabs(added)) * rounded_up;
  const bool inputs_finite = (!reads_products || (a.finite && b.finite)) && (!reads_c || is_finite(c));
  if (inputs_finite) {
    e.condition[kLargest] = std::fmax(magnitude, e.condition[kTerms]);
  } else {
    const double products = reads_products ? n * a.largest * b.largest * std::fmax(1, alpha) : 0;
    e.condition[kLargest] = (products + (is_finite(added) ? std::fabs(added) : 0)) * rounded_up;
  }
  int quantum = reads_products ? scaled_quantum(products_quantum, scalars.alpha) : kNoQuantum;
  if (reads_c && is_finite(c)) quantum = finer_of(quantum, scaled_quantum(quantum_of(c), scalars.beta));
  e.condition[kQuantum] = quantum;
  e.condition[kOperand] = (reads_products ? std::fmax(1, std::fmax(a.largest, b.largest)) : 1) * factor;

  if (!inputs_finite) {
    // NOLINTNEXTLINE(misc-redundant-expression): not so of a NaN
    e.hi = sum.hi == sum.hi ? sum.hi : std::numeric_limits<double>::quiet_NaN();  // one NaN on every machine
    return e;
  }
  const DoubleDouble result = two_sum(sum.hi, sum.lo + (scaled_error + added_error));
  if (!is_finite(result.hi) || !is_finite(e.condition[kLargest])) {
    e.condition[kLargest] = e.e_ref = kInfinity;
    return e;
  }
  e.hi = result.hi;
  e.lo = result.lo;
  if (sums_are_exact(DType::f64, e.condition[kLargest], quantum, false)) return e;
  const double g = scalars.dot2 ? gamma_n(n + 8, kDoubleRoundoff) : gamma_n(n + 2, kDoubleRoundoff);
  e.e_ref = scalars.dot2 ? g * g * e.condition[kTerms] + (n + 4) * 0x1p-1074 * factor : g * e.condition[kTerms];
  return e;
}

// Whether a product that is normal may have a factor that is not, and is taken for zero: no product is less than
// 2^quantum, and no other factor more than `operand`.
ASSAY_HD inline bool may_lose_a_factor(DType type, int quantum, double operand) {
  return !(std::ldexp(1.0, quantum) >= std::ldexp(operand, format_of(type).min_exponent));
}

// E_alg. With u of the accumulator and T = |alpha| S + |beta c|:
//   rounding   gamma_(K+2)(u) T for any order of summation: a product, at most K additions, alpha
//   in a matrix unit  what math/tensor_unit.h says of the sum, and gamma_(2+s)(2^-24) T for its s parts, alpha, beta
//              and their sum; of 16-bit and narrower inputs, whose products are exact
//   underflow  each product, and each factor scaled by alpha beforehand, may lose half the least subnormal times the
//              other operand; with flushing each operand, product and sum may lose the least normal number
//   split K    s partial sums, of a product or more each, stored in and added in a narrower type v: (s + 1) u_v T
//   narrower intermediate: once its roundoff times the result, times T where beta c is added to it
// A NaN comes of the inputs in every order, and must come out; so must an infinity, or a NaN where the other terms may
// overflow.
struct Rule : ElementRule {
  double rounding = 0, extra = 0;  // times T; extra: of narrower types
  double narrowing = 0;            // times the result
  double underflow = 0;            // times the largest operand
  DType passed[3] = {};            // every type that a partial sum passes through
  int types = 0;
  bool flushes = false;
  bool in_tensor_unit = false;
  TensorUnit tensor{};
  DType input = DType::f64;

  ASSAY_HD ElementBound operator()(ElementRule::Row, double hi, double e_ref, const double* k) const {
    const double largest = std::fabs(k[kLargest]), operand = k[kOperand];
    const bool differs = std::signbit(k[kLargest]);
    const int quantum = static_cast<int>(k[kQuantum]);
    bool may_overflow = false, exact = e_ref == 0;
    exact = exact && (!in_tensor_unit || tensor.is_exact(largest, quantum, operand, input));
    for (int type = 0; type < types; ++type) {
      may_overflow =
          may_overflow || !(std::fmax(largest, operand) * (1 + rounding + extra) <= largest_finite(passed[type]));
      exact = exact && sums_are_exact(passed[type], largest, quantum, flushes) &&
              !(flushes && may_lose_a_factor(passed[type], quantum, operand));
    }
    ElementBound b{0, exact ? Evidence::exact : Evidence::rigorous};
    if (!is_finite(hi)) {  // judged by its class
      const bool is_infinite = std::fabs(hi) == kInfinity;
      if (differs && !is_infinite) b.evidence = Evidence::no_evidence;
      if (is_infinite && (differs || may_overflow)) b.evidence = Evidence::or_nan;
      return b;
    }
    if (differs) b.evidence = Evidence::or_nan;
    if (may_overflow) b.evidence = Evidence::no_evidence;
    if (exact) return b;  // E stays 0
    b.e_alg = charged(rounding + extra, k[kTerms]) + underflow * std::fmin(operand, largest_finite(DType::f64));
    b.e_alg += charged(std::fabs(hi) + b.e_alg + e_ref, narrowing);
    return b;
  }
};

Rule rule_of(const Case& c, const Contract& contract);

// Lets a NaN pass beside the element's value, and an infinity where that is NaN.
inline void let_differ(Element& e) { e.condition[kLargest] = -std::fabs(e.condition[kLargest]); }

}  // namespace assay::gemm
