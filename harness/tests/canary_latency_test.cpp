// What a canary makes of latencies: the rules of slower, tail, undecided and void, and the interval of first calls.
#include "gate/canary_latency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "canary_sides.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A comparison of the canary's one case, warm.
class CanaryLatencyTest : public ::testing::Test {
 protected:
  CanaryLatencyTest() {
    CaseResult& of = latency.result.cases.emplace_back();
    of.id = std::string(kCanaryCase) + " warm";
    const Margin margin{.gates = true, .least = 0.003, .margin = 0.02};
    of.margins = {margin, margin, margin};
    for (PairResult& pair : of.pairs) pair.outcome = LatencyOutcome::pass;
  }
  void set(LatencyMetric metric, LatencyOutcome outcome, double low, double estimate, double high) {
    latency.result.cases[0].pairs[static_cast<size_t>(metric)] = {
        outcome, {.blocks = 12, .estimate = estimate, .interval = {low, high}, .upper = high}, true, ""};
  }
  CanaryResult judged(bool out_of_time = false) {
    CanaryEvidence evidence = same_on_both();
    evidence.latency_asked = true;
    evidence.latency = latency;
    evidence.out_of_time = out_of_time;
    evidence.first_calls = first_calls;
    return judge_canary(evidence, kCanaryPolicy);
  }
  Comparison latency;
  std::vector<FirstCall> first_calls;
};

TEST_F(CanaryLatencyTest, AsFastIsPromoted) { EXPECT_EQ(judged().verdict, CanaryVerdict::promote); }

TEST_F(CanaryLatencyTest, SlowerByMoreThanAQuarterWithConfidenceIsRejected) {
  for (const LatencyMetric metric : {LatencyMetric::p50, LatencyMetric::p90}) {
    set(metric, LatencyOutcome::regress, std::log(1.26), std::log(1.3), std::log(1.34));
    const CanaryResult result = judged();
    EXPECT_EQ(result.verdict, CanaryVerdict::reject);
    EXPECT_THAT(grave(result), ElementsAre(HasSubstr("+30.00 %, 95 % from +26.00 % to +34.00 %")));
    EXPECT_EQ(result.reasons.at(0).what, std::string(kCanaryCase) + " warm");
    set(metric, LatencyOutcome::pass, -1, 0, 0.01);
  }
}

TEST_F(CanaryLatencyTest, SlowerBeyondTheMarginIsHeld) {
  set(LatencyMetric::p50, LatencyOutcome::regress, std::log(1.24), std::log(1.3), std::log(1.36));
  EXPECT_EQ(judged().verdict, CanaryVerdict::hold) << "30 %, and perhaps only 24 %";
  set(LatencyMetric::p50, LatencyOutcome::regress, 0.02, 0.04, 0.06);
  EXPECT_THAT(grave(judged()), ElementsAre(HasSubstr("slower: p50 +4.08 %")));
}

TEST_F(CanaryLatencyTest, ATailOfMoreThanTwoPointsIsRejectedAndASmallerOneHeld) {
  for (const LatencyMetric metric : {LatencyMetric::tail, LatencyMetric::stall}) {
    set(metric, LatencyOutcome::regress, 0.021, 0.03, 0.04);
    EXPECT_EQ(judged().verdict, CanaryVerdict::reject);
    EXPECT_EQ(judged().reasons.at(0).kind, "tail");
    set(metric, LatencyOutcome::regress, 0.012, 0.03, 0.04);
    EXPECT_EQ(judged().verdict, CanaryVerdict::hold);
    set(metric, LatencyOutcome::pass, -1, 0, 0.001);
  }
}

TEST_F(CanaryLatencyTest, ACallOfAnEarlierGateWithoutItsReadingIsHeld) {
  latency.result.cases[0].pairs[0] = {LatencyOutcome::regress, {}, false, "called so by an earlier gate"};
  EXPECT_THAT(grave(judged()), ElementsAre("slower: slower beyond doubt; called so by an earlier gate"));
}

TEST_F(CanaryLatencyTest, UndecidedIsHeldUnlessItIsNotSlower) {
  set(LatencyMetric::p50, LatencyOutcome::inconclusive, -0.01, 0.01, 0.03);
  EXPECT_THAT(grave(judged()), ElementsAre(HasSubstr("unknown: inconclusive, p50")));
  EXPECT_THAT(grave(judged(true)), ElementsAre(HasSubstr("the time for latency was up")));
  set(LatencyMetric::p50, LatencyOutcome::inconclusive, -0.2, -0.1, -0.05);
  EXPECT_EQ(judged().verdict, CanaryVerdict::promote) << "whether it is faster need not be known";
  latency.result.cases[0].pairs[0] = {LatencyOutcome::inconclusive, {}, false, ""};
  EXPECT_THAT(grave(judged(true)), ElementsAre(HasSubstr("no look was had")));
}

