// What oracles of ops on rows share: sums of a fixed order, and who computes a row.
#pragma once

#include <cstdint>
#include <limits>

#include "core/hd.h"

namespace assay {

// The larger number; a where b is NaN. (std::fmax is a call into libm.)
ASSAY_HD inline double larger(double a, double b) { return a < b ? b : a; }

// Sums in eight interleaved partial sums, so that the depth is an eighth of the length; the order, and so the bits, do
// not depend on machine or thread count.
template <class Real>
class LaneSum {
 public:
  static constexpr int kLanes = 8;
  ASSAY_HD void add(int64_t i, Real value) { lanes_[i & (kLanes - 1)] = lanes_[i & (kLanes - 1)] + value; }
  ASSAY_HD Real total() const {
    return ((lanes_[0] + lanes_[1]) + (lanes_[2] + lanes_[3])) + ((lanes_[4] + lanes_[5]) + (lanes_[6] + lanes_[7]));
  }
  // Roundings that a term passes through, of n terms.
  ASSAY_HD static double depth(int64_t n) {
    const int64_t roundings = (n + kLanes - 1) / kLanes + 3;
    return static_cast<double>(roundings);
  }

 private:
  Real lanes_[kLanes] = {};
};

// The one NaN that oracles return: machines differ in the sign and payload of those that arithmetic makes.
ASSAY_HD inline double one_nan(double x) { return x == x ? x : std::numeric_limits<double>::quiet_NaN(); }

// Who computes a row: on the host one caller, on a device eight threads (reference/row_team.cuh), of which each has
// every eighth element and so one of a LaneSum's partial sums. A member visits its elements
//   for (int64_t i = team.begin(); i < cols; i += team.step())
// and gives its own part of a sum or maximum; all members receive the whole. Elements are a member's own: what it wrote
// in one pass it finds in the next.
struct Alone {
  template <class Real>
  using Sum = LaneSum<Real>;

  ASSAY_HD static int64_t begin() { return 0; }
  ASSAY_HD static int64_t step() { return 1; }
  template <class Real>
  ASSAY_HD static Real total(const LaneSum<Real>& sum) {
    return sum.total();
  }
  ASSAY_HD static double largest(double x) { return x; }
  ASSAY_HD static bool any(bool x) { return x; }
  // Of members' maxima and the indices they were first met at, the largest, at equality the one met first: zeros have
  // signs.
  template <class Real>
  ASSAY_HD static Real first_largest(const Real& x, int64_t) {
    return x;
  }
};

}  // namespace assay
