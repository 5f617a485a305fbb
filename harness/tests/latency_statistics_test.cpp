// measure/moderated_t and measure/signed_rank against counting, closed forms and hostile values. Against SciPy on many
// random ones: test_latency_statistics.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/draw.h"
#include "core/error.h"
#include "measure/moderated_t.h"
#include "measure/signed_rank.h"

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> some_deltas(size_t count, uint64_t seed) {
  Draw draw(seed);
  std::vector<double> deltas;
  for (size_t i = 0; i < count; ++i) deltas.push_back(static_cast<double>(draw.below(2000001)) * 1e-6 - 0.9);
  return deltas;
}

// P(W >= that of `deltas`) over all signs of their ranks, one by one.
double p_by_counting(std::vector<double> deltas, double bound) {
  for (double& delta : deltas) delta -= bound;
  std::ranges::sort(deltas, {}, [](double delta) { return std::fabs(delta); });
  const auto w_of = [&](uint32_t positive) {
    size_t w = 0;
    for (size_t i = 0; i < deltas.size(); ++i) w += (positive >> i & 1) * (i + 1);
    return w;
  };
  uint32_t seen = 0;
  for (size_t i = 0; i < deltas.size(); ++i) seen |= static_cast<uint32_t>(deltas[i] > 0) << i;
  const uint32_t all = uint32_t{1} << deltas.size();
  uint32_t as_much = 0;
  for (uint32_t signs = 0; signs < all; ++signs) as_much += w_of(signs) >= w_of(seen);
  return static_cast<double>(as_much) / all;
}

TEST(SignedRank, IsTheShareOfSignsThatSayAsMuch) {
  for (size_t blocks = 1; blocks <= 12; ++blocks) {
    const std::vector<double> deltas = some_deltas(blocks, blocks);
    for (const double bound : {-0.5, 0.0, 0.1, 0.7}) {
      EXPECT_NEAR(SignedRank(deltas).p_above(bound), p_by_counting(deltas, bound), 1e-15) << blocks << " blocks";
      std::vector<double> mirrored;
      for (const double delta : deltas) mirrored.push_back(-delta);
      EXPECT_NEAR(SignedRank(deltas).p_below(bound), p_by_counting(mirrored, -bound), 1e-15) << blocks << " blocks";
    }
  }
}

TEST(SignedRank, TheSmallestPIsOfAllBlocksBeyond) {
  for (const size_t blocks : {6, 24, 96, 256}) {
    const std::vector<double> deltas(blocks, 0.01);
    EXPECT_EQ(SignedRank(deltas).p_above(0), std::exp2(-static_cast<double>(blocks)));
    EXPECT_NEAR(SignedRank(deltas).p_below(0), 1, 1e-12);
  }
}

// A delta that is the bound, and ties, must not count for a change.
TEST(SignedRank, WhatIsTheBoundSaysNothing) {
  EXPECT_EQ(SignedRank(std::vector<double>(24, 0.0)).p_above(0), 1);
  EXPECT_EQ(SignedRank(std::vector<double>(24, 0.0)).p_below(0), 1);
  const std::vector<double> one_above{0, 0, 0, 0, 0, 0, 0, 0.01};
  EXPECT_GE(SignedRank(one_above).p_above(0), p_by_counting({-1, -2, -3, -4, -5, -6, -7, 8}, 0));
}

TEST(SignedRank, AFasterChangeIsNeverMoreSignificant) {
  const std::vector<double> deltas = some_deltas(24, 3);
  double before = 0;
  for (int i = -100; i < 120; ++i) {
    const double p = SignedRank(deltas).p_above(0.01 * i);
    EXPECT_GE(p, before);
    before = p;
  }
  EXPECT_EQ(before, 1);
}

// What lies within the bounds is what a test at that level does not reject: by definition.
TEST(SignedRank, BoundsAreWhereTheTestTurns) {
  for (const size_t blocks : {5, 6, 12, 24, 48}) {
    const std::vector<double> deltas = some_deltas(blocks, 100 + blocks);
    const SignedRank test(deltas);
    const ConfidenceInterval bounds = test.bounds(0.95);
    constexpr double kStep = 1e-9;
    EXPECT_LE(test.p_below(bounds.upper + kStep), 0.05);
    EXPECT_GT(test.p_below(bounds.upper - kStep), 0.05);
    EXPECT_LE(test.p_above(bounds.lower - kStep), 0.05);
    EXPECT_GT(test.p_above(bounds.lower + kStep), 0.05);
    EXPECT_TRUE(bounds.lower <= test.estimate() && test.estimate() <= bounds.upper);
  }
}

