// High precision sum and maximum over one axis, element by element: one source for host and device.
//
// sum of f32, f16, bf16: in fp64, in the order of the axis; E_ref = gamma_n(2^-53) sum |x|.
// sum of f64: compensated by two_sum and kept unrounded (Ogita, Rump and Oishi, 2005, Sum2): the rounding errors are at
// most u |partial sum|, together n u sum |x|, and are summed with relative error gamma_n: gamma_n(2^-53)^2 sum |x|.
// max: exact. A NaN anywhere gives NaN; zeros of either sign are equal.
// Of no elements the sum is 0 and the maximum -Inf.
//
// Conditions: terms, at least sum |x| over the finite x, which no partial sum exceeds; quantum, exponent e such that
// every finite x is a multiple of 2^e.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/hd.h"
#include "reference/math/bounds.h"
#include "reference/math/dd.h"
#include "reference/math/exact.h"
#include "reference/rule.h"

namespace assay::reduce {

enum Condition : int { kTerms, kQuantum, kConditions };
inline constexpr Per kPer[kConditions] = {Per::element, Per::element};

struct Element {
  double hi = 0, lo = 0, e_ref = 0;
  double condition[kConditions] = {};
};

// Running state of one output. Call add() in the order of the axis.
struct Sum {
  double high = 0, low = 0, magnitude = 0;
  int quantum = kNoQuantum;
  bool finite = true;  // so far, the inputs

  ASSAY_HD void add(double x, bool compensated) {
    if (is_finite(x)) {
      magnitude += std::fabs(x);
      quantum = finer_of(quantum, quantum_of(x));
    } else {
      finite = false;
    }
    if (!compensated) {
      high += x;
      return;
    }
    const DoubleDouble s = two_sum(high, x);
    high = s.hi;
    low += s.lo;
  }

  ASSAY_HD Element finish(int64_t n, bool compensated) const {
    Element e;
    e.condition[kTerms] = magnitude * (1 + (static_cast<double>(n) + 8) * 0x1p-52);
    e.condition[kQuantum] = quantum;
    if (!finite) {
      e.hi = high == high ? high : std::numeric_limits<double>::quiet_NaN();  // one NaN on every machine
      return e;
    }
    if (!is_finite(e.condition[kTerms]) || !is_finite(high)) {  // fp64 itself may overflow: the order decides
      e.condition[kTerms] = e.e_ref = kInfinity;
      return e;
    }
    const DoubleDouble sum = two_sum(high, low);
    e.hi = sum.hi;
    e.lo = sum.lo;
    if (sums_are_exact(DType::f64, e.condition[kTerms], quantum, false)) return e;
    const double g = gamma_n(static_cast<double>(n), kDoubleRoundoff);
    e.e_ref = (compensated ? g * g : g) * e.condition[kTerms];
    return e;
  }
};

ASSAY_HD inline double larger_of(double a, double b) {  // NaN when either is
  return !(a == a) || !(b == b) ? std::numeric_limits<double>::quiet_NaN() : a < b ? b : a;
}

// Sum: gamma_h(u) sum |x| for a tree of depth h, which at most n - 1 additions can have; when subnormals are flushed
// each element and each partial sum may lose the least normal number. Additions never underflow otherwise. A maximum is
// one of the elements: exact. So is a NaN among them, and an infinity but for a sum of the others that may overflow.
struct Rule : ElementRule {
  bool is_sum = false;
  bool flushes = false;
  IntermediateError narrowing;                             // on the way to the output
  DType accumulator = DType::f64, narrowest = DType::f64;  // types that the sum passes through
  double rounding = 0, flushed = 0;
  bool depth_known = false;

  ASSAY_HD ElementBound operator()(ElementRule::Row, double hi, double e_ref, const double* k) const {
    const ElementBound exact{0, Evidence::exact};
    const double terms = k[kTerms], limit = largest_finite(accumulator);
    if (!is_sum) return exact;
    if (!is_finite(hi)) return std::fabs(hi) == kInfinity && terms > limit ? ElementBound{0, Evidence::or_nan} : exact;
    const double e = rounding * terms + flushed;
    ElementBound b{e + narrowing.of(hi, e + e_ref), depth_known ? Evidence::rigorous : Evidence::weak};
    if (!(terms * (1 + rounding) <= limit)) {
      b.evidence = Evidence::no_evidence;
    } else if (e_ref == 0 && sums_are_exact(narrowest, terms, static_cast<int>(k[kQuantum]), flushes)) {
      return exact;
    }
    return b;
  }
};

Rule rule_of(const Case& c, const Contract& contract);

}  // namespace assay::reduce
