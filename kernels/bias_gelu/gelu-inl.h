// GELU on vectors: x P(x), with P the normal distribution function (erf form) or its tanh approximation.
//
// Both forms are evaluated through the tail t = P(-|x|) = E W, a product without cancellation, so that the left tail
// keeps its relative accuracy: x t for negative x and x (1 - t) for the others.
//   erf:  E = exp(-x^2/2), W = exp(x^2/2) erfc(|x|/sqrt 2)/2 = p((|x| - c)/(|x| + c))/(|x| + c), p the minimax
//         polynomial (the change of variable is Shepherd and Laframboise's, Math. Comp. 36, 1981)
//   tanh: E = exp(-2u), W = 1/(1 + E), u = sqrt(2/pi) (|x| + 0.044715 |x|^3)
//
// Error over all arguments, in the units in which bias_gelu is judged (2^-22 |x| + 4u |y|; double: 2^-51): measured by
// `simd_math_test --gtest_filter=*Gelu*`.
#if defined(ASSAY_KERNELS_BIAS_GELU_GELU_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_BIAS_GELU_GELU_INL_H
#undef ASSAY_KERNELS_BIAS_GELU_GELU_INL_H
#else
#define ASSAY_KERNELS_BIAS_GELU_GELU_INL_H
#endif

#include "common/exp-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct TailConstants;

template <>
struct TailConstants<float> {  // 2^-26.8 of W for |x| <= 14.5
  static constexpr float kCentre = 4;
  static constexpr float kP[] = {0.7552851353913647756445f,    -0.6078965883219803966031f,
                                 0.3871369007832821182837f,    -0.1865234406843068868128f,
                                 0.06040383430042356008417f,   -0.007525273700383924776941f,
                                 -0.003512565628400821042484f, 0.001569922194712288862471f,
                                 0.0001793683165951654026744f, -0.0001319635520490852043785f};
};

template <>
struct TailConstants<double> {  // 2^-57.2 of W for |x| <= 39
  static constexpr double kCentre = 5;
  static constexpr double kP[] = {
      0.7691930497500629559139,     -0.6653825028900567811936,     0.4953056159699772989989,
      -0.3135331566712961957214,    0.1650203661703374176505,      -0.06911863870656999311097,
      0.02079506680083770604596,    -0.002993376766705680089497,   -0.0007978694080101112891798,
      0.0005448990333902985063548,  -0.00005937567478977695053648, -0.00004976265490647074736755,
      0.00001668104121174842600097, 0.000003980384682905369018337, -0.000002768952453120503963504,
      -3.355371415760402073542e-7,  4.328840673825094018036e-7,    4.088041099191319299599e-8,
      -6.601150546540174927038e-8,  -8.294750165984021680862e-9,   7.942179639504465891052e-9,
      1.43195701677493815402e-9,    -3.029013398888601434264e-10};
};

enum class GeluForm { erf, tanh };

template <GeluForm kForm, class D>
HWY_INLINE hn::Vec<D> gelu(D d, hn::Vec<D> x) {
  using T = hn::TFromD<D>;
  const auto one = hn::Set(d, T(1));
  const auto magnitude = hn::Abs(x);
  const auto square = hn::Mul(x, x);
  auto exponent = hn::Mul(square, hn::Set(d, T(-0.5)));
  if constexpr (kForm == GeluForm::tanh) {
    const auto cubic = hn::MulAdd(square, hn::Set(d, T(-2 * 0.79788456080286535588 * 0.044715)),
                                  hn::Set(d, T(-2 * 0.79788456080286535588)));
    exponent = hn::Mul(magnitude, cubic);
  }
  // Far out, E is carried larger by a power of two that is divided out after the last product.
  const auto is_far = hn::Lt(exponent, hn::Set(d, kExpNormal<T>));
  const auto shift = hn::IfThenElseZero(is_far, hn::Set(d, kExpShift<T>));
  const auto unshift = hn::IfThenElse(is_far, hn::Set(d, sizeof(T) == 4 ? T(0x1p-32) : T(0x1p-64)), one);
  const auto e = shifted_exp(d, exponent, shift);
  hn::Vec<D> tail;
  if constexpr (kForm == GeluForm::tanh) {
    tail = hn::Div(e, hn::MulAdd(e, unshift, one));
  } else {
    using C = TailConstants<T>;
    const auto inverse = hn::Div(one, hn::Add(magnitude, hn::Set(d, C::kCentre)));
    const auto position = hn::NegMulAdd(hn::Set(d, 2 * C::kCentre), inverse, one);
    tail = hn::Mul(e, hn::Mul(inverse, polynomial(d, position, C::kP)));
  }
  const auto left = hn::Mul(hn::Mul(x, tail), unshift);
  const auto right = hn::Mul(x, hn::NegMulAdd(tail, unshift, one));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), left, right);
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
