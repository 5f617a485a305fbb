#include "measure/signed_rank.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "core/error.h"

namespace assay {

SignedRank::SignedRank(std::span<const double> deltas) {
  const int64_t blocks = std::ssize(deltas);
  if (blocks < 1 || blocks > kMostBlocks) throw Error("a signed-rank test of " + std::to_string(blocks) + " blocks");
  for (size_t i = 0; i < deltas.size(); ++i) {
    if (!std::isfinite(deltas[i])) throw Error("the delta of a block is not a number");
    for (size_t j = 0; j <= i; ++j) averages_.push_back((deltas[i] + deltas[j]) / 2);
  }
  std::ranges::sort(averages_);
  // Each rank joins W with probability 1/2: P(W = w) by convolution, then summed from above, where terms are smallest.
  tail_.assign(averages_.size() + 1, 0);
  tail_[0] = 1;
  for (int64_t rank = 1, top = 0; rank <= blocks; ++rank) {
    top += rank;
    for (int64_t w = top; w >= 0; --w) {
      const double with = w >= rank ? tail_[static_cast<size_t>(w - rank)] : 0;
      tail_[static_cast<size_t>(w)] = (tail_[static_cast<size_t>(w)] + with) / 2;
    }
  }
  for (size_t w = tail_.size() - 1; w-- > 0;) tail_[w] += tail_[w + 1];
}

double SignedRank::p_of(int64_t w) const { return std::min(tail_[static_cast<size_t>(w)], 1.0); }

double SignedRank::p_above(double bound) const {
  return p_of(averages_.end() - std::ranges::upper_bound(averages_, bound));
}

double SignedRank::p_below(double bound) const {
  return p_of(std::ranges::lower_bound(averages_, bound) - averages_.begin());
}

double SignedRank::estimate() const {
  const size_t n = averages_.size();
  return (averages_[(n - 1) / 2] + averages_[n / 2]) / 2;
}

ConfidenceInterval SignedRank::bounds(double confidence) const {
  // As many averages lie beyond a bound as W is at most, with a probability of 1 - confidence or less.
  int64_t beyond = -1;
  while (p_of(std::ssize(averages_) - (beyond + 1)) <= 1 - confidence) ++beyond;
  if (beyond < 0) return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  return {averages_[static_cast<size_t>(beyond)], averages_[averages_.size() - 1 - static_cast<size_t>(beyond)]};
}

}  // namespace assay