TEST_F(CanaryLatencyTest, UndecidedWhoseWholeIntervalWouldRejectIsHeldForThat) {
  set(LatencyMetric::p50, LatencyOutcome::inconclusive, std::log(1.26), std::log(1.3), std::log(1.34));
  EXPECT_THAT(grave(judged(true)), ElementsAre(HasSubstr("slower: inconclusive, p50 +30.00 %")));
  set(LatencyMetric::p50, LatencyOutcome::pass, -1, 0, 0.01);
  set(LatencyMetric::tail, LatencyOutcome::inconclusive, 0.021, 0.03, 0.04);
  EXPECT_THAT(grave(judged(true)), ElementsAre(HasSubstr("tail: inconclusive")));
}

// Cut off between two looks: all that keeps a pair below its margin open, and is no hope that it is faster.
TEST_F(CanaryLatencyTest, WhatMayBeSlowerOrWasToBeConfirmedIsHeldThoughBelowItsMargin) {
  PairResult& pair = latency.result.cases[0].pairs[0];
  const PairResult below{
      LatencyOutcome::inconclusive,
      {.blocks = 4, .estimate = 0.2, .interval = {0.19, 0.21}, .upper = 0.21, .p_slower = 1e-10, .p_faster = 1},
      false,
      ""};
  latency.result.cases[0].margins[0].margin = std::log(1.25);  // of a class that nobody has calibrated
  for (const bool confirmed : {false, true}) {
    pair = below;
    pair.confirmed = confirmed;
    EXPECT_EQ(judged(true).verdict, CanaryVerdict::hold) << "22 % slower beyond doubt";
    EXPECT_THAT(grave(judged(true)), ElementsAre(HasSubstr("slower perhaps (p 1e-10 that it is not)")));
    pair.reading.p_slower = kSuspicion;
    EXPECT_EQ(judged(true).verdict, CanaryVerdict::promote) << "faster perhaps";
    pair.needs_fresh = true;
    EXPECT_EQ(judged(true).verdict, confirmed ? CanaryVerdict::promote : CanaryVerdict::hold) << "its plan changed";
  }
  pair.confirmed = false;
  EXPECT_THAT(grave(judged(true)), ElementsAre(HasSubstr("fresh blocks were to confirm it")));
}

TEST_F(CanaryLatencyTest, AQuantileWithoutABlockIsHeldWhereItsMedianHadSome) {
  latency.result.cases[0].pairs[1] = {LatencyOutcome::inconclusive, {}, false, ""};
  EXPECT_THAT(grave(judged()), ElementsAre(HasSubstr("unknown: inconclusive, no look was had")));
}

TEST_F(CanaryLatencyTest, ByHowMuchWhatPassesMayHaveGrownIsToldWhereNotEveryChangeShows) {
  const std::string& id = latency.result.cases[0].id;
  for (const auto& [metric, upper, told] :
       {std::tuple{LatencyMetric::p50, std::log(1.08), "p50 that may have grown by most"},
        {LatencyMetric::p90, std::log(1.09), "p90 that"},
        {LatencyMetric::tail, 0.051, "tail that"},
        {LatencyMetric::stall, 0.021, "stall that"}}) {
    Margin& margin = latency.result.cases[0].margins[static_cast<size_t>(metric)];
    set(metric, LatencyOutcome::pass, -0.01, 0.01, upper);
    EXPECT_THAT(judged().reasons, IsEmpty());
    margin.blind = true;
    const CanaryResult result = judged();
    EXPECT_EQ(result.verdict, CanaryVerdict::promote);
    EXPECT_THAT(result.reasons.at(0).text,
                AllOf(HasSubstr(told), HasSubstr(id + ", by " + change_text(metric, upper) + " at most")));
    margin.blind = false;
  }
}

