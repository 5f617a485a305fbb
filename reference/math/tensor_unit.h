// Sums in a matrix unit ("tensor core"): what one that a contract declares may be off by. A step adds L exact products
// to the running sum at once. Every addend is cut, towards zero, to F fraction bits below the largest exponent among
// them, and the sum to P fraction bits; the exponent of a product is that of its factors together, that of a subnormal
// or zero factor the least one of its type. The model, and L, F and P of shipped units, are those of M. Fasi, N. J.
// Higham, M. Mikaitis and S. Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science 7, 2021, and
// of later measurements in its manner: Ampere and Ada 16-bit 8/24/23, Hopper 16-bit 16/25/23 and fp8 32/13/13.
//
// With S = sum |product|: cutting towards zero lets no partial sum grow beyond its terms' magnitudes, so that a step
// adds at most ((L + 1) 2^-F + 2^-P) S, and n steps n times that, with fewer products than L that many for L, as zeros
// lose nothing; a sum of parts that are summed apart is off by no more; (1 + that) is charged on top for a unit that
// cuts downwards. Where a subnormal factor has the largest exponent the cut is at most 2^(e - F) times the other factor
// instead, e being the least exponent of the type.
// A promoted sum adds its segments in f32: gamma_segments(2^-24) on top.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "reference/math/bounds.h"
#include "reference/math/exact.h"

namespace assay {

struct TensorUnit {
  double terms = 0;      // L
  int fraction = 0;      // F
  int precision = 0;     // P
  double promotion = 0;  // products; 0: never

  double segment(double k) const { return promotion > 0 ? std::fmin(promotion, k) : k; }
  double segments(double k) const { return promotion > 0 ? std::ceil(k / promotion) : 1; }
  double steps_of_segment(double k) const { return std::ceil(segment(k) / terms); }

  double addends_of_step(double k) const { return std::fmin(terms, segment(k)) + 1; }

  // Bound of the error of a sum of k products, relative to S.
  double rounding(double k) const {
    const double step = addends_of_step(k) * std::ldexp(1.0, -fraction) + std::ldexp(1.0, -precision);
    const double cut = steps_of_segment(k) * step * (1 + steps_of_segment(k) * step);
    const double added = promotion > 0 ? gamma_n(segments(k), unit_roundoff(DType::f32)) : 0;
    return (cut + added + cut * added) * (1 + 0x1p-50);
  }

  // What cuts below the exponents of subnormal factors of type `input` add, times the other factor.
  double subnormal_cuts(double k, DType input) const {
    const double addends = segments(k) * steps_of_segment(k) * addends_of_step(k);
    return addends * std::ldexp(1.0, format_of(input).min_exponent - fraction);
  }

  // Whether all sums of multiples of 2^quantum whose terms add up to at most `largest` are exact.
  ASSAY_HD bool is_exact(double largest, int quantum, double operand, DType input) const {
    const double reach = std::fmax(largest, std::ldexp(operand, format_of(input).min_exponent));
    return quantum < 4096 ? reach <= std::ldexp(1.0, quantum + std::min(fraction, precision)) : largest == 0;
  }
};

// The unit that a contract is charged with for products of `input`: as declared, and never one that keeps less than the
// weakest shipped for that type.
inline TensorUnit charged_tensor_unit(const assay_arithmetic& a, DType input) {
  const int least = input == DType::e4m3 ? 13 : 23;
  return {double(a.tensor_terms), std::max(a.tensor_fraction, least), std::max(a.tensor_precision, least),
          double(a.tensor_promotion)};
}

// What is published of shipped units, for `assay fingerprint` to hold what it finds against. The observed column is in
// reference/README.md.
struct DocumentedUnit {
  const char* name;
  int bits;  // of an input: 8, 16, or 32 for tf32
  int terms, fraction, precision;
  const char* source;
};
inline constexpr const char* kAfterFasi = "measured in the manner of Fasi et al. 2021";
inline constexpr DocumentedUnit kDocumentedUnits[] = {
    {"Ampere and Ada, f16 and bf16", 16, 8, 24, 23, kAfterFasi},
    {"Ampere and Ada, tf32", 32, 4, 24, 23, kAfterFasi},
    {"Hopper warp group, f16 and bf16", 16, 16, 25, 23, kAfterFasi},
    {"Hopper warp group, tf32", 32, 8, 25, 23, kAfterFasi},
    {"Hopper warp group, fp8", 8, 32, 13, 13, kAfterFasi},
};

// Why a declared unit is none, or empty. Fewer terms a step than 4 would be charged with more than single products.
inline std::string tensor_unit_violation(const assay_arithmetic& a) {
  const auto outside = [](const char* name, int32_t value, int32_t least, int32_t most) {
    if (least <= value && value <= most) return std::string();
    return std::string(name) + " " + std::to_string(value) + " is not within " + std::to_string(least) + " and " +
           std::to_string(most);
  };
  for (const std::string& why :
       {outside("tensor_terms", a.tensor_terms, 4, 64), outside("tensor_fraction", a.tensor_fraction, 13, 60),
        outside("tensor_precision", a.tensor_precision, 13, 52),
        outside("tensor_promotion", a.tensor_promotion, 0, 65536)}) {
    if (!why.empty()) return why;
  }
  return "";
}

}  // namespace assay
