// What an output element may be, as plain data: the elements that judge_element() passes, of one oracle's answer and
// one bound. For whoever has to judge without the oracle at hand, such as the file that assay shrink writes.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "check/element.h"
#include "core/contract.h"
#include "core/op.h"

namespace assay {

struct Allowed {
  // Finite numbers and infinities from low to high, by value; none where low > high.
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  bool nan = false;        // a NaN too
  bool infinite = false;   // either infinity too
  bool anything = false;   // whatever it is
  bool plus_zero = true;   // of the zeros in low .. high: +0
  bool minus_zero = true;  //                              -0
  bool is_exact() const { return low == high && !nan && !infinite && !anything; }
};

template <DType T>
Allowed allowed(const Expected& r, const JudgeRules& rules) {
  Allowed a;
  const bool r_nan = !(r.hi == r.hi);  // NOLINT(misc-redundant-expression): of a NaN alone
  a.anything = r_nan && rules.nan_unspecified;
  const bool may_be_infinite = r.evidence == Evidence::no_evidence;
  const bool may_be_nan = may_be_infinite || r.evidence == Evidence::or_nan;
  if (!detail::finite(r.hi)) {
    if constexpr (!is_float(T)) {
      a.low = a.high = r_nan ? 0 : round_extended<T>(r.hi);
    } else {
      a.nan = r_nan || may_be_nan || T == DType::e4m3;
      a.infinite = may_be_infinite;
      if (!r_nan && T != DType::e4m3) a.low = a.high = r.hi;
    }
    return a;
  }
  const double e = r.evidence == Evidence::exact ? r.e_ref : detail::sum_up(r.e_alg, r.e_ref);
  const Interval interval = enclosure<T>(r.hi, r.lo, e);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool open_end = interval.low == -kInfinity || interval.high == kInfinity;
  const bool is_end = T == DType::e4m3 && open_end;
  a.nan = may_be_nan || is_end;
  a.infinite = may_be_infinite || is_end;
  if (interval.low <= interval.high) {
    a.low = interval.low;
    a.high = interval.high;
  }
  a.plus_zero = !rules.bitwise || !std::signbit(r.hi);
  a.minus_zero = !rules.bitwise || std::signbit(r.hi);
  return a;
}

// Of every element of an output, in logical order.
std::vector<Allowed> allowed(const Reference& reference, const Bounds& bounds, const Contract& contract);

bool allows(const Allowed& allowed, double got);

}  // namespace assay
