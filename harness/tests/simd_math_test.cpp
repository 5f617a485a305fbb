// Largest errors of the elementary functions in the SIMD kernels, on every instruction set this machine has, against
// glibc in the next wider type. Floats: every 1009th argument; simd_math_exhaustive_test.cpp takes all where the
// functions bend.
#include "common/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd_math_test.cpp"
#include "hwy/foreach_target.h"
//
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <vector>

#include "bias_gelu/gelu-inl.h"
#include "common/exp-inl.h"
#include "hwy/highway.h"

#ifndef ASSAY_FLOAT_STEP
#define ASSAY_FLOAT_STEP 1009
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {

template <class T, class F>
void map(const std::vector<T>& x, std::vector<T>& y, F f) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < x.size(); i += lanes) hn::StoreU(f(d, hn::LoadU(d, x.data() + i)), d, y.data() + i);
}

struct Exp {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return softmax_exp(d, x);
  }
};

template <GeluForm kForm>
struct Gelu {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return gelu<kForm>(d, x);
  }
};

void exp_f32(const std::vector<float>& x, std::vector<float>& y) { map(x, y, Exp()); }
void exp_f64(const std::vector<double>& x, std::vector<double>& y) { map(x, y, Exp()); }
void erf_gelu_f32(const std::vector<float>& x, std::vector<float>& y) { map(x, y, Gelu<GeluForm::erf>()); }
void erf_gelu_f64(const std::vector<double>& x, std::vector<double>& y) { map(x, y, Gelu<GeluForm::erf>()); }
void tanh_gelu_f32(const std::vector<float>& x, std::vector<float>& y) { map(x, y, Gelu<GeluForm::tanh>()); }
void tanh_gelu_f64(const std::vector<double>& x, std::vector<double>& y) { map(x, y, Gelu<GeluForm::tanh>()); }

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::simd {
namespace {

HWY_EXPORT(exp_f32);
HWY_EXPORT(exp_f64);
HWY_EXPORT(erf_gelu_f32);
HWY_EXPORT(erf_gelu_f64);
HWY_EXPORT(tanh_gelu_f32);
HWY_EXPORT(tanh_gelu_f64);

constexpr size_t kBatch = 1 << 14;  // a multiple of every vector

// The next wider type, in which glibc's functions err by about 2^-11 or 2^-29 of T's last place.
template <class T>
using Wider = std::conditional_t<sizeof(T) == 4, double, long double>;

template <class T>
struct Worst {
  double error = -1;
  T at = 0;
  void add(double e, T x) {
    if (e <= error) return;
    error = e;  // NaN too, which fails every comparison below
    at = x;
  }
};

double ulps(double got, long double want) {
  int exponent;
  std::frexp(want, &exponent);
  return static_cast<double>(std::fabs(got - want) / std::ldexp(1.0L, exponent - 53));
}

// `want` is normal, also as a float.
double ulps(float got, double want) {
  const uint64_t exponent = std::bit_cast<uint64_t>(want) & 0x7ff0000000000000u;
  return std::fabs(got - want) / std::bit_cast<double>(exponent) * 0x1p23;
}

template <class T>
Wider<T> exact_gelu(Wider<T> x, bool tanh_form) {
  if (x == 0) return x;
  if (tanh_form) {
    // x / (1 + exp(-2u)): the same function as 0.5 x (1 + tanh u), without its cancellation
    const Wider<T> u = Wider<T>(0.797884560802865355879892119869L) * (x + Wider<T>(0.044715L) * x * x * x);
    return x / (1 + std::exp(-2 * u));
  }
  return x * std::erfc(-x * Wider<T>(0.707106781186547524400844362105L)) / 2;
}

// In units of what bias_gelu is allowed, apart from the rounding of a subnormal result.
template <class T>
double gelu_error(T x, T got, bool tanh_form) {
  const Wider<T> want = exact_gelu<T>(x, tanh_form);
  const Wider<T> u = std::numeric_limits<T>::epsilon() / 2;
  const Wider<T> bound =
      (sizeof(T) == 4 ? Wider<T>(0x1p-22) : Wider<T>(0x1p-51)) * std::fabs(Wider<T>(x)) + 4 * u * std::fabs(want);
  const Wider<T> error = std::fabs(got - want) - Wider<T>(std::numeric_limits<T>::denorm_min()) / 2;
  return static_cast<double>(error / bound);
}

// Calls use(x, y) for y = function(x), a batch of arguments at a time; next(x) is false when there are no more.
template <class T, class Function, class Next, class Use>
void each(Function function, Next next, Use use) {
  std::vector<T> x(kBatch), y(kBatch);
  for (bool more = true; more;) {
    size_t count = 0;
    while (count < kBatch) {
      more = next(x[count]);
      if (!more) break;
      ++count;
    }
    std::fill(x.begin() + static_cast<int64_t>(count), x.end(), T(0));
    function(x, y);
    for (size_t i = 0; i < count; ++i) use(x[i], y[i]);
  }
}

// Every `step`-th float from the bits `first` to the bits `last`.
auto floats(uint32_t first, uint32_t last, uint32_t step) {
  return [bits = static_cast<uint64_t>(first), last, step](float& x) mutable {
    if (bits > last) return false;
    x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    bits += step;
    return true;
  };
}

// Of both magnitudes and positions: half log-uniform down to 2^-60, half uniform in [low, high].
auto doubles(double low, double high) {
  return
      [low, high, left = 4'000'000 / (ASSAY_FLOAT_STEP == 1 ? 1 : 10), rng = std::mt19937_64(2024)](double& x) mutable {
        std::uniform_real_distribution<double> uniform(0, 1);
        x = low + (high - low) * uniform(rng);
        if (left % 2 == 0) x = std::ldexp(x, -static_cast<int>(60 * uniform(rng)));
        return left-- > 0;
      };
}

class SimdMath : public testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    hwy::SetSupportedTargetsForTest(GetParam());
    hwy::GetChosenTarget().Update(GetParam());
  }
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
  }
};

