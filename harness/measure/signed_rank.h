// Wilcoxon's signed-rank test and the Hodges-Lehmann estimate with its interval, from blocks' deltas: Hollander, Wolfe
// and Chicken, "Nonparametric Statistical Methods" (3rd edition, 2014), sections 3.1 to 3.3; Hodges and Lehmann,
// "Estimates of location based on rank tests" (1963).
//
// Why this one. Where base and change do not differ, the coin that ordered a block also chose the sign of its delta,
// whatever its four processes went through: heavy tails, slow ones, bursts that last for many blocks, drift of any
// shape. Given all of that the signs are fair and independent coins, so that the p value is exact on any machine:
// nothing is assumed of it and nothing is calibrated. It costs 5 % of the blocks that a t test needs where deltas are
// normal, and saves many where they are not, for one wild block counts by its rank and not by its size.
//
// W is taken as the number of pairs i <= j with (d_i + d_j) / 2 > bound (Tukey's form) and compared with its
// distribution without ties. Ties, and a delta that is the bound, only lower W, and so does a change that is faster
// than the bound: p is exact or too large.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "measure/moderated_t.h"

namespace assay {

class SignedRank {
 public:
  // Of blocks' deltas. Throws Error for none, for more than kMostBlocks, and for one that is not finite.
  explicit SignedRank(std::span<const double> deltas);
  static constexpr int64_t kMostBlocks = 256;

  // p value of "the deltas lie around `bound` or less", against above; and of "or more", against below. The smallest
  // there is, 2^-blocks, is of all deltas beyond the bound.
  double p_above(double bound) const;
  double p_below(double bound) const;

  // The median of all (d_i + d_j) / 2, i <= j.
  double estimate() const;

  // One-sided, at `confidence` or more each; infinite where so few blocks give none.
  ConfidenceInterval bounds(double confidence) const;

 private:
  double p_of(int64_t w) const;  // P(W >= w) where each sign is a fair coin

  std::vector<double> averages_;  // (d_i + d_j) / 2, ascending
  std::vector<double> tail_;      // P(W >= w), by w
};

}  // namespace assay
