// The exponential of the SIMD kernels, for arguments that are not positive: softmax subtracts its maximum, and a normal
// tail is exp(-x^2/2). Include it inside a Highway kernel after foreach_target.h.
//
// Method: x = n ln 2 + r with |r| <= ln(2)/2 (Cody and Waite: n times the upper part of ln 2 is exact),
// e^r = 1 + r + r^2 q(r) with q the minimax polynomial (Remez), and 2^n written into the exponent field.
//
// Largest error: over every float 1.02 ulp with fused multiply-add, 0.99 without, 1.74 with AVX-512's table; over 4
// million doubles 0.99. Measured by simd_math_exhaustive_test.
#if defined(ASSAY_KERNELS_COMMON_EXP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_COMMON_EXP_INL_H
#undef ASSAY_KERNELS_COMMON_EXP_INL_H
#else
#define ASSAY_KERNELS_COMMON_EXP_INL_H
#endif

#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct ExpConstants;

template <>
struct ExpConstants<float> {
  static constexpr int kFractionBits = 23;
  static constexpr float kLowest = -104.0f;  // e^-104 < 2^-150, half the smallest subnormal
  static constexpr float kRounder =
      0x1.8p23f + 127;  // adding it leaves an integer plus the exponent's bias in the low bits
  static constexpr float kLn2Upper = 0x1.62e4p-1f, kLn2Lower = 0x1.7f7d1cp-20f;
  static constexpr float kQ[] = {0.49999993513715440666f, 0.16666520867352107488f, 0.041668380473220998259f,
                                 0.0083687099412305184702f, 0.0013814838954238974068f};
};

template <>
struct ExpConstants<double> {
  static constexpr int kFractionBits = 52;
  static constexpr double kLowest = -746.0;  // e^-746 < 2^-1075
  static constexpr double kRounder = 0x1.8p52 + 1023;
  static constexpr double kLn2Upper = 0x1.62e42feep-1, kLn2Lower = 0x1.a39ef35793c76p-33;
  static constexpr double kQ[] = {0.50000000000000099546,     0.16666666666666415409,   0.041666666666534579494,
                                  0.0083333333334942653901,   0.0013888888942684657801, 0.00019841269504848927656,
                                  0.000024801493913038819496, 2.7557589099254701212e-6, 2.7630004305008648076e-7,
                                  2.4998974947176370002e-8};
};

// sum_i coefficients[i] x^i: Horner's rule in x^2 over pairs of neighbours. Half as long a chain as in x, and as
// accurate where neighbours cancel, which even and odd powers apart are not.
template <class D, class T, size_t kCount>
HWY_INLINE hn::Vec<D> polynomial(D d, hn::Vec<D> x, const T (&coefficients)[kCount]) {
  const auto pair = [&](size_t i) HWY_ATTR {
    return hn::MulAdd(hn::Set(d, coefficients[i + 1]), x, hn::Set(d, coefficients[i]));
  };
  const auto x2 = hn::Mul(x, x);
  size_t i = (kCount - 1) / 2 * 2;
  auto sum = kCount % 2 == 0 ? pair(i) : hn::Set(d, coefficients[i]);
  for (; i > 0; i -= 2) sum = hn::MulAdd(sum, x2, pair(i - 2));
  return sum;
}

// 2^shift e^x for x <= 0, exactly 0 where e^x is below half the smallest subnormal, NaN for NaN. `shift` holds integers
// from 0 to 64 and keeps results normal that would not be: it has to be at least kExpShift where x < kExpNormal, and
// whoever divides it out again rounds once, into the subnormal numbers.
template <class T>
inline constexpr T kExpNormal = sizeof(T) == 4 ? T(-86) : T(-707);
template <class T>
inline constexpr T kExpShift = sizeof(T) == 4 ? T(32) : T(64);

template <class D>
HWY_INLINE hn::Vec<D> shifted_exp(D d, hn::Vec<D> x, hn::Vec<D> shift) {
  using T = hn::TFromD<D>;
  using C = ExpConstants<T>;
  const auto rounder = hn::Add(hn::Set(d, C::kRounder), shift);
  const auto rounded = hn::MulAdd(x, hn::Set(d, T(1.4426950408889634)), rounder);
  const auto n = hn::Sub(rounded, rounder);
  const auto r = hn::NegMulAdd(n, hn::Set(d, C::kLn2Lower), hn::NegMulAdd(n, hn::Set(d, C::kLn2Upper), x));
  const auto fraction = hn::MulAdd(hn::Mul(r, r), polynomial(d, r, C::kQ), r);
  const hn::RebindToUnsigned<D> du;
  const auto power = hn::BitCast(d, hn::ShiftLeft<C::kFractionBits>(hn::BitCast(du, rounded)));
  const auto result = hn::MulAdd(fraction, power, power);
  return hn::IfThenElse(hn::Lt(x, hn::Set(d, C::kLowest)), hn::Zero(d), result);
}