TEST_P(SimdMath, ExpF32IsWithinTwoUlp) {
  Worst<float> worst;
  each<float>(&HWY_DYNAMIC_DISPATCH(exp_f32), floats(0x80000000u, std::bit_cast<uint32_t>(-104.0f), ASSAY_FLOAT_STEP),
              [&](float x, float y) { worst.add(ulps(y, std::exp(double(x)) * 0x1p32), x); });
  std::printf("largest error %.3f ulp at %a\n", worst.error, worst.at);
  EXPECT_LE(worst.error, 2.0);  // what ASSAY_EXP_ACCURATE promises
}

TEST_P(SimdMath, ExpF64IsWithinTwoUlp) {
  Worst<double> worst;
  each<double>(&HWY_DYNAMIC_DISPATCH(exp_f64), doubles(-745, 0),
               [&](double x, double y) { worst.add(ulps(y, std::exp((long double)x) * 0x1p64L), x); });
  std::printf("largest error %.3f ulp at %a\n", worst.error, worst.at);
  EXPECT_LE(worst.error, 2.0);  // what ASSAY_EXP_ACCURATE promises
}

template <class T, class Function>
void expect_ends_of_exp(Function function, T zero_from) {
  const T infinity = std::numeric_limits<T>::infinity();
  const T signalling_payload =
      std::bit_cast<T>(sizeof(T) == 4 ? std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>(0x7fc00001)
                                      : std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>(0x7ff8000000000001));
  std::vector<T> x(kBatch, zero_from), y(kBatch);
  x[1] = -infinity;
  x[2] = std::numeric_limits<T>::lowest();
  x[3] = std::numeric_limits<T>::quiet_NaN();
  x[4] = signalling_payload;
  x[5] = -signalling_payload;
  x[6] = T(-0.0);
  function(x, y);
  for (const size_t i : {0, 1, 2}) EXPECT_EQ(y[i], T(0)) << x[i];
  for (const size_t i : {3, 4, 5}) EXPECT_TRUE(std::isnan(y[i])) << i;
  EXPECT_EQ(y[6], sizeof(T) == 4 ? T(0x1p32) : T(0x1p64));
}