TEST(SignedRank, FourBlocksHaveNoBoundAt95Percent) {
  EXPECT_EQ(SignedRank(std::vector<double>{1, 2, 3, 4}).bounds(0.95).upper, kInfinity);
  EXPECT_EQ(SignedRank(std::vector<double>{1, 2, 3, 4}).bounds(0.95).lower, -kInfinity);
  EXPECT_EQ(SignedRank(std::vector<double>{1, 2, 3, 4}).bounds(0.93).upper, 4);
}

TEST(SignedRank, OneWildBlockIsOneBlock) {
  std::vector<double> deltas = some_deltas(24, 9);
  deltas[5] = 2;
  const SignedRank test(deltas);
  deltas[5] = 1e6;
  EXPECT_EQ(SignedRank(deltas).p_above(0), test.p_above(0));
  EXPECT_EQ(SignedRank(deltas).bounds(0.95).upper, test.bounds(0.95).upper);
}

TEST(SignedRank, RefusesWhatItCannotRank) {
  EXPECT_THROW(SignedRank(std::vector<double>{}), Error);
  EXPECT_THROW(SignedRank(std::vector<double>(257, 0.0)), Error);
  EXPECT_THROW(SignedRank(std::vector<double>{0, NAN}), Error);
  EXPECT_THROW(SignedRank(std::vector<double>{0, -INFINITY}), Error);
  EXPECT_EQ(SignedRank(std::vector<double>{0.5}).estimate(), 0.5);
  EXPECT_EQ(SignedRank(std::vector<double>{0.5}).p_above(0), 0.5);
}

TEST(ModeratedT, WithoutAPriorItIsStudents) {
  // Mean 2, variance 1, K = 3: t = 2 sqrt(3) with 2 degrees, whose distribution has the closed form below.
  const ModeratedT t(std::vector<double>{1, 2, 3}, {});
  const double value = 2 * std::sqrt(3.0);
  EXPECT_NEAR(t.p_above(0), 0.5 - value / (2 * std::sqrt(2 + value * value)), 1e-14);
  EXPECT_NEAR(t.p_below(0), 0.5 + value / (2 * std::sqrt(2 + value * value)), 1e-14);
  EXPECT_EQ(t.freedom(), 2);
  // Quantile of 2 degrees: (2 p - 1) sqrt(2 / (4 p (1 - p))).
  EXPECT_NEAR(t.bounds(0.95).upper, 2 + 0.9 * std::sqrt(2 / 0.19) / std::sqrt(3.0), 1e-12);
  EXPECT_NEAR(t.bounds(0.95).lower, 2 - 0.9 * std::sqrt(2 / 0.19) / std::sqrt(3.0), 1e-12);
}

TEST(ModeratedT, ThePriorJoinsByItsFreedom) {
  const ModeratedT t(std::vector<double>{1, 2, 3}, {.value = 4, .freedom = 6});
  EXPECT_EQ(t.freedom(), 8);
  EXPECT_NEAR(t.deviation(), std::sqrt((6 * 4 + 2 * 1) / 8.0), 1e-15);
  EXPECT_NEAR(t.standard_error(), t.deviation() / std::sqrt(3.0), 1e-15);
  const ModeratedT known(std::vector<double>{1, 2, 3}, {.value = 4, .freedom = kInfinity});
  EXPECT_NEAR(known.p_above(0), std::erfc(2 / (2 / std::sqrt(3.0)) / std::sqrt(2.0)) / 2, 1e-14) << "normal";
}

