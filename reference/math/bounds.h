// What error bounds are built from: roundoffs, gamma_n, the error of each kind of exp, underflow. Each op forms its own
// E_alg and E_ref from these in its oracle.h, where the derivation stands. To add a building block: one function here,
// with the source of its constant.
//
// Notation: u is a unit roundoff, h the depth of a summation tree, gamma_n = n u / (1 - n u) (N. J. Higham, "Accuracy
// and Stability of Numerical Algorithms", 2nd ed., section 3.1): a sum in which every term passes through at most h
// roundings is off by at most gamma_h sum |term|.
#pragma once

#include <assay/abi.h>

#include "core/contract.h"
#include "core/dtype.h"
#include "reference/math/dd.h"

namespace assay {

// n u / (1 - n u), rounded up; infinite where the theory ends.
ASSAY_HD constexpr double gamma_n(double n, double u) {
  return n * u < 0.5 ? n * u / (1 - n * u) * (1 + 0x1p-50) : kInfinity;
}

// The floating-point type of an accumulator; f64 for integers, whose sums are exact there.
ASSAY_HD constexpr DType accumulator_type(int32_t accumulator) {
  switch (accumulator) {
    case ASSAY_ACC_F16:
      return DType::f16;
    case ASSAY_ACC_BF16:
      return DType::bf16;
    case ASSAY_ACC_F32:
    case ASSAY_ACC_TENSOR:
      return DType::f32;
    default:
      return DType::f64;
  }
}

// What a kernel that sums in floating point is charged with: its declared accumulator, and never one narrower than the
// dtype allows, which is f32, and f64 for f64. One contract may cover several dtypes; this is where that cap is
// enforced.
inline int32_t charged_accumulator(const Contract& contract, DType dtype) {
  return dtype == DType::f64 || contract.arithmetic.accumulator == ASSAY_ACC_F64 ? ASSAY_ACC_F64 : ASSAY_ACC_F32;
}

// Zero for integers and for ops that sum nothing.
ASSAY_HD constexpr double accumulator_roundoff(int32_t accumulator) {
  const bool floating = accumulator >= ASSAY_ACC_F16 && accumulator <= ASSAY_ACC_F64;
  return floating ? unit_roundoff(accumulator_type(accumulator)) : 0;
}

// Absolute error of one operation whose result is tiny: half the smallest subnormal (f64: all of it, since its half is
// not a double), or the smallest normal number when subnormals are flushed. Flushing concerns the accumulator's type;
// conversions to narrower types follow IEEE 754.
ASSAY_HD inline double underflow_error(int32_t accumulator, bool flushes_subnormals) {
  const DType type = accumulator_type(accumulator);
  if (flushes_subnormals) return std::ldexp(1.0, format_of(type).min_exponent);
  return type == DType::f64 ? smallest_subnormal(type) : smallest_subnormal(type) / 2;
}

// error + count underflows, rounded up. Where the error is far above the smallest numbers the sum costs no arithmetic
// on subnormals, which takes hundreds of cycles.
ASSAY_HD constexpr double add_underflow(double error, double underflow, double count) {
  if (underflow < 0x1p-1000 && error > 0x1p-900 && count < 0x1p60) return error * (1 + 0x1p-40);
  return error + underflow * count;
}

// The same, `underflows` in all, for loops along which that is one number: without a branch they vectorise.
ASSAY_HD constexpr double add_underflows(double error, double underflows) {
  const double relative = error * (1 + 0x1p-40), absolute = error + underflows;
  const bool is_far_above = (underflows < 0x1p-1000) & (error > 0x1p-900);
  return is_far_above ? relative : absolute;
}

// Relative error of exp(-argument), argument >= 0, computed in a type of roundoff u. The argument's own rounding is
// charged by the caller.
//   accurate: 2 ulp, the documented maximum of CUDA's expf (CUDA C++ Programming Guide, mathematical functions): 4 u
//   fast:     2 + floor(1.173 |x|) ulp, the documented maximum of __expf
//   base 2:   exp2 of x log2(e): the constant and the product are rounded, 2 u |x|, then 2 ulp
ASSAY_HD constexpr double exp_error(int32_t exp_kind, double u, double argument) {
  const double fast = (2 + 1.173 * argument) * 2 * u, base2 = 4 * u + 2 * u * argument;
  return exp_kind == ASSAY_EXP_FAST ? fast : exp_kind == ASSAY_EXP_BASE2 ? base2 : 4 * u;
}

// 1/sqrt in a type of roundoff u: 2 ulp, the documented maximum of CUDA's rsqrtf; sqrt and a division need less.
ASSAY_HD constexpr double rsqrt_error(double u) { return 4 * u; }

// Whether a number is charged for passing through a type, as declared, between the accumulator and the output: one
// narrower than the accumulator. One narrower than the output is not allowed there, and not charged, as with
// accumulators.
ASSAY_HD constexpr bool is_charged_between(int32_t type, DType accumulator, DType output) {
  const double u = accumulator_roundoff(type);
  return u > unit_roundoff(accumulator) && u <= unit_roundoff(output);
}

// Extra error of a result that passes through the contract's intermediate type on its way to the output: one of
// magnitude |value|, give or take `error`. The output's own rounding is charged by the check.
struct IntermediateError {
  bool is_any = false;
  double u = 0, underflow = 0;
  ASSAY_HD double of(double value, double error) const {
    const double rounding = u * (std::fabs(value) + error) + underflow;
    return is_any ? rounding : 0;
  }
};
inline IntermediateError intermediate_error(const Contract& contract, DType output) {
  const int32_t type = contract.arithmetic.intermediate;
  const DType accumulator = accumulator_type(charged_accumulator(contract, output));
  if (!is_charged_between(type, accumulator, output)) return {};
  return {true, accumulator_roundoff(type), underflow_error(type, contract.arithmetic.flushes_subnormals != 0)};
}

}  // namespace assay