TEST_P(SimdMath, ExpIsZeroFarOutAndKeepsNan) {
  expect_ends_of_exp<float>(&HWY_DYNAMIC_DISPATCH(exp_f32), -104.0001f);
  expect_ends_of_exp<double>(&HWY_DYNAMIC_DISPATCH(exp_f64), -746.0001);
}

// The part of the floats where GELU bends is taken at the full rate; the rest is x/2, x or 0.
template <class Function>
void expect_gelu_f32(Function function, bool tanh_form) {
  Worst<float> worst;
  const uint32_t bend = std::bit_cast<uint32_t>(0x1p-12f), end = std::bit_cast<uint32_t>(8.0f);
  for (const uint32_t sign : {0u, 0x80000000u}) {
    const auto use = [&](float x, float y) { worst.add(gelu_error(x, y, tanh_form), x); };
    each<float>(function, floats(sign, sign | bend, 1009), use);
    each<float>(function, floats(sign | bend, sign | end, ASSAY_FLOAT_STEP), use);
    each<float>(function, floats(sign | end, sign | std::bit_cast<uint32_t>(std::numeric_limits<float>::max()), 1009),
                use);
  }
  std::printf("largest error %.3f of the bound at %a\n", worst.error, worst.at);
  EXPECT_LE(worst.error, 1.0);
}

template <class Function>
void expect_gelu_f64(Function function, bool tanh_form) {
  Worst<double> worst;
  each<double>(function, doubles(-45, 45), [&](double x, double y) { worst.add(gelu_error(x, y, tanh_form), x); });
  std::printf("largest error %.3f of the bound at %a\n", worst.error, worst.at);
  EXPECT_LE(worst.error, 1.0);
}

TEST_P(SimdMath, ErfGeluF32IsWithinItsBound) { expect_gelu_f32(&HWY_DYNAMIC_DISPATCH(erf_gelu_f32), false); }
TEST_P(SimdMath, TanhGeluF32IsWithinItsBound) { expect_gelu_f32(&HWY_DYNAMIC_DISPATCH(tanh_gelu_f32), true); }
TEST_P(SimdMath, ErfGeluF64IsWithinItsBound) { expect_gelu_f64(&HWY_DYNAMIC_DISPATCH(erf_gelu_f64), false); }
TEST_P(SimdMath, TanhGeluF64IsWithinItsBound) { expect_gelu_f64(&HWY_DYNAMIC_DISPATCH(tanh_gelu_f64), true); }

TEST_P(SimdMath, TheLeftTailOfErfGeluF64KeepsItsRelativeAccuracy) {
  Worst<double> worst;
  each<double>(&HWY_DYNAMIC_DISPATCH(erf_gelu_f64), doubles(-37, -1), [&](double x, double y) {
    if (x < -1) worst.add(static_cast<double>(std::fabs(y / exact_gelu<double>(x, false) - 1)), x);
  });
  std::printf("largest relative error %.3g at %a\n", worst.error, worst.at);
  EXPECT_LE(worst.error, 0x1p-42);  // the exponent x^2/2 <= 685 is rounded twice: 2 * 685 * 2^-53, and some
}

TEST_P(SimdMath, GeluF32BeyondThePolynomialIsItsLimit) {
  for (const auto function : {&HWY_DYNAMIC_DISPATCH(erf_gelu_f32), &HWY_DYNAMIC_DISPATCH(tanh_gelu_f32)}) {
    std::vector<float> x(kBatch, -6.0f), y(kBatch);
    x[1] = std::numeric_limits<float>::lowest();
    x[2] = std::numeric_limits<float>::infinity();
    x[3] = std::numeric_limits<float>::quiet_NaN();
    x[4] = -0.0f;
    function(x, y);
    for (const size_t i : {0, 1, 4}) EXPECT_TRUE(y[i] == 0 && std::signbit(y[i])) << x[i] << " gives " << y[i];
    EXPECT_EQ(y[2], x[2]);
    EXPECT_TRUE(std::isnan(y[3]));
  }
}

std::vector<int64_t> targets() {
  std::vector<int64_t> all;
  for (int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1) all.push_back(left & -left);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Targets, SimdMath, testing::ValuesIn(targets()),
                         [](const auto& info) { return std::string(hwy::TargetName(info.param)); });

}  // namespace
}  // namespace assay::simd
#endif