TEST(ModeratedT, FewBlocksAndNoSpread) {
  const ModeratedT alone(std::vector<double>{0.5}, {});
  EXPECT_EQ(alone.p_above(0), 1) << "nothing is known of its spread";
  EXPECT_EQ(alone.bounds(0.95).upper, kInfinity);
  EXPECT_NEAR(ModeratedT(std::vector<double>{0.5}, {.value = 1, .freedom = 10}).bounds(0.5).upper, 0.5, 1e-15);
  const ModeratedT equal(std::vector<double>{0.01, 0.01, 0.01, 0.01}, {});
  EXPECT_EQ(equal.p_above(0.003), 0);
  EXPECT_EQ(equal.p_above(0.01), 1);
  EXPECT_EQ(equal.p_below(0.003), 1);
  EXPECT_EQ(equal.bounds(0.95).upper, 0.01);
  const ModeratedT zeros(std::vector<double>(4, 0.0), {});
  EXPECT_EQ(zeros.p_above(0), 1);
  EXPECT_THROW(ModeratedT(std::vector<double>{}, {}), Error);
  EXPECT_THROW(ModeratedT(std::vector<double>{0, NAN}, {}), Error);
  EXPECT_THROW(ModeratedT(std::vector<double>{0, INFINITY}, {}), Error);
}

TEST(VariancePrior, OfOneVarianceForAllIsThatVariance) {
  std::vector<Variance> equal(20, Variance{.value = 3, .freedom = 5});
  const Variance prior = fit_variance_prior(equal);
  EXPECT_EQ(prior.freedom, kInfinity) << "they differ less than sampling would make them";
  // exp(mean log s^2) without the bias of a logarithm: digamma(5/2) - log(5/2) = -0.2131341....
  EXPECT_NEAR(prior.value, 3 * std::exp(0.21313411), 1e-6);
}

TEST(VariancePrior, HostileVariances) {
  EXPECT_EQ(fit_variance_prior({}).freedom, 0);
  const std::vector<Variance> one{{.value = 2, .freedom = 3}};
  EXPECT_EQ(fit_variance_prior(one).value, 2);
  EXPECT_EQ(fit_variance_prior(one).freedom, 3);
  const std::vector<Variance> zeros(5, Variance{.value = 0, .freedom = 3});
  EXPECT_EQ(fit_variance_prior(zeros).value, 0) << "every delta was the same";
  EXPECT_EQ(fit_variance_prior(zeros).freedom, 15);
  const std::vector<Variance> with_nothing{{.value = 2, .freedom = 3}, {.value = 9, .freedom = 0}};
  EXPECT_EQ(fit_variance_prior(with_nothing).value, 2) << "a case of one block says nothing";
  const std::vector<Variance> with_zero{{2, 3}, {2, 3}, {2, 3}, {0, 3}};
  EXPECT_GT(fit_variance_prior(with_zero).value, 0);
  EXPECT_LT(fit_variance_prior(with_zero).freedom, kInfinity);
  EXPECT_THROW(variance_of({}), Error);
  EXPECT_EQ(variance_of(std::vector<double>{3}).freedom, 0);
}

TEST(VariancePrior, CombiningForgetsWhatIsTooMuch) {
  const Variance both = combine({.value = 1, .freedom = 30}, {.value = 3, .freedom = 10}, 20);
  EXPECT_NEAR(both.value, 1.5, 1e-15);
  EXPECT_EQ(both.freedom, 20);
  EXPECT_EQ(combine({}, {.value = 3, .freedom = 10}, 20).value, 3);
  EXPECT_EQ(combine({}, {}, 20).freedom, 0);
  EXPECT_EQ(combine({.value = 1, .freedom = kInfinity}, {.value = 3, .freedom = 10}, 20).value, 1);
  EXPECT_EQ(combine({.value = 3, .freedom = 10}, {.value = 1, .freedom = kInfinity}, 20).freedom, 20);
}

TEST(Trigamma, HasAnInverse) {
  constexpr double kPi = 3.14159265358979323846;
  EXPECT_NEAR(trigamma_inverse(kPi * kPi / 6), 1, 1e-12);
  EXPECT_NEAR(trigamma_inverse(kPi * kPi / 2), 0.5, 1e-12);
  EXPECT_NEAR(trigamma_inverse(kPi * kPi / 6 - 1), 2, 1e-12);
  EXPECT_THROW(trigamma_inverse(0), Error);
  EXPECT_THROW(trigamma_inverse(-1), Error);
}

}  // namespace
}  // namespace assay
