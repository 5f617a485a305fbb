// GELU on vectors: x P(x), with P the normal distribution function (erf form) or its tanh approximation.
//
// Float: P(x) = 1/2 + x p(x^2), with p a minimax polynomial (Remez) up to where P is 0 or 1 to within 2^-24. No exp and
// no division, so that the kernel keeps up with memory; the left tail cancels, as the sum 1 + erf does. With AVX-512:
// gelu_table-inl.h.
// Double, for which p would need degree 40: through the tail t = P(-|x|) = E W, a product without cancellation; x t for
// negative x, x (1 - t) for the others.
//   erf:  E = exp(-x^2/2), W = exp(x^2/2) erfc(|x|/sqrt 2)/2 = q((|x| - c)/(|x| + c))/(|x| + c), q the minimax
//         polynomial (the change of variable is Shepherd and Laframboise's, Math. Comp. 36, 1981)
//   tanh: E = exp(-2w), W = 1/(1 + E), w = sqrt(2/pi) (|x| + 0.044715 |x|^3)
//
// Largest error in units of 4u (|x| + |y|), with and without fused multiply-add: over every float from 2^-12 to 8, erf
// 0.51 and 0.64, tanh 0.39 and 0.48, by AVX-512's tables 0.75 and 0.53; over 4 million doubles, erf 0.77 and 0.91, tanh
// 0.29. Measured by simd_math_exhaustive_test.
#if defined(ASSAY_KERNELS_BIAS_GELU_GELU_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_BIAS_GELU_GELU_INL_H
#undef ASSAY_KERNELS_BIAS_GELU_GELU_INL_H
#else
#define ASSAY_KERNELS_BIAS_GELU_GELU_INL_H
#endif

#include <type_traits>

#include "bias_gelu/gelu_table-inl.h"
#include "common/exp-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <GeluForm kForm>
struct FloatConstants;

template <>
struct FloatConstants<GeluForm::erf> {  // p to within 2^-25 / |x|
  static constexpr float kEnd = 5.4f;
  static constexpr float kP[] = {
      0.1309281126085024140822f,    -0.06532805684467183750609f,  0.04849959671371925950165f,
      -0.03920674382485288543524f,  0.03211647353482269576586f,   -0.0257471359337162598646f,
      0.01964614085271827667774f,   -0.01396052220314183785615f,  0.009647477909311204725287f,
      -0.006720855857731385598525f, 0.003665808551530733929625f,  -0.001181257291819765430455f,
      0.0008687705846255959734905f, -0.001030198808279769477929f, 0.0003949816204293469043752f};
};

template <>
struct FloatConstants<GeluForm::tanh> {  // p to within 2^-25.4 / |x|
  static constexpr float kEnd = 5.1f;
  static constexpr float kP[] = {
      0.1386174649306118147454f,     -0.06906465518041573418537f,  0.05091215740535925405282f,
      -0.04033760601926361790594f,   0.03173092241915874217893f,   -0.02390163734095361199911f,
      0.01682857973762442225795f,    -0.01064539981008191125314f,  0.006651375843617297555642f,
      -0.005555438217608210566522f,  0.003389635909058252099114f,  0.0009194138204221928106929f,
      -0.0007820592181800495734877f, -0.002612881909912932031649f, 0.001739758080053886952821f,
      0.0007466037079382418927612f,  -0.0005970270439840579842109f};
};

template <GeluForm kForm, class D>
HWY_INLINE hn::Vec<D> float_gelu(D d, hn::Vec<D> x) {
  using C = FloatConstants<kForm>;
  const auto clamped = hn::Min(hn::Max(x, hn::Set(d, -C::kEnd)), hn::Set(d, C::kEnd));
  const auto square = hn::Mul(clamped, clamped);
  const auto position = hn::MulAdd(square, hn::Set(d, 2 / (C::kEnd * C::kEnd)), hn::Set(d, -1.0f));
  const auto half = hn::Set(d, 0.5f);
  const auto share = hn::MulAdd(clamped, polynomial(d, position, C::kP), half);
  // Beyond the polynomial's end the result is -0 itself: what the sum leaves would be multiplied by any x.
  return hn::Mul(x, hn::IfThenElse(hn::Lt(x, hn::Set(d, -C::kEnd)), hn::Zero(d), share));
}

struct TailConstants {  // 2^-57.2 of W for |x| <= 39
  static constexpr double kCentre = 5;
  static constexpr double kQ[] = {
      0.7691930497500629559139,     -0.6653825028900567811936,     0.4953056159699772989989,
      -0.3135331566712961957214,    0.1650203661703374176505,      -0.06911863870656999311097,
      0.02079506680083770604596,    -0.002993376766705680089497,   -0.0007978694080101112891798,
      0.0005448990333902985063548,  -0.00005937567478977695053648, -0.00004976265490647074736755,
      0.00001668104121174842600097, 0.000003980384682905369018337, -0.000002768952453120503963504,
      -3.355371415760402073542e-7,  4.328840673825094018036e-7,    4.088041099191319299599e-8,
      -6.601150546540174927038e-8,  -8.294750165984021680862e-9,   7.942179639504465891052e-9,
      1.43195701677493815402e-9,    -3.029013398888601434264e-10};
};

template <GeluForm kForm, class D>
HWY_INLINE hn::Vec<D> double_gelu(D d, hn::Vec<D> x) {
  const auto one = hn::Set(d, 1.0);
  const auto magnitude = hn::Abs(x);
  const auto square = hn::Mul(x, x);
  auto exponent = hn::Mul(square, hn::Set(d, -0.5));
  if constexpr (kForm == GeluForm::tanh) {
    constexpr double kSlope = -2 * 0.79788456080286535588;  // -2 sqrt(2/pi)
    const auto cubic = hn::MulAdd(square, hn::Set(d, kSlope * 0.044715), hn::Set(d, kSlope));
    exponent = hn::Mul(magnitude, cubic);
  }
  // Far out, E is carried larger by a power of two that is divided out after the last product.
  const auto is_far = hn::Lt(exponent, hn::Set(d, kExpNormal<double>));
  const auto shift = hn::IfThenElseZero(is_far, hn::Set(d, kExpShift<double>));
  const auto unshift = hn::IfThenElse(is_far, hn::Set(d, 0x1p-64), one);
  const auto e = shifted_exp(d, exponent, shift);
  hn::Vec<D> tail;
  if constexpr (kForm == GeluForm::tanh) {
    tail = hn::Div(e, hn::MulAdd(e, unshift, one));
  } else {
    using C = TailConstants;
    const auto inverse = hn::Div(one, hn::Add(magnitude, hn::Set(d, C::kCentre)));
    const auto position = hn::NegMulAdd(hn::Set(d, 2 * C::kCentre), inverse, one);
    tail = hn::Mul(e, hn::Mul(inverse, polynomial(d, position, C::kQ)));
  }
  const auto left = hn::Mul(hn::Mul(x, tail), unshift);
  const auto right = hn::Mul(x, hn::NegMulAdd(tail, unshift, one));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), left, right);
}

template <GeluForm kForm, class D>
HWY_INLINE hn::Vec<D> gelu(D d, hn::Vec<D> x) {
#if ASSAY_HAS_GELU_TABLE
  if constexpr (std::is_same_v<hn::Vec<D>, hn::Vec<hn::ScalableTag<float>>>) {
    return hn::Vec<D>{table_gelu<kForm>(x.raw)};
  }
#endif
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return float_gelu<kForm>(d, x);
  } else {
    return double_gelu<kForm>(d, x);
  }
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
