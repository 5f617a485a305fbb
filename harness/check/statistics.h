// The statistical tier (T2): a kernel's error statistics over several seeds against those approved for it. It sees what
// stays inside the rigorous bound: a lower-precision accumulator, a flushed rounding, TF32, another order of summation.
//
// Four statistics of a seed are compared: the rate of misrounded elements and their mean signed distance in ulps, which
// tell about narrow outputs (there the output's own rounding drowns q), and rms q and mean signed q, which tell about
// wide ones. Comparing all four costs a factor of two in the level and needs no guess at which is which.
//
// Each comparison is Welch's t test on the seeds' values, two-sided, at kStatisticalLevel / 4 (Bonferroni), so that a
// kernel that did not change is called changed in at most kStatisticalLevel of comparisons. The test is not paired by
// seed: equal seeds make it conservative, never alarming. Two arms of one distribution have a symmetric difference,
// which keeps t honest for skewed statistics; statistics_test measures the rate on simulated kernels. Statistics that
// are equal seed by seed pass as such, whatever their variance. Where both arms have no variance but differ by more
// than rounding of the stored text, the answer is `changed`: for a statistic that takes value a with probability p and
// b otherwise, 8 + 8 seeds fall apart so cleanly with probability 2 p^8 (1-p)^8 <= 2^-15, and the level is met.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "record/record.h"

namespace assay {

inline constexpr size_t kLeastSeeds = 8;           // on either side
inline constexpr double kStatisticalLevel = 2e-4;  // chance of a false `changed` in one comparison

struct StatisticalResult {
  Outcome outcome = Outcome::pass;  // pass, fail (changed), or skipped where either side has fewer than kLeastSeeds
  double p = 1;                     // smallest p value, times 4
  std::string detail;               // "misrounded: approved 0.0312 +- 0.001, now 0.0625 +- 0.002 (p 1e-9)"
};

StatisticalResult compare_statistics(std::span<const SeedStatistics> approved,
                                     std::span<const SeedStatistics> observed);

// Two-sided p value of Welch's t test for equal means. 1 when all values are equal, 0 when neither side varies and they
// differ. Both sides need two values or more.
double welch_p(std::span<const double> a, std::span<const double> b);

}  // namespace assay