// A machine on which a calibration shows what it cannot see is asked no less than one that nobody knows.
TEST_F(CanaryLatencyTest, NoMarginIsWiderThanWhatRejects) {
  const double slower = std::log1p(kCanaryPolicy.slower), tail = kCanaryPolicy.tail;
  GatedCase noisy{.id = "a warm", .latency_class = "cpu/warm/below-50us"};
  const double margins[] = {0.03, 0.4, 0.044, 0.01};
  for (size_t i = 0; i < noisy.margins.size(); ++i)
    noisy.margins[i] = {.gates = true, .margin = margins[i], .blind = true, .note = "too noisy"};
  const GatedCase known = with_canary_margins(noisy, true, kCanaryPolicy);
  EXPECT_EQ(known.margins[0].margin, 0.03);
  EXPECT_EQ(known.margins[0].note, "too noisy");
  EXPECT_DOUBLE_EQ(known.margins[1].margin, slower);
  EXPECT_DOUBLE_EQ(known.margins[2].margin, tail);
  EXPECT_DOUBLE_EQ(known.margins[3].margin, 0.01);
  EXPECT_THAT(known.margins[2].note, HasSubstr("a canary's " + change_text(LatencyMetric::tail, tail)));

  GatedCase unknown{.id = "a warm", .latency_class = "cpu/warm/below-50us"};
  unknown.margins[0].gates = true;
  const GatedCase asked = with_canary_margins(unknown, false, kCanaryPolicy);
  EXPECT_DOUBLE_EQ(asked.margins[0].margin, slower);
  EXPECT_FALSE(asked.margins[0].unproven);
  EXPECT_TRUE(asked.margins[1].gates && asked.margins[1].unproven);
  EXPECT_TRUE(asked.margins[2].gates && asked.margins[2].unproven);
  EXPECT_TRUE(asked.margins[3].gates && asked.margins[3].unproven);
  EXPECT_DOUBLE_EQ(asked.margins[2].margin, tail);
  unknown.latency_class = "cpu/cold/below-50us";
  EXPECT_FALSE(with_canary_margins(unknown, false, kCanaryPolicy).margins[2].gates);
}

TEST_F(CanaryLatencyTest, AnUndecidedTailOfAClassNobodyCalibratedIsNotKnown) {
  latency.result.cases[0].margins[2].blind = true;
  set(LatencyMetric::tail, LatencyOutcome::inconclusive, -0.01, 0.01, 0.04);
  const CanaryResult result = judged();
  EXPECT_EQ(result.verdict, CanaryVerdict::promote);
  EXPECT_THAT(result.reasons.at(0).text, HasSubstr("1 quantiles and tails of 1 timed cases are not gated"));
  set(LatencyMetric::tail, LatencyOutcome::inconclusive, 0.01, 0.03, 0.05);
  EXPECT_EQ(judged().verdict, CanaryVerdict::hold) << "it seems to be more than 2 points";
}

TEST_F(CanaryLatencyTest, ADisturbedMachineMakesItInvalidUnlessItIsRejectedAnyway) {
  latency.result.cases[0].pairs[0] = {LatencyOutcome::invalid, {}, false, "too many of its blocks were void"};
  EXPECT_EQ(judged().verdict, CanaryVerdict::invalid);
  CanaryEvidence evidence = same_on_both();
  evidence.latency = latency;
  evidence.candidate.records = {failed("accuracy")};
  EXPECT_EQ(judge_canary(evidence, kCanaryPolicy).verdict, CanaryVerdict::reject);
  latency = {};
  latency.invalid = "the environment is not pinned";
  EXPECT_EQ(judged().verdict, CanaryVerdict::invalid);
}

TEST_F(CanaryLatencyTest, VoidsOfOneArmAloneAreHeld) {
  latency.result.findings = {{"voids", "9 blocks were void by 'slowdown' of the change's processes alone"}};
  EXPECT_EQ(judged().verdict, CanaryVerdict::hold);
}

TEST_F(CanaryLatencyTest, ACorrectCaseThatCouldNotBeTimedIsUnknown) {
  latency.compared.left_out = {{kCanaryCase, "of the change: crashed"}};
  EXPECT_THAT(grave(judged()), ElementsAre(HasSubstr("correct, and has no latency: of the change: crashed")));
  latency.compared.left_out = {{"gemm/lib:m=9,n=9,k=9,dtype=f32", "is wrong: no latency of it counts"}};
  EXPECT_EQ(judged().verdict, CanaryVerdict::promote) << "it is said elsewhere that it is wrong";
}

TEST_F(CanaryLatencyTest, NothingTimedIsSaid) {
  latency = {};
  EXPECT_EQ(judged().verdict, CanaryVerdict::promote);
  EXPECT_THAT(judged().reasons.at(0).text, HasSubstr("no case of these is timed"));
}

