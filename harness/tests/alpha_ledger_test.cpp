// The ledger of one base and change: what one gate leaves for the next, and what it refuses to read.
#include "gate/alpha_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "latency_gate_driver.h"
#include "record/json_text.h"
#include "scratch.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(AlphaLedger, WhatWasCalledStaysSoAndIsNotMeasuredAgain) {
  Driver first({gated("a"), gated("b")});
  first.run([](size_t c, int64_t block) { return around(c == 1 ? 0.05 : 0, block); });
  Driver second({gated("a"), gated("b")}, first.gate.ledger());
  EXPECT_THAT(second.gate.wanted(), ElementsAre(0));
  const LatencyResult result = second.run(all_around(0));
  EXPECT_EQ(result.exit_code, 1);
  const PairResult& again = result.cases[1].pairs[kP50];
  EXPECT_THAT(again.reason, AllOf(HasSubstr("by an earlier gate of this base and change"), HasSubstr("+5.13 %")));
  EXPECT_EQ(again.reading, first.gate.result().cases[1].pairs[kP50].reading) << "with what it was called by";
  EXPECT_EQ(second.gate.ledger().regressed.size(), 1u);
  EXPECT_EQ(second.gate.ledger().gates, 2);
  // Nor by leaving it out.
  Driver without({gated("a")}, first.gate.ledger());
  const LatencyResult left_out = without.run(all_around(0));
  EXPECT_EQ(left_out.exit_code, 1);
  ASSERT_EQ(left_out.findings.size(), 1u);
  EXPECT_THAT(left_out.findings[0].text, HasSubstr("b p50: called slower by an earlier gate"));
  EXPECT_EQ(without.gate.ledger().regressed.size(), 1u);
}

TEST(AlphaLedger, WhatWasOpenIsConfirmedAndPassesAtHalfTheError) {
  AlphaLedger ledger{.gates = 1, .spent = 0.005, .open = {{{"a", LatencyMetric::p50}, 1}}};
  Driver driver({gated("a"), gated("b")}, ledger);
  const LatencyResult result = driver.run(all_around(0));
  EXPECT_EQ(driver.blocks, 24) << "no screen lets it pass";
  EXPECT_TRUE(result.cases[0].pairs[kP50].needs_fresh);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.cases[1].blocks, 4);
  EXPECT_THAT(driver.gate.ledger().open, IsEmpty()) << "it passed";
  EXPECT_NEAR(driver.gate.ledger().spent, 0.005 + 0.2 * 0.0025, 1e-12) << "one look's share of half of what was left";
  // Deltas of which all but a few lie below the margin: enough at 95 %, not at 97.5 %.
  const auto upper_at = [](int64_t earlier) {
    AlphaLedger of;
    if (earlier > 0) of.open = {{{"a", LatencyMetric::p50}, earlier}};
    Driver again({gated("a")}, of);
    const LatencyResult told = again.run(all_around(0.012, 0.15));
    return told.cases[0].pairs[kP50].reading.upper;
  };
  EXPECT_LT(upper_at(0), upper_at(1));
  EXPECT_LT(upper_at(1), upper_at(2));
  EXPECT_EQ(upper_at(60), std::numeric_limits<double>::infinity()) << "an error of less than a double tells from none";
}

// A kernel that fails at times would pass the next time.
TEST(AlphaLedger, WhatFailedHasFailedAndWhatWasOpenStaysSo) {
  const AlphaLedger::Open open{{"a", LatencyMetric::p50}, 3};
  LatencyGate first(policy(), {gated("a"), gated("b")}, {.gates = 3, .open = {open}});
  const KernelFailure crash{"failed: SIGSEGV", false, true};
  first.add(std::vector<MeasuredCase>{{.index = 0, .failure = crash}, {.index = 1, .failure = crash}});
  const AlphaLedger ledger = first.ledger();
  EXPECT_THAT(ledger.open, ElementsAre(open));
  ASSERT_EQ(ledger.regressed.size(), 2u);
  EXPECT_EQ(ledger.regressed[0].failure, "while it was timed, the change alone: failed: SIGSEGV");

  Driver second({gated("a"), gated("c")}, ledger);
  EXPECT_THAT(second.gate.wanted(), ElementsAre(1));
  const LatencyResult result = second.run(all_around(0));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.cases[0].pairs[kP50].outcome, LatencyOutcome::failed);
  EXPECT_THAT(result.cases[0].pairs[kP50].reason,
              AllOf(HasSubstr("by an earlier gate of this base and change"), HasSubstr("failed: SIGSEGV")));
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_THAT(result.findings[0].text, HasSubstr("b p50: called failed by an earlier gate"));
  EXPECT_EQ(second.gate.ledger().regressed, ledger.regressed);
}

TEST(AlphaLedger, ReadsBackAndRefusesAnotherPairs) {
  const AlphaLedger ledger{.base = "1a2b",
                           .change = "3c4d",
                           .gates = 2,
                           .last_seed = ~uint64_t{0},
                           .spent = 0.0061,
                           .regressed = {{{"a", LatencyMetric::tail}, {12, 0.1, {0.05, 0.2}, 0.15, 0.001, 1}},
                                         {{"c", LatencyMetric::p50}, {}},
                                         {{"d", LatencyMetric::p50}, {}, "failed: SIGSEGV"}},
                           .open = {{{"b", LatencyMetric::p90}, 1}}};
  const nlohmann::json json = parse_json(print_json(to_json(ledger)));
  EXPECT_EQ(ledger_from_json(json, "1a2b", "3c4d"), ledger);
  EXPECT_THAT(message_of([&] { ledger_from_json(json, "1a2b", "ffff"); }),
              HasSubstr("change: '3c4d', but this gate is of 'ffff'"));
  EXPECT_THAT(message_of([&] { ledger_from_json(json, "0000", "3c4d"); }), HasSubstr("base: '1a2b'"));
  const auto refusal = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json spoilt = json;
    spoilt[key] = value;
    return message_of([&] { ledger_from_json(spoilt, "1a2b", "3c4d"); });
  };
  EXPECT_THAT(refusal("spent", -1), HasSubstr("spent: not a number from 0 to 1"));
  EXPECT_THAT(refusal("spent", "nan"), HasSubstr("spent"));
  EXPECT_THAT(refusal("gates", "two"), HasSubstr("gates"));
  EXPECT_THAT(refusal("regressed", nlohmann::json::array({{{"case", "a"}, {"metric", "p99"}}})), HasSubstr("p99"));
  EXPECT_THAT(refusal("open", nlohmann::json::array({{{"case", "a"}, {"metric", "p50"}, {"gates", -1}}})),
              HasSubstr("gates"));
}

TEST(AlphaLedger, AnEmptyBudgetCallsNothing) {
  Driver driver({gated("a")}, {.spent = 0.01});
  EXPECT_EQ(driver.run(all_around(0.05)).exit_code, 2) << "it cannot be called, and it does not pass";
}

}  // namespace
}  // namespace assay
