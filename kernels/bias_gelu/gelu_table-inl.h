// GELU of floats with AVX-512, which looks up 32 floats at once: y = max(x, 0) - a Q(a) with a = |x| and Q the upper
// tail of the normal distribution (erf form) or 1/(1 + exp(2w)) (tanh form). Q is a cubic on each of 31 intervals of
// one length (minimax, coefficients rounded to float one after the other) and 0 beyond them: erf to within 2^-22.7 up
// to 5.09 and 2^-22.4 beyond, tanh to within 2^-23.0 up to 4.85 and 2^-22.9 beyond. Less arithmetic than the polynomial
// of gelu-inl.h, which elements of 16 bits need in order to keep up with memory.
#if defined(ASSAY_KERNELS_BIAS_GELU_GELU_TABLE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_BIAS_GELU_GELU_TABLE_INL_H
#undef ASSAY_KERNELS_BIAS_GELU_GELU_TABLE_INL_H
#else
#define ASSAY_KERNELS_BIAS_GELU_GELU_TABLE_INL_H
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {

enum class GeluForm { erf, tanh };

#define ASSAY_HAS_GELU_TABLE (HWY_TARGET <= HWY_AVX3 && HWY_TARGET >= HWY_AVX3_DL)
#if ASSAY_HAS_GELU_TABLE

// kI[j]: coefficient of (kScale a - j)^I where kScale a is rounded to j.
template <GeluForm kForm>
struct TableConstants;

template <>
struct TableConstants<GeluForm::erf> {
  static constexpr float kScale = 5.9921412f;
  alignas(64) static constexpr float k0[32] = {0.500000000f,    0.433730215f,    0.369276464f,    0.308306843f,
                                               0.252213448f,    0.202020556f,    0.158338234f,    0.121363804f,
                                               0.0909248218f,   0.0665528178f,   0.0475733131f,   0.0331982113f,
                                               0.0226088557f,   0.0150220226f,   0.0097353328f,   0.0061523933f,
                                               0.00379067869f,  0.00227660337f,  0.00133254332f,  0.00076003233f,
                                               0.000422356417f, 0.000228648176f, 0.000120572491f, 6.19263301e-05f,
                                               3.09747484e-05f, 1.50871747e-05f, 7.15552096e-06f, 3.30427497e-06f,
                                               1.48553761e-06f, 6.50184973e-07f, 2.77020177e-07f, 0};
  alignas(64) static constexpr float k1[32] = {-0.0665776283f,   -0.0656568557f,   -0.0629704818f,   -0.0587352179f,
                                               -0.0532800704f,   -0.047004085f,    -0.0403284021f,   -0.0336504616f,
                                               -0.0273071025f,   -0.0215508696f,   -0.0165408775f,   -0.0123468693f,
                                               -0.00896312948f,  -0.00632800814f,  -0.00434489036f,  -0.00290131662f,
                                               -0.00188415183f,  -0.0011899838f,   -0.000730921282f, -0.000436620903f,
                                               -0.000253654609f, -0.000143312922f, -7.87466633e-05f, -4.20807264e-05f,
                                               -2.18694804e-05f, -1.10534502e-05f, -5.43327133e-06f, -2.59734111e-06f,
                                               -1.20753748e-06f, -5.45979333e-07f, -2.40079885e-07f, 0};
  alignas(64) static constexpr float k2[32] = {3.9286553e-07f,  0.000912720803f, 0.00175083627f,  0.00244981493f,
                                               0.00296337903f,  0.00326836878f,  0.00336561748f,  0.00327704661f,
                                               0.00303993491f,  0.00269976002f,  0.00230308389f,  0.00189167971f,
                                               0.00149865064f,  0.00114668813f,  0.000848264608f, 0.000607175927f,
                                               0.000420805911f, 0.000282532157f, 0.000183851516f, 0.000115995885f,
                                               7.09793239e-05f, 4.21359255e-05f, 2.42720198e-05f, 1.3569992e-05f,
                                               7.3646147e-06f,  3.88047056e-06f, 1.98537168e-06f, 9.86449436e-07f,
                                               4.76025519e-07f, 2.23125809e-07f, 1.01594722e-07f, 0};
  alignas(64) static constexpr float k3[32] = {0.000308111979f,  0.00029582667f,   0.000259375403f,  0.000204076394f,
                                               0.000137040566f,  6.63479514e-05f,  -2.95123812e-07f, -5.66919334e-05f,
                                               -9.88788015e-05f, -0.000125349441f, -0.000136817893f, -0.000135648952f,
                                               -0.000125143153f, -0.000108832181f, -8.99242732e-05f, -7.09569285e-05f,
                                               -5.36604421e-05f, -3.89916495e-05f, -2.72761481e-05f, -1.83963912e-05f,
                                               -1.19764536e-05f, -7.53317181e-06f, -4.58157774e-06f, -2.69597672e-06f,
                                               -1.53572341e-06f, -8.47231831e-07f, -4.52847814e-07f, -2.34589422e-07f,
                                               -1.17814054e-07f, -5.73758498e-08f, -2.71020486e-08f, 0};
};

template <>
struct TableConstants<GeluForm::tanh> {
  static constexpr float kScale = 6.2886596f;
  alignas(64) static constexpr float k0[32] = {0.500000000f,    0.436829329f,    0.375239968f,    0.316694051f,
                                               0.262430191f,    0.213386714f,    0.1701601f,      0.133000627f,
                                               0.101841763f,    0.0763546228f,   0.0560173392f,   0.0401880294f,
                                               0.0281726532f,   0.0192814432f,   0.0128708249f,   0.00837051403f,
                                               0.00529726595f,  0.00325787766f,  0.00194442063f,  0.00112453417f,
                                               0.000629228482f, 0.00034009575f,  0.000177271169f, 8.89598014e-05f,
                                               4.29076172e-05f, 1.98573052e-05f, 8.80254629e-06f, 3.73123771e-06f,
                                               1.50975802e-06f, 5.82135442e-07f, 2.1352804e-07f,  0};
  alignas(64) static constexpr float k1[32] = {-0.0634384006f,   -0.0626374707f,   -0.0602957942f,   -0.0565883145f,
                                               -0.0517823212f,   -0.0462051481f,   -0.0402068831f,   -0.0341240689f,
                                               -0.0282496586f,   -0.022812821f,    -0.0179698654f,   -0.0138053717f,
                                               -0.0103410333f,   -0.00754909357f,  -0.00536741083f,  -0.00371379289f,
                                               -0.00249815197f,  -0.00163178006f,  -0.00103365467f,  -0.000634068449f,
                                               -0.000376076583f, -0.000215325636f, -0.000118814904f, -6.30757713e-05f,
                                               -3.21604421e-05f, -1.57215618e-05f, -7.3557726e-06f,  -3.28824876e-06f,
                                               -1.40200962e-06f, -5.69161045e-07f, -2.19617505e-07f, 0};
  alignas(64) static constexpr float k2[32] = {3.15667876e-07f, 0.000794455642f, 0.0015288156f,   0.00215056073f,
                                               0.0026210323f,   0.00291938148f,  0.00304358639f,  0.00300855096f,
                                               0.00284191733f,  0.00257865083f,  0.00225556805f,  0.00190677342f,
                                               0.00156057638f,  0.00123795087f,  0.000952390197f, 0.000710685388f,
                                               0.000514245476f, 0.000360594335f, 0.00024480297f,  0.000160713011f,
                                               0.000101888669f, 6.22850057e-05f, 3.66541462e-05f, 2.07308258e-05f,
                                               1.12491607e-05f, 5.84632426e-06f, 2.90504408e-06f, 1.37777852e-06f,
                                               6.22610457e-07f, 2.676218e-07f,   1.0923366e-07f,  0};
  alignas(64) static constexpr float k3[32] = {0.000267931464f,  0.000258051179f,  0.000228641948f,  0.000183738593f,
                                               0.00012877422f,   7.0026821e-05f,   1.36078288e-05f,  -3.54365548e-05f,
                                               -7.3727424e-05f,  -9.97636816e-05f, -0.000113760376f, -0.000117229611f,
                                               -0.000112435715f, -0.000101922f,    -8.8091605e-05f,  -7.29771273e-05f,
                                               -5.81250206e-05f, -4.45828882e-05f, -3.29502254e-05f, -2.34620456e-05f,
                                               -1.60838354e-05f, -1.0603856e-05f,  -6.71446651e-06f, -4.07740845e-06f,
                                               -2.37078143e-06f, -1.3177139e-06f,  -6.98959184e-07f, -3.53232991e-07f,
                                               -1.69796905e-07f, -7.75071811e-08f, -3.35418129e-08f, 0};
};

template <GeluForm kForm>
HWY_INLINE __m512 table_gelu(__m512 x) {
  using C = TableConstants<kForm>;
  constexpr int kSmallerMagnitude = 0b1010;
  // NaN and what lies beyond the last interval take its coefficients, which are 0.
  const __m512 a = _mm512_range_ps(x, _mm512_set1_ps(31 / C::kScale), kSmallerMagnitude);
  const __m512 scale = _mm512_set1_ps(C::kScale);
  const __m512 rounder = _mm512_set1_ps(0x1.8p23f);  // adding it leaves j in the low bits
  const __m512 rounded = _mm512_fmadd_ps(a, scale, rounder);
  const __m512 r = _mm512_fmsub_ps(a, scale, _mm512_sub_ps(rounded, rounder));
  const auto coefficient = [rounded](const float(&table)[32]) HWY_ATTR {
    return _mm512_permutex2var_ps(_mm512_load_ps(table), _mm512_castps_si512(rounded), _mm512_load_ps(table + 16));
  };
  __m512 q = _mm512_fmadd_ps(r, coefficient(C::k3), coefficient(C::k2));
  q = _mm512_fmadd_ps(r, q, coefficient(C::k1));
  q = _mm512_fmadd_ps(r, q, coefficient(C::k0));
  // The second operand where it is NaN or both are zeros: NaN stays NaN, and a zero keeps its sign.
  const __m512 positive = _mm512_max_ps(_mm512_set1_ps(-0.0f), x);
  return _mm512_fnmadd_ps(a, q, positive);
}

#endif

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