TEST_F(CanaryLatencyTest, AFirstCallThatIsAQuarterLongerBeyondDoubtIsHeld) {
  const std::vector<double> pin{100, 101, 102, 103, 104, 105, 106, 107};
  std::vector<double> candidate;
  for (const double us : pin) candidate.push_back(2 * us);
  first_calls = {compare_first_calls(kCanaryCase, pin, candidate)};
  EXPECT_THAT(grave(judged()), ElementsAre(HasSubstr("first-call: the first call takes 2.00 times as long")));
  first_calls = {compare_first_calls(kCanaryCase, pin, pin)};
  EXPECT_EQ(judged().verdict, CanaryVerdict::promote);
}

// Mann-Whitney critical values: of 4 and 4 values U <= 0 has 1 in 70, of 8 and 8 U <= 13 is the most below 2.5 %
// (Hollander, Wolfe and Chicken, table A.6).
TEST(FirstCall, TheIntervalIsThatOfTheTables) {
  std::vector<double> ones(4, 1), steps{1, 2, 3, 4};
  const FirstCall four = compare_first_calls("x", ones, steps);
  EXPECT_NEAR(four.low, 1, 1e-12);   // the smallest of the shifts
  EXPECT_NEAR(four.high, 4, 1e-12);  // the greatest
  std::vector<double> a, b;
  for (int i = 0; i < 8; ++i) a.push_back(std::exp(i));
  for (int i = 0; i < 8; ++i) b.push_back(std::exp(8 * i));
  // The shifts are 8 i - j, -7 to 56, each once: the 14th from either end.
  const FirstCall eight = compare_first_calls("x", a, b);
  EXPECT_NEAR(std::log(eight.low), 6, 1e-9);
  EXPECT_NEAR(std::log(eight.high), 43, 1e-9);
  EXPECT_NEAR(std::log(eight.ratio), 24.5, 1e-9) << "their median, which the interval always holds";
}

TEST(FirstCall, TooFewProcessesHaveNoInterval) {
  const std::vector<double> three{1, 2, 3};
  const FirstCall call = compare_first_calls("x", three, three);
  EXPECT_EQ(call.ratio, 1);
  EXPECT_TRUE(std::isnan(call.low));
  EXPECT_TRUE(std::isnan(call.high));
  EXPECT_THAT(first_call_reasons({compare_first_calls("x", three, std::vector<double>{100, 200, 300})}, kCanaryPolicy),
              IsEmpty());
}

TEST(FirstCall, AClockThatDidNotTickMeasuredNothing) {
  const std::vector<double> ones(8, 1), zeros(8, 0);
  std::vector<double> once = ones;
  once.front() = 0;
  for (const auto& [pin, candidate] : {std::pair{zeros, ones}, {ones, zeros}, {zeros, zeros}}) {
    const FirstCall call = compare_first_calls("x", pin, candidate);
    EXPECT_TRUE(std::isnan(call.ratio)) << call.ratio;
    EXPECT_TRUE(std::isnan(call.low) && std::isnan(call.high));
  }
  const FirstCall call = compare_first_calls("x", once, ones);
  EXPECT_TRUE(std::isnan(call.ratio) && std::isnan(call.low) && std::isnan(call.high));
}

TEST(WhyNoLatency, SaysWhatWasAskedAndWhatWasMeasured) {
  CanaryEvidence evidence = same_on_both();
  const auto note = [&] { return judge_canary(evidence, kCanaryPolicy).reasons.back().text; };
  EXPECT_EQ(why_no_latency(evidence), "it was not asked for");
  EXPECT_EQ(note(), "no latency was measured: it was not asked for");
  evidence.latency_asked = true;
  evidence.planned.clear();
  evidence.not_as_asked = {"candidate: cannot be loaded: as planted"};
  EXPECT_EQ(why_no_latency(evidence), "nothing ran, since the sides are not what was asked for");
  EXPECT_EQ(note(), "no latency was measured: nothing ran, since the sides are not what was asked for");
  EXPECT_THAT(grave(judge_canary(evidence, kCanaryPolicy)),
              ElementsAre("arms: candidate: cannot be loaded: as planted"));
  evidence.same_bytes = true;
  EXPECT_THAT(why_no_latency(evidence), HasSubstr("the same files, byte for byte"));
  evidence.same_bytes = false;
  evidence.latency.emplace();
  EXPECT_EQ(why_no_latency(evidence), "no case of these is timed");
  evidence.latency->result.cases.emplace_back();
  EXPECT_EQ(why_no_latency(evidence), "no block of it was measured");
  evidence.latency->blocks = 4;
  EXPECT_EQ(why_no_latency(evidence), "");
  evidence.latency->invalid = "as planted";
  EXPECT_EQ(why_no_latency(evidence), "as planted");
}

}  // namespace
}  // namespace assay
