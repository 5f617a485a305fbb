// Probes: cases whose inputs are chosen so that outputs tell how a kernel computes them, not only what. An op lists its
// own (Op::probes()); the generators probe_* of fill/fill.h make the inputs; check/fingerprint.h reads the outputs.
// What lies where is said here, once for the three.
//
// Order of accumulation, after FPRev (P. Xie, Y. Gao, Y. Hou, J. Xue: "FPRev: Revealing the Order of Floating-Point
// Summation", USENIX ATC 2025): all terms are a unit U, but for +M at i and -M at j, where M swallows all the units
// together. Units that join i or j before the two meet are lost, those that join later survive. So n less the survivors
// is the number of terms below the point where i and j meet, and from all pairs the summation tree follows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/case.h"
#include "core/dtype.h"
#include "core/hd.h"

namespace assay {

enum class Reveals : uint8_t {
  tree,            // probe_pairs: the summation tree of few terms
  tree_across,     // the same where neighbouring sums are neighbours in memory
  steps,           // probe_spine of few terms: where each meets the first, where pairs are too many
  spine,           // probe_spine: where each term meets the first, of many terms
  spine_half,      // the same of half as many: blocks keep their length, slices their number
  near,            // probe_near: bits kept between neighbours
  far,             // probe_far: bits kept of a running sum
  ends,            // probe_ends: bits kept of what meets the last term
  input_bits,      // probe_bits: bits of an input that are multiplied
  fused_multiply,  // probe_fused: whether a product is rounded before it is added
  subnormals,      // probe_subnormal, where nothing else scales the result
  subnormals_in,   // probe_subnormal with a factor that makes results normal
  subnormals_out,  // probe_subnormal with one that makes normal sums subnormal results
  faint,           // probe_faint: a result that is subnormal, of inputs that are not
  absorbed,        // probe_absorb: which of the small positive terms a large one swallows
  order,           // probe_order: rounding errors of 64 random sums that are exactly zero; other random results
  order_alone,     // the first row of `order` in a call of its own
  values,          // probe_patterns: a function of one number at bit patterns from all over the type
  ties,            // probe_steps: results half way between two of the output's numbers
};

// One of them.
struct Probe {
  Reveals reveals = Reveals::tree;
  Case c;
  std::string output;   // the tensor that tells
  int64_t terms = 0;    // summed for each of its elements, or of a row
  int64_t columns = 1;  // of that tensor: row r, column j is element r * columns + j
  double factor = 1;    // what a sum is multiplied by before it is stored
};

// What a kernel may compute in a way of its own: a dtype, and a form where an op has several.
struct ProbeSet {
  std::string variant;  // as in an id: "form=erf,dtype=f32"
  std::vector<Probe> probes;
};

namespace probe {

// Exponents of M and U. M swallows 4096 units in an accumulator of 53 bits, of f16 and e4m3 in one of 24. e4m3, whose
// range is too short for that, has both in either factor of a product.
struct Magnitudes {
  int big, unit;
};
ASSAY_HD constexpr Magnitudes magnitudes(DType t) {
  switch (t) {
    case DType::f64:
      return {200, 0};
    case DType::f16:
      return {15, -24};
    case DType::e4m3:
      return {8, -9};
    default:
      return {90, 0};
  }
}
ASSAY_HD constexpr bool in_both_factors(DType t) { return t == DType::e4m3; }
// Of one unit in a sum.
ASSAY_HD constexpr int unit_exponent(DType t) { return magnitudes(t).unit * (in_both_factors(t) ? 2 : 1); }

// probe_pairs of k terms: row i * k + j has +M at i and -M at j; with i = j it has units alone.
ASSAY_HD constexpr int64_t pair_rows(int64_t k) { return k * k; }

// probe_spine: row r of R has +M at 0 and -M at the end of the r-th of R equal stretches; the last term of each stretch
// is a unit, the others are zero. In row 0 of stretches of one term there are units alone.
ASSAY_HD constexpr int64_t stretch(int64_t k, int64_t rows) { return k > rows && rows > 0 ? k / rows : 1; }
ASSAY_HD constexpr int64_t end_of_stretch(int64_t k, int64_t rows, int64_t r) { return (r + 1) * stretch(k, rows) - 1; }

// probe_near, probe_far and probe_ends: three terms, at three places in three orders. The place of one decides with
// which it meets first, so that the least of the three orders' bits is what a sum keeps.
enum LadderKind : int { kLost, kHalf, kHalfBelow, kStored, kStoredHalf, kStoredHalfBelow, kLadderKinds };
//   kLost             1,  2^-f,       -1          kStored             1,  2^-f,       0
//   kHalf             1,  1.5 2^-f,   -1          kStoredHalf         1,  1.5 2^-f,   0
//   kHalfBelow       -1, -1.5 2^-f,    1          kStoredHalfBelow   -1, -1.5 2^-f,   0
// all times 2^ladder_base(dtype).
inline constexpr int kLadderSteps = 64, kLadderOrders = 3;
ASSAY_HD constexpr int64_t ladder_row(int order, int kind, int f) {
  return (int64_t{order} * kLadderKinds + kind) * kLadderSteps + f;
}
inline constexpr int64_t kLadderRows = int64_t{kLadderOrders} * kLadderKinds * kLadderSteps;
ASSAY_HD constexpr int ladder_base(DType t) { return t == DType::f16 ? 14 : t == DType::e4m3 ? 8 : 0; }
// The largest f at which 1.5 2^-f is a normal number of the type, at most 60.
ASSAY_HD constexpr int ladder_reach(DType t) {
  const int reach = ladder_base(t) - format_of(t).min_exponent;
  return reach < 60 ? reach : 60;
}

// probe_bits: row f is 1 + 2^-f, row 64 + f is 1 + 1.5 2^-f, in the first column.
inline constexpr int64_t kBitsRows = 2 * kLadderSteps;

// probe_fused of k terms: the exact sum of -(1 + 2^(1-h)) and (1 + 2^-h)^2 is 2^-2h; a product that is rounded first
// leaves nothing. Row r < k has the product at r and the other term at 0, row k + r the other way round; the product's
// second factor is in the columns with j % 4 == 1, and 2.
ASSAY_HD constexpr int fused_bits(DType t) { return (format_of(t).precision + 1) / 2; }
ASSAY_HD constexpr int64_t fused_rows(int64_t k) { return 2 * k; }
inline constexpr int64_t kFusedColumn = 1, kFusedColumnTurned = 2;

// probe_subnormal: a subnormal number; a difference of two normal ones that is subnormal; the least normal number.
enum SubnormalRow : int { kSubnormalInput, kSubnormalSum, kLeastNormal, kSubnormalRows };

inline constexpr int64_t kPatterns = 65536;  // of probe_patterns
inline constexpr int64_t kStepsRows = 128;   // probe_steps: row r sums to r - 64

// The largest p for which 127^2 (k - 1) >= 100.5 2^p + 2: sums of `ties` and its partner over k products lie about odd
// multiples of 2^(p-1), up to 201 of them. 0: k is too small.
ASSAY_HD constexpr int ties_exponent(int64_t k) {
  int p = 0;
  while (k > 1 && p < 32 && 127.0 * 127.0 * static_cast<double>(k - 1) >= 100.5 * detail::power_of_two(p + 1) + 2) ++p;
  return p;
}
inline constexpr int kTiesReach = 2;  // and as far as that beside them

}  // namespace probe
}  // namespace assay
