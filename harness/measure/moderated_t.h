// The moderated t statistic: from few blocks and what earlier ones said of their spread. Smyth, "Linear models and
// empirical Bayes methods for assessing differential expression in microarray experiments", Statistical Applications in
// Genetics and Molecular Biology 3(1), 2004: section 3 the statistic, section 6.2 the fit of the prior.
//
// It takes deltas to be normal and today's variance to be of the prior's family. On a machine with bursts and slow
// processes they are not normal: means then have such errors that most gates would end undecided. On a day noisier than
// those of the calibration its p values are far too small (latency_rivals_test.cpp measures both). So it decides, after
// a case's first blocks, who is measured further, which so few blocks can do by the help of a prior alone; that
// something is slower, signed_rank.h says.
#pragma once

#include <cstdint>
#include <span>

namespace assay {

struct ConfidenceInterval {
  double lower = 0, upper = 0;

  bool operator==(const ConfidenceInterval&) const = default;
};

// A variance and how many degrees of freedom stand behind it; infinitely many: it is known. 0: nothing is.
struct Variance {
  double value = 0;
  double freedom = 0;
};

// Unbiased. One value has none: freedom 0. Throws Error for no values.
Variance variance_of(std::span<const double> values);

// The prior s0^2 (value) and d0 (freedom) of the variances of a class of cases, from those of several cases. Cases
// without freedom say nothing; a variance of 0 counts as 1e-5 of the median one, as limma does. Fewer than two that say
// anything: the mean of what is there, with its freedom. Freedom is infinite where the variances differ no more than
// sampling explains.
Variance fit_variance_prior(std::span<const Variance> of_cases);

// What is known of a variance from two sources: (f1 v1 + f2 v2) / (f1 + f2). With `most_freedom`, no more than that
// many degrees are kept, so that what was seen long ago does not outweigh today.
Variance combine(const Variance& a, const Variance& b, double most_freedom);

// x with trigamma(x) = y, for y > 0: Newton's method on 1/trigamma, Smyth's appendix.
double trigamma_inverse(double y);

class ModeratedT {
 public:
  // Of blocks' deltas. Throws Error for none, and for one that is not finite.
  ModeratedT(std::span<const double> deltas, const Variance& prior);

  double estimate() const { return mean_; }        // the mean
  double deviation() const { return deviation_; }  // s~, of one block
  double freedom() const { return freedom_; }      // nu = d0 + K - 1
  double standard_error() const;

  // p value of "the delta is at most `bound`", against above; and of "at least `bound`", against below. 1 where nothing
  // is known of the spread.
  double p_above(double bound) const;
  double p_below(double bound) const;

  // One-sided, at that confidence each; infinite for 1.
  ConfidenceInterval bounds(double confidence) const;

 private:
  double mean_ = 0, deviation_ = 0, freedom_ = 0;
  int64_t blocks_ = 0;
};

}  // namespace assay