#if HWY_TARGET <= HWY_AVX3 && HWY_TARGET >= HWY_AVX3_DL
// 2^32 2^(j/32), rounded to nearest.
alignas(64) inline constexpr float kThirtySeconds[32] = {
    1.0f * 0x1p32f,         1.021897197f * 0x1p32f, 1.044273734f * 0x1p32f, 1.06714046f * 0x1p32f,
    1.090507746f * 0x1p32f, 1.114386797f * 0x1p32f, 1.138788581f * 0x1p32f, 1.163724899f * 0x1p32f,
    1.189207077f * 0x1p32f, 1.215247393f * 0x1p32f, 1.241857767f * 0x1p32f, 1.269050956f * 0x1p32f,
    1.296839595f * 0x1p32f, 1.325236678f * 0x1p32f, 1.354255557f * 0x1p32f, 1.383909941f * 0x1p32f,
    1.414213538f * 0x1p32f, 1.445180774f * 0x1p32f, 1.476826191f * 0x1p32f, 1.509164453f * 0x1p32f,
    1.542210817f * 0x1p32f, 1.575980902f * 0x1p32f, 1.610490322f * 0x1p32f, 1.645755529f * 0x1p32f,
    1.681792855f * 0x1p32f, 1.718619347f * 0x1p32f, 1.75625217f * 0x1p32f,  1.794709086f * 0x1p32f,
    1.834008098f * 0x1p32f, 1.874167681f * 0x1p32f, 1.915206552f * 0x1p32f, 1.957144141f * 0x1p32f,
};

// 2^32 e^x with AVX-512, which looks up 32 floats at once and scales by a power of two: x = (n + j/32) ln 2 + r with
// |r| <= ln(2)/64, so that e^r = 1 + r (c0 + c1 r) to within 2^-24.1 (minimax), and e^x = 2^n 2^(j/32) e^r.
HWY_INLINE __m512 table_exp(__m512 x) {
  const __m512 rounder = _mm512_set1_ps(0x1.8p18f);  // adding it leaves 32 n + j in the low bits
  const __m512 rounded = _mm512_fmadd_ps(x, _mm512_set1_ps(1.44269504f), rounder);
  const __m512 n = _mm512_sub_ps(rounded, rounder);
  const __m512 upper = _mm512_fnmadd_ps(n, _mm512_set1_ps(ExpConstants<float>::kLn2Upper), x);
  const __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(ExpConstants<float>::kLn2Lower), upper);
  const __m512 slope = _mm512_fmadd_ps(r, _mm512_set1_ps(0.500003934f), _mm512_set1_ps(1.00001466f));
  const __m512 power = _mm512_permutex2var_ps(_mm512_load_ps(kThirtySeconds), _mm512_castps_si512(rounded),
                                              _mm512_load_ps(kThirtySeconds + 16));
  const __m512 result = _mm512_fmadd_ps(_mm512_mul_ps(r, slope), power, power);
  // Below the lowest argument 0, and NaN for NaN.
  const __mmask16 is_kept = _mm512_cmp_ps_mask(x, _mm512_set1_ps(ExpConstants<float>::kLowest), _CMP_NLT_UQ);
  return _mm512_maskz_scalef_ps(is_kept, result, n);
}
#endif

// 2^32 (double: 2^64) e^x for x <= 0, exactly 0 where e^x is below half the smallest subnormal, NaN for NaN.
template <class D>
HWY_INLINE hn::Vec<D> softmax_exp(D d, hn::Vec<D> x) {
#if HWY_TARGET <= HWY_AVX3 && HWY_TARGET >= HWY_AVX3_DL
  if constexpr (std::is_same_v<hn::Vec<D>, hn::Vec<hn::ScalableTag<float>>>) return hn::Vec<D>{table_exp(x.raw)};
#endif
  return shifted_exp(d, x, hn::Set(d, kExpShift<hn::TFromD<D>>));
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
