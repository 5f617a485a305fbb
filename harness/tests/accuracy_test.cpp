// check/: the verdicts that an accuracy check must not get wrong.
#include "check/accuracy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "accuracy_trial.h"
#include "check/rows.h"
#include "core/error.h"

namespace assay {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// One element: r, E and what the kernel gave.
Outcome judged(DType t, double r, double e, double got, Evidence evidence = Evidence::rigorous) {
  AccuracyTrial trial(t, 1);
  trial.reference.hi[0] = r;
  trial.bounds.e_alg[0] = e;
  trial.bounds.evidence[0] = evidence;
  trial.set(0, got);
  return trial.outcome();
}

TEST(Accuracy, AFiniteValueIsNeitherNanNorInfinity) {
  EXPECT_EQ(judged(DType::f32, kNan, 0, 1), Outcome::fail);
  EXPECT_EQ(judged(DType::f32, kNan, kInf, 1), Outcome::fail);
  EXPECT_EQ(judged(DType::f32, kInf, 1e30, 3e38), Outcome::fail);
  EXPECT_EQ(judged(DType::f32, kInf, kInf, -kInf), Outcome::fail);
  EXPECT_EQ(judged(DType::f32, 1, 1e-3, kNan), Outcome::fail);
  EXPECT_EQ(judged(DType::f32, 1, kInf, kNan), Outcome::fail) << "an infinite bound does not excuse NaN";
  EXPECT_EQ(judged(DType::f32, 1, 1e-3, kInf), Outcome::fail);
  EXPECT_EQ(judged(DType::f32, kNan, 0, kNan), Outcome::pass);
  EXPECT_EQ(judged(DType::f32, -kInf, 0, -kInf), Outcome::pass);
}

TEST(Accuracy, ANanBoundPassesNothing) {
  EXPECT_EQ(judged(DType::f32, 1, kNan, 1), Outcome::fail);
  EXPECT_EQ(judged(DType::f32, 1, -1, 1), Outcome::fail) << "nor does a negative one";
}

TEST(Accuracy, NanPolicyUnspecifiedExcusesOnlyNanResults) {
  AccuracyTrial trial(DType::f32, 2);
  trial.contract.nan_policy = ASSAY_NAN_UNSPECIFIED;
  trial.reference.hi = {kNan, 1};
  trial.set(0, 5);
  trial.set(1, 1);
  EXPECT_EQ(trial.judge().failures, 0);
  EXPECT_EQ(trial.judge().no_evidence, 1);
  trial.set(1, kNan);
  EXPECT_EQ(trial.judge().failures, 1) << "NaN must not spread to an element it has nothing to do with";
}

TEST(Accuracy, OverflowIsTheTypesOwn) {
  EXPECT_EQ(judged(DType::f16, 65519.99, 0, 65504), Outcome::pass);
  EXPECT_EQ(judged(DType::f16, 65520, 0, kInf), Outcome::pass);
  EXPECT_EQ(judged(DType::f16, 65520, 0, 65504), Outcome::fail);
  EXPECT_EQ(judged(DType::f16, 65519, 2, kInf), Outcome::pass) << "the interval reaches over the boundary";
  EXPECT_EQ(judged(DType::f16, 65519, 2, 65504), Outcome::pass);
  EXPECT_EQ(judged(DType::f16, 1e9, 1, 65504), Outcome::fail);
  EXPECT_EQ(judged(DType::i8, 200, 0, 127), Outcome::pass);
  EXPECT_EQ(judged(DType::i8, -kInf, 0, -128), Outcome::pass);
  EXPECT_EQ(judged(DType::u8, -3, 0, 0), Outcome::pass);
  EXPECT_EQ(judged(DType::u8, 300, 0, 44), Outcome::fail) << "wrapped instead of saturated";
  AccuracyTrial trial(DType::e4m3, 2);
  trial.reference.hi = {460, 500};
  trial.set(0, 448);
  trial.set_bits(1, 0x7f);
  EXPECT_EQ(trial.judge().failures, 0);
  trial.set_bits(0, 0x7f);
  EXPECT_EQ(trial.judge().failures, 1);
}

TEST(Accuracy, TiesOfIntegersAllowBothNeighboursOnlyWithinTheBound) {
  EXPECT_EQ(judged(DType::i8, 2.5, 0, 2), Outcome::pass);
  EXPECT_EQ(judged(DType::i8, 2.5, 0, 3), Outcome::fail);
  EXPECT_EQ(judged(DType::i8, 2.5, 1e-9, 3), Outcome::pass);
  EXPECT_EQ(judged(DType::i8, 2.49, 1e-9, 3), Outcome::fail);
}

TEST(Accuracy, ExactIgnoresTheAlgorithmsBound) {
  EXPECT_EQ(judged(DType::f32, 7, 1, 7, Evidence::exact), Outcome::pass);
  EXPECT_EQ(judged(DType::f32, 7, 1, std::nextafterf(7, 8), Evidence::exact), Outcome::fail);
}

TEST(Accuracy, ZerosCompareByValueUnlessBitwise) {
  AccuracyTrial trial(DType::f32, 1);
  trial.set(0, -0.0);
  EXPECT_EQ(trial.judge().failures, 0);
  trial.reference.bitwise = true;
  EXPECT_EQ(trial.judge().failures, 1);
  trial.reference.hi[0] = -0.0;
  EXPECT_EQ(trial.judge().failures, 0);
}

TEST(Accuracy, WithoutEvidenceInfinitiesPassAndFiniteErrorsDoNot) {
  for (const double got : {kInf, -kInf, kNan, 1.0}) {
    AccuracyTrial trial(DType::f32, 1);
    trial.reference.hi[0] = 1;
    trial.bounds.evidence[0] = Evidence::no_evidence;
    trial.set(0, got);
    EXPECT_EQ(trial.judge().failures, 0) << got;
    EXPECT_EQ(trial.outcome(), Outcome::weak) << "no evidence is not a pass";
  }
  EXPECT_EQ(judged(DType::f32, 1, 1e-6, 2, Evidence::no_evidence), Outcome::fail);
  EXPECT_EQ(judged(DType::f32, kInf, 0, 2, Evidence::no_evidence), Outcome::fail);
  EXPECT_EQ(judged(DType::f32, kInf, 0, kNan, Evidence::no_evidence), Outcome::weak);
}

TEST(Accuracy, OrNanLetsANanPassAndNoInfinity) {
  for (const double r : {1.0, kInf}) {
    EXPECT_EQ(judged(DType::f32, r, 0, kNan, Evidence::or_nan), Outcome::weak);
    EXPECT_EQ(judged(DType::f32, r, 0, r, Evidence::or_nan), Outcome::weak) << "counted as no evidence";
    EXPECT_EQ(judged(DType::f32, r, 0, -kInf, Evidence::or_nan), Outcome::fail);
    EXPECT_EQ(judged(DType::f32, r, 0, 2, Evidence::or_nan), Outcome::fail);
  }
  EXPECT_EQ(judged(DType::f32, 1, 0, kInf, Evidence::or_nan), Outcome::fail);
}

TEST(Accuracy, UnknownDepthAndVacuousBoundsAreWeak) {
  EXPECT_EQ(judged(DType::f32, 1, 1e-3, 1, Evidence::weak), Outcome::weak);
  EXPECT_EQ(judged(DType::f32, 1, 2, 1), Outcome::weak);
  EXPECT_EQ(judged(DType::f32, 0, 1e-44, 0), Outcome::pass) << "an underflow term is not vacuous";
  AccuracyTrial trial(DType::f32, 3);
  trial.reference.hi = {1, 1, 0};
  trial.bounds.e_alg = {0.1, 0.1, 0.1};
  trial.set(0, 1);
  trial.set(1, 1);
  EXPECT_EQ(trial.judge().vacuous, 1);
  EXPECT_EQ(trial.outcome(), Outcome::pass);
}

// A whole-tensor metric, or a check of the first batch alone, lets each of these pass.
TEST(Accuracy, OneWrongElementAnywhereFails) {
  constexpr int64_t kBatch = 7, kRows = 5, kCols = 33, kLd = 40;
  TensorSpec spec{.name = "y",
                  .dtype = DType::f32,
                  .shape = {kBatch, kRows, kCols},
                  .strides = {kRows * kLd + 11, kLd, 1},
                  .role = Role::output};
  const auto n = static_cast<size_t>(spec.elements());
  Reference reference{.tensor = "y", .dtype = DType::f32};
  reference.lo.assign(n, 0);
  reference.e_ref.assign(n, 0);
  std::vector<float> memory(static_cast<size_t>(spec.span_elements()), 1e30f);
  for (size_t i = 0; i < n; ++i) {
    reference.hi.push_back(static_cast<double>(i) + 1);
    memory[static_cast<size_t>(offset_of(spec, static_cast<int64_t>(i)))] = static_cast<float>(i + 1);
  }
  const Bounds bounds{std::vector<double>(n, 1e-3), std::vector<Evidence>(n, Evidence::rigorous)};
  const auto* bytes = reinterpret_cast<const std::byte*>(memory.data());
  EXPECT_EQ(judge_accuracy(spec, bytes, reference, bounds, {}).failures, 0);
  for (int64_t i = 0; i < spec.elements(); ++i) {
    float& element = memory[static_cast<size_t>(offset_of(spec, i))];
    const float right = element;
    element = 0;
    const ErrorSummary summary = judge_accuracy(spec, bytes, reference, bounds, {});
    ASSERT_EQ(summary.failures, 1);
    ASSERT_EQ(summary.worst_index, i);
    element = right;
  }
}

TEST(Accuracy, DetailNamesElementValuesAndBound) {
  AccuracyTrial trial(DType::f32, 20);
  for (size_t i = 0; i < 20; ++i) trial.bounds.e_alg[i] = 1e-7;
  trial.reference.hi[12] = 0.25;
  trial.set(12, 0.5);
  const ErrorSummary summary = trial.judge();
  const CheckResult result = accuracy_check({&summary, 1});
  EXPECT_EQ(result.detail, "y[12] got 0.5 want 0.25 bound 1e-07 (T1); 1 of 20 elements fail");
  EXPECT_EQ(result.verdict, Verdict::wrong);
}

TEST(Accuracy, StatisticsAreThoseOfTheDefinitions) {
  AccuracyTrial trial(DType::f32, 4);
  trial.reference.hi = {1, 1, 1, -1};
  trial.bounds.e_alg.assign(4, 0x1p-20);
  trial.set(0, 1);
  trial.set(1, 1 + 0x1p-22);     // 2 ulp, q = 1/4
  trial.set(2, 1 - 0x1p-21);     // -8 ulp of the binade below, q = 1/2
  trial.set(3, -(1 + 0x1p-20));  // -8 ulp, q = 1
  const ErrorSummary s = trial.judge();
  EXPECT_EQ(s.failures, 0);
  EXPECT_EQ(s.max_q, 1);
  EXPECT_EQ(s.worst_index, 3);
  EXPECT_DOUBLE_EQ(s.rms_q, std::sqrt((0.0625 + 0.25 + 1) / 4));
  EXPECT_DOUBLE_EQ(s.mean_signed_q, (0.25 - 0.5 - 1) / 4);
  EXPECT_DOUBLE_EQ(s.misrounded, 0.75);
  EXPECT_DOUBLE_EQ(s.mean_signed_ulps, (2 - 8 - 8) / 4.0);
  ASSERT_EQ(s.histogram.size(), kErrorHistogramEdges.size() + 1);
  int64_t total = 0;
  for (size_t bin = 0; bin < s.histogram.size(); ++bin) {
    total += s.histogram[bin];
    for (const double q : {0.0, 0.25, 0.5, 1.0}) {
      const bool in_bin = (bin == 0 || q > kErrorHistogramEdges[bin - 1]) &&
                          (bin == kErrorHistogramEdges.size() || q <= kErrorHistogramEdges[bin]);
      if (in_bin) {
        EXPECT_EQ(s.histogram[bin], 1) << bin;
      }
    }
  }
  EXPECT_EQ(total, 4);
}

TEST(Accuracy, AReferenceOfAnotherSizeIsAFaultOfTheHarness) {
  AccuracyTrial trial(DType::f32, 4);
  trial.reference.hi.pop_back();
  EXPECT_THROW(trial.judge(), Error);
  AccuracyTrial other(DType::f32, 4);
  other.bounds.evidence.clear();
  EXPECT_THROW(other.judge(), Error);
  AccuracyTrial named(DType::f32, 4);
  named.reference.tensor = "z";
  EXPECT_THROW(named.judge(), Error);
  ErrorSummary partly{.tensor = "y", .elements = 8, .rigorous = 4};
  EXPECT_THROW(accuracy_check({&partly, 1}), Error) << "only batch 0 was judged";
  EXPECT_EQ(accuracy_check({}).outcome, Outcome::skipped);
}

TEST(Rows, CoverEveryElementOnceInLogicalOrder) {
  const uint64_t seed = 99;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 2000; ++trial) {
    TensorSpec spec{.name = "y"};
    const size_t rank = random() % 5;
    for (size_t axis = 0; axis < rank; ++axis) spec.shape.push_back(static_cast<int64_t>(random() % 4));
    spec.strides = row_major(spec.shape, static_cast<int64_t>(random() % 2));
    if (rank > 1 && random() % 2) std::swap(spec.strides[0], spec.strides[rank - 1]);
    for (size_t axis = 0; axis < rank; ++axis) {
      if (spec.shape[axis] == 1 && random() % 2) spec.strides[axis] = 1000;  // size-1 axes may have any stride
    }
    int64_t next = 0;
    for_each_row(spec, [&](const Row& row) {
      ASSERT_EQ(row.logical, next);
      for (int64_t j = 0; j < row.count; ++j) {
        ASSERT_EQ(row.offset + j * row.stride, offset_of(spec, row.logical + j));
      }
      next += row.count;
    });
    ASSERT_EQ(next, spec.elements());
  }
}

}  // namespace
}  // namespace assay
