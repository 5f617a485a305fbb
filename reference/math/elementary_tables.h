// Constants of reference/math/elementary.h, computed with 400-bit arithmetic from the formulas beside them and rounded
// to double-double (to double where it says so). harness/tests/elementary_test.cpp recomputes every one with MPFR, so
// an edit shows. To add a table: its formula here, its line there. Tables are local to functions because device code
// cannot read arrays at namespace scope.
#pragma once

#include "reference/math/dd.h"

namespace assay::tables {

// ln 2 in parts of 42, 42 and 53 bits: their products with an exponent are exact (the last one's error is below
// 2^-125).
inline constexpr double kLn2High = 0x1.62e42fefa38p-1;
inline constexpr double kLn2Mid = 0x1.ef35793c76p-45;
inline constexpr double kLn2Low = 0x1.cc01f97b57a08p-87;
inline constexpr double kLog2E = 0x1.71547652b82fep0;  // 1 / ln 2

inline constexpr DoubleDouble kTwoOverSqrtPi{0x1.20dd750429b6dp0, 0x1.1ae3a914fed8p-56};
inline constexpr DoubleDouble kSqrtHalf{0x1.6a09e667f3bcdp-1, -0x1.bdd3413b26456p-55};

// 1/n!, n = 0, 1, ...
ASSAY_HD inline DoubleDouble inverse_factorial(int n) {
  static constexpr DoubleDouble kTable[] = {
      {0x1p0, 0x0p0},
      {0x1p0, 0x0p0},
      {0x1p-1, 0x0p0},
      {0x1.5555555555555p-3, 0x1.5555555555555p-57},
      {0x1.5555555555555p-5, 0x1.5555555555555p-59},
      {0x1.1111111111111p-7, 0x1.1111111111111p-63},
      {0x1.6c16c16c16c17p-10, -0x1.f49f49f49f49fp-65},
      {0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-73},
      {0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-76},
      {0x1.71de3a556c734p-19, -0x1.c154f8ddc6cp-73},
      {0x1.27e4fb7789f5cp-22, 0x1.cbbc05b4fa99ap-76},
      {0x1.ae64567f544e4p-26, -0x1.c062e06d1f209p-80},
      {0x1.1eed8eff8d898p-29, -0x1.2aec959e14c06p-83},
      {0x1.6124613a86d09p-33, 0x1.f28e0cc748ebep-87},
      {0x1.93974a8c07c9dp-37, 0x1.05d6f8a2efd1fp-92},
      {0x1.ae7f3e733b81fp-41, 0x1.1d8656b0ee8cbp-97},
      {0x1.ae7f3e733b81fp-45, 0x1.1d8656b0ee8cbp-101},
      {0x1.952c77030ad4ap-49, 0x1.ac981465ddc6cp-103},
      {0x1.6827863b97d97p-53, 0x1.eec01221a8b0bp-107},
      {0x1.2f49b46814157p-57, 0x1.2650f61dbdcb4p-112},
      {0x1.e542ba4020225p-62, 0x1.ea72b4afe3c2fp-120},
      {0x1.71b8ef6dcf572p-66, -0x1.d043ae40c4647p-120},
      {0x1.0ce396db7f853p-70, -0x1.aebcdbd20331cp-124},
      {0x1.761b41316381ap-75, -0x1.3423c7d91404fp-130},
      {0x1.f2cf01972f578p-80, -0x1.9ada5fcc1ab14p-135},
  };
  return kTable[n];
}

// 1/(2n + 1), n = 0, 1, ...
ASSAY_HD inline DoubleDouble inverse_odd(int n) {
  static constexpr DoubleDouble kTable[] = {
      {0x1p0, 0x0p0},
      {0x1.5555555555555p-2, 0x1.5555555555555p-56},
      {0x1.999999999999ap-3, -0x1.999999999999ap-57},
      {0x1.2492492492492p-3, 0x1.2492492492492p-57},
      {0x1.c71c71c71c71cp-4, 0x1.c71c71c71c71cp-58},
      {0x1.745d1745d1746p-4, -0x1.745d1745d1746p-59},
      {0x1.3b13b13b13b14p-4, -0x1.3b13b13b13b14p-58},
      {0x1.1111111111111p-4, 0x1.1111111111111p-60},
      {0x1.e1e1e1e1e1e1ep-5, 0x1.e1e1e1e1e1e1ep-61},
      {0x1.af286bca1af28p-5, 0x1.af286bca1af28p-59},
      {0x1.8618618618618p-5, 0x1.8618618618618p-59},
      {0x1.642c8590b2164p-5, 0x1.642c8590b2164p-60},
      {0x1.47ae147ae147bp-5, -0x1.eb851eb851eb8p-61},
      {0x1.2f684bda12f68p-5, 0x1.2f684bda12f68p-59},
      {0x1.1a7b9611a7b96p-5, 0x1.1a7b9611a7b96p-61},
      {0x1.0842108421084p-5, 0x1.0842108421084p-60},
      {0x1.f07c1f07c1f08p-6, -0x1.f07c1f07c1f08p-61},
      {0x1.d41d41d41d41dp-6, 0x1.075075075075p-60},
      {0x1.bacf914c1badp-6, -0x1.bacf914c1badp-60},
      {0x1.a41a41a41a41ap-6, 0x1.069069069069p-60},
      {0x1.8f9c18f9c18fap-6, -0x1.f3831f3831f38p-61},
      {0x1.7d05f417d05f4p-6, 0x1.7d05f417d05f4p-62},
  };
  return kTable[n];
}

// Coefficients of t^0, t^1, ... of a truncated Chebyshev series of (1 + 2x) exp(x^2) erfc(x), x = 4 (1 + t)/(1 - t), on
// -1 <= t <= 1, that is x >= 0 (the form of M. Shepherd and J. Laframboise, Math. Comp. 36, 1981). 49 terms: off by
// less than 2^-108.
ASSAY_HD inline DoubleDouble erfc_scaled(int n) {
  static constexpr DoubleDouble kTable[] = {
      {0x1.3ba5916e9fd7fp0, -0x1.aa9c415679e6fp-55},     {-0x1.1df1ad154a28ep-3, -0x1.2435d121f8aaep-57},
      {0x1.f7f5df66fd7bfp-7, 0x1.879c40f2d448ep-61},     {0x1.16ecefcfa5396p-4, -0x1.5b50387d979b8p-58},
      {-0x1.9ddb23c3e911ep-4, 0x1.2a1b42e7490cfp-59},    {0x1.7fee004e1253bp-4, 0x1.c72539bb9dc19p-61},
      {-0x1.0fb06dfe487a8p-4, -0x1.9d4d92821262ap-59},   {0x1.3079edf682defp-5, -0x1.2e9af58839062p-59},
      {-0x1.0962388557262p-6, -0x1.e739c9769cd02p-60},   {0x1.49c67285feb48p-8, -0x1.2c4797e231ca9p-62},
      {-0x1.8d4a997fc78d1p-11, -0x1.3dc8a361dbe21p-66},  {-0x1.a1df2511faed3p-13, -0x1.14bba86a1eb44p-67},
      {0x1.3be0314a7c0a5p-13, 0x1.0f4863944f94cp-68},    {-0x1.99595f7de6a9bp-16, -0x1.f97dca84275f9p-71},
      {-0x1.78812641d319ap-17, -0x1.306926a7c3033p-71},  {0x1.7f2b211ffc8b6p-18, 0x1.ff8695ea47b4fp-73},
      {0x1.383a00f76c281p-22, 0x1.e5510866ac342p-77},    {-0x1.bb56c300e7c2p-21, -0x1.a10afa388e325p-76},
      {0x1.5404b63dff46dp-24, 0x1.18737d0da508dp-79},    {0x1.dde3bdda22e6ap-24, 0x1.49cf2cf98c017p-78},
      {-0x1.7dd5144650019p-26, -0x1.63e60de8ae749p-80},  {-0x1.0fc6ab637f936p-26, -0x1.736327ce523bfp-80},
      {0x1.24f7c38dc8dd9p-28, -0x1.8954f217405d4p-84},   {0x1.594b22fd3ea12p-29, -0x1.f162d6cb0ce03p-84},
      {-0x1.8cdeba385e53bp-31, 0x1.54f383e9edf29p-85},   {-0x1.ee4b5e5dd99f9p-32, 0x1.a25c80c6beb93p-86},
      {0x1.e453e5758d7e5p-34, 0x1.ffeefd28e5128p-89},    {0x1.829eb0cc4a0d4p-34, 0x1.4a99fd99c469dp-88},
      {-0x1.df5a3879fbbfbp-37, 0x1.327de91938ebep-91},   {-0x1.3a83cc3683fb9p-36, 0x1.624436441dd2p-93},
      {0x1.63957dfcecc6cp-41, 0x1.f9c9e781e932ap-95},    {0x1.f8661043d4039p-39, -0x1.af2485b16ea7dp-93},
      {0x1.b50d9a0b54597p-42, 0x1.f8aaf342af43dp-98},    {-0x1.76e635344287dp-41, -0x1.057654449cb1ep-95},
      {-0x1.b88eaf676ef27p-43, -0x1.9161d4e3e5297p-97},  {0x1.d2c644ac742e3p-44, 0x1.96b0a53a800fdp-98},
      {0x1.19c053c5d6532p-44, 0x1.b683984b8843bp-98},    {-0x1.60fcfa53dcc52p-47, -0x1.0b2ddf145f0cbp-101},
      {-0x1.1f87117bfca2ap-46, -0x1.9a6a3d4f46c62p-100}, {-0x1.27ae406efa36bp-50, 0x1.b822b134be977p-104},
      {0x1.e15d271eafad2p-49, 0x1.ae3c1107c10aap-103},   {0x1.bab17c8b8e07ep-51, -0x1.b6680f41344b3p-105},
      {-0x1.40c50da265c8cp-51, 0x1.7aac67e0be1dap-106},  {-0x1.c994add01ad3ep-53, -0x1.51befb4bd8e04p-109},
      {0x1.3c098c634bfbfp-54, -0x1.16bbeab1a4a18p-108},  {0x1.0c7ebc8e2b5cdp-55, -0x1.d79a3c34b52bp-111},
      {-0x1.8ea5d8265238bp-58, -0x1.9ff829ddb8a99p-112}, {-0x1.2646e019df265p-59, 0x1.55df8d456717ap-114},
      {0x1.c9b4b8bbf97dcp-63, 0x1.4abf281e834c3p-119},
  };
  return kTable[n];
}

// The same, 25 terms in double: off by less than 2^-56.
ASSAY_HD inline double erfc_scaled_short(int n) {
  static constexpr double kTable[] = {
      0x1.3ba5916e9fd7fp0,    -0x1.1df1ad154a287p-3,  0x1.f7f5df66fd6c2p-7,   0x1.16ecefcfa4d42p-4,
      -0x1.9ddb23c3e8a22p-4,  0x1.7fee004e1e9dcp-4,   -0x1.0fb06dfe5229fp-4,  0x1.3079edf51fc68p-5,
      -0x1.0962388397d97p-6,  0x1.49c672e0029c2p-8,   -0x1.8d4a9b00c7997p-11, -0x1.a1df5db3b79f4p-13,
      0x1.3be04bf52bb5ap-13,  -0x1.995385e20c3b6p-16, -0x1.78861f18ee7b4p-17, 0x1.7ef6b7a31e6a9p-18,
      0x1.3981051d34c77p-22,  -0x1.b8d249727cce8p-21, 0x1.4cbb15f961e46p-24,  0x1.c8b87aa039fb6p-24,
      -0x1.613ab11aa87fdp-26, -0x1.a83c2ea8364c9p-27, 0x1.b39ff8659b236p-29,  0x1.ffeb28f8a7c3p-31,
      -0x1.246d137a7141bp-32,
  };
  return kTable[n];
}

}  // namespace assay::tables
