// check/statistics: the false-alarm rate and the power of the statistical tier, on dot products that are really
// computed in single precision and judged like a kernel's output. Each line it prints is a measured rate.
#include "check/statistics.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <iostream>

#include "check/accuracy.h"
#include "core/dtype.h"

namespace assay {
namespace {

// A kernel's arithmetic: how the products of one dot product are summed, and how the result becomes the output type.
struct Arithmetic {
  std::function<float(const float*, const float*, int)> dot;
  std::function<double(DType, float)> store = [](DType t, float x) { return round_to(t, x); };
};

float sequential(const float* a, const float* b, int k) {
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[i] * b[i];
  return sum;
}

float eight_lanes(const float* a, const float* b, int k) {
  float lanes[8] = {};
  for (int i = 0; i < k; ++i) lanes[i % 8] += a[i] * b[i];
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  return sum;
}

// The accumulator is rounded to T after every addition.
template <DType T>
float narrow_accumulator(const float* a, const float* b, int k) {
  double sum = 0;
  for (int i = 0; i < k; ++i) sum = round_to(T, sum + a[i] * b[i]);
  return static_cast<float>(sum);
}

float truncated_inputs(const float* a, const float* b, int k) {  // TF32: 13 bits of the significand are dropped
  const auto cut = [](float x) { return std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0xffffe000u); };
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += cut(a[i]) * cut(b[i]);
  return sum;
}

double store_towards_zero(DType t, float x) {
  const double r = round_to(t, x);
  return std::fabs(r) > std::fabs(x) ? decode(t, encode(t, r) - 1) : r;
}

struct Model {
  const char* name;
  DType output;
  int elements;
  int k;
  double declared_unit = 0x1p-24;  // roundoff the contract declares, from which E is formed
};
constexpr Model kWide{"f32 out, 64 x K 64", DType::f32, 64, 64};
constexpr Model kNarrow{"bf16 out, 128 x K 64", DType::bf16, 128, 64};
constexpr Model kHalf{"f16 out, 128 x K 64", DType::f16, 128, 64};
constexpr Model kTiny{"f32 out, 1 x K 16", DType::f32, 1, 16};
constexpr Model kTinyNarrow{"f16 out, 4 x K 16", DType::f16, 4, 16};

SeedStatistics run(const Model& model, const Arithmetic& arithmetic, uint64_t seed) {
  uint64_t counter = seed << 32;
  const auto unit = [&counter] {  // SplitMix64, to [-1, 1)
    uint64_t z = (counter += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<double>(static_cast<int64_t>(z ^ (z >> 31))) * 0x1p-63;
  };
  const auto n = static_cast<size_t>(model.elements);
  Reference reference{.tensor = "y", .dtype = model.output};
  reference.lo.assign(n, 0);
  Bounds bounds{{}, std::vector<Evidence>(n, Evidence::rigorous)};
  TensorSpec spec{.name = "y", .dtype = model.output, .shape = {model.elements}, .strides = {1}};
  std::vector<std::byte> got(n * size_of(model.output));
  std::vector<float> a(static_cast<size_t>(model.k)), b = a;
  for (size_t i = 0; i < n; ++i) {
    double r = 0, s = 0;
    for (size_t j = 0; j < a.size(); ++j) {
      a[j] = static_cast<float>(unit());
      b[j] = static_cast<float>(unit());
      r += static_cast<double>(a[j]) * b[j];
      s += std::fabs(static_cast<double>(a[j]) * b[j]);
    }
    reference.hi.push_back(r);
    reference.e_ref.push_back(model.k * 0x1p-53 * s);
    bounds.e_alg.push_back((model.k + 2) * model.declared_unit * s);
    store_bits(model.output, got.data(), static_cast<int64_t>(i),
               encode(model.output, arithmetic.store(model.output, arithmetic.dot(a.data(), b.data(), model.k))));
  }
  const ErrorSummary summary = judge_accuracy(spec, got.data(), reference, bounds, {});
  EXPECT_EQ(summary.failures, 0) << model.name << ": not inside the rigorous bound";
  return seed_statistics(seed, {&summary, 1});
}

std::vector<SeedStatistics> eight(const Model& model, const Arithmetic& arithmetic, uint64_t& seed) {
  std::vector<SeedStatistics> seeds;
  for (int i = 0; i < 8; ++i) seeds.push_back(run(model, arithmetic, seed++));
  return seeds;
}

// Comparisons of one arithmetic with itself, on seeds that no other comparison shares.
TEST(Statistics, FalseAlarmsAreAsRareAsStated) {
  constexpr int kComparisons = 2000;
  constexpr double kLooseLevel = 0.01;  // frequent enough to be measured
  uint64_t seed = 1;
  int alarms = 0, total = 0;
  for (const Model& model : {kWide, kNarrow, kHalf, kTiny, kTinyNarrow}) {
    int below_loose = 0, here = 0;
    for (int i = 0; i < kComparisons; ++i) {
      const auto approved = eight(model, {sequential}, seed), observed = eight(model, {sequential}, seed);
      const StatisticalResult result = compare_statistics(approved, observed);
      below_loose += result.p < kLooseLevel;
      here += result.outcome == Outcome::fail;
    }
    std::cout << model.name << ": " << here << " false alarms, " << below_loose << " p < " << kLooseLevel << ", of "
              << kComparisons << "\n";
    // Three standard deviations above the stated level.
    EXPECT_LE(below_loose, kComparisons * kLooseLevel + 3 * std::sqrt(kComparisons * kLooseLevel)) << model.name;
    alarms += here;
    total += kComparisons;
  }
  const double expected = total * kStatisticalLevel;
  EXPECT_LE(alarms, expected + 3 * std::sqrt(expected)) << "of " << total;
}

struct Change {
  const char* what;
  Model model;
  Arithmetic before, after;
};

TEST(Statistics, ChangesInsideTheBoundAreFound) {
  const Model deep{"f32 out, 256 x K 512", DType::f32, 256, 512};
  const Model half_sums{"f16 out, f16 sums declared", DType::f16, 128, 64, 0x1p-11};
  const Model bf16_sums{"bf16 out, bf16 sums declared", DType::bf16, 128, 64, 0x1p-8};
  const Model tf32{"f32 out, TF32 declared", DType::f32, 64, 64, 0x1p-10};
  const std::vector<Change> changes{
      {"f16 accumulator", half_sums, {sequential}, {narrow_accumulator<DType::f16>}},
      {"bf16 accumulator", bf16_sums, {sequential}, {narrow_accumulator<DType::bf16>}},
      {"TF32 inputs", tf32, {sequential}, {truncated_inputs}},
      {"store towards zero", half_sums, {sequential}, {sequential, store_towards_zero}},
      {"store towards zero", bf16_sums, {sequential}, {sequential, store_towards_zero}},
      {"eight lanes instead of one", deep, {sequential}, {eight_lanes}},
      {"one lane instead of eight", deep, {eight_lanes}, {sequential}},
  };
  constexpr int kComparisons = 100;
  uint64_t seed = 10'000'000;
  for (const Change& change : changes) {
    int found = 0;
    for (int i = 0; i < kComparisons; ++i) {
      const auto approved = eight(change.model, change.before, seed),
                 observed = eight(change.model, change.after, seed);
      found += compare_statistics(approved, observed).outcome == Outcome::fail;
    }
    std::cout << change.what << " (" << change.model.name << "): found in " << found << " of " << kComparisons << "\n";
    EXPECT_GE(found, 95) << change.what;
  }
}

std::vector<SeedStatistics> constant(size_t n, double misrounded, double rms_q) {
  std::vector<SeedStatistics> seeds(n);
  for (size_t i = 0; i < n; ++i) seeds[i] = {.seed = i, .misrounded = misrounded, .rms_q = rms_q};
  return seeds;
}

TEST(Statistics, EqualSeedsPassAndTooFewAreSkipped) {
  uint64_t seed = 77;
  const auto seeds = eight(kWide, {sequential}, seed);
  EXPECT_EQ(compare_statistics(seeds, seeds).outcome, Outcome::pass);
  EXPECT_EQ(compare_statistics(seeds, seeds).p, 1);
  const std::span<const SeedStatistics> seven = std::span(seeds).first(7);
  EXPECT_EQ(compare_statistics(seven, seeds).outcome, Outcome::skipped);
  EXPECT_EQ(compare_statistics(seeds, seven).outcome, Outcome::skipped);
}

TEST(Statistics, WithoutVarianceOnlyRoundingIsForgiven) {
  EXPECT_EQ(compare_statistics(constant(8, 0, 0), constant(8, 0, 0)).outcome, Outcome::pass);
  EXPECT_EQ(compare_statistics(constant(8, 0, 0.1), constant(8, 0, std::nextafter(0.1, 1))).outcome, Outcome::pass);
  EXPECT_EQ(compare_statistics(constant(8, 0, 0.1), constant(8, 0, 0.1001)).outcome, Outcome::fail);
  EXPECT_EQ(compare_statistics(constant(8, 0, 0), constant(8, 1e-6, 0)).outcome, Outcome::fail);
  auto one = constant(8, 0, 0);
  one[3].misrounded = 1e-6;
  EXPECT_EQ(compare_statistics(constant(8, 0, 0), one).outcome, Outcome::pass) << "one element in one seed is chance";
}

TEST(Statistics, AStatisticThatIsNotANumberIsAChange) {
  EXPECT_EQ(compare_statistics(constant(8, 0, 0.1), constant(8, 0, std::nan(""))).outcome, Outcome::fail);
  EXPECT_EQ(compare_statistics(constant(8, 0, std::nan("")), constant(8, 0, std::nan(""))).outcome, Outcome::fail);
  EXPECT_EQ(compare_statistics(constant(8, 0, 0.1), constant(8, 0, INFINITY)).outcome, Outcome::fail);
}

TEST(Statistics, DetailNamesWhatMovedMost) {
  const StatisticalResult result = compare_statistics(constant(8, 0.25, 0.5), constant(8, 0.25, 0.75));
  EXPECT_EQ(result.detail, "rms q: approved 0.5 +- 0, now 0.75 +- 0 (p 0)");
}

// Values from scipy.stats.ttest_ind(..., equal_var=False), SciPy 1.17.1.
TEST(Statistics, WelchAgreesWithSciPy) {
  const std::vector<double> a{0.031, 0.029, 0.033, 0.030, 0.032, 0.028, 0.031, 0.034};
  const std::vector<double> b{0.035, 0.033, 0.036, 0.034, 0.037, 0.032, 0.038, 0.031};
  const std::vector<double> c{1e-9, 3e-9, 2e-9, 5e-9, 1e-9, 2e-9, 7e-9, 1e-9};
  const std::vector<double> d{1.1, 0.9, 1.3, 1.2, 0.8, 1.0, 1.05, 0.95};
  const std::vector<double> e{1, 2, 3}, f{1, 2, 3, 4, 50};
  EXPECT_NEAR(welch_p(a, b) / 0.00767777665268098, 1, 1e-9);
  EXPECT_NEAR(welch_p(c, d) / 3.867783973779984e-07, 1, 1e-9);
  EXPECT_NEAR(welch_p(e, f) / 0.3528738600937109, 1, 1e-9);
  EXPECT_EQ(welch_p(a, a), 1);
}

}  // namespace
}  // namespace assay
