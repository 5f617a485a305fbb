// gate/latency_gate: its states, on blocks made by hand. How often it errs: latency_worlds_test.cpp.
#include "gate/latency_gate.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/error.h"
#include "latency_gate_driver.h"
#include "scratch.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(LatencyGate, WhatDidNotMovePassesTheScreen) {
  Driver driver({gated("a"), gated("b")});
  const LatencyResult result = driver.run(all_around(0));
  EXPECT_EQ(driver.blocks, 4);
  EXPECT_EQ(result.exit_code, 0);
  for (const CaseResult& c : result.cases) {
    EXPECT_EQ(c.pairs[kP50].outcome, LatencyOutcome::pass);
    EXPECT_FALSE(c.pairs[kP50].confirmed);
    EXPECT_EQ(c.pairs[kP90].outcome, LatencyOutcome::not_gated);
    EXPECT_EQ(c.blocks, 4);
    EXPECT_THAT(c.pairs[kP50].reason, AllOf(HasSubstr("in 4 blocks"), HasSubstr("below +2.02 %")));
  }
  EXPECT_EQ(driver.gate.ledger().spent, 0) << "no test was made that could have called anything";
  EXPECT_THAT(driver.gate.ledger().open, IsEmpty());
}

TEST(LatencyGate, WhatIsSlowerIsCalledOnFreshBlocksAndTheOthersAreNotMeasuredFurther) {
  Driver driver({gated("a"), gated("slow"), gated("c")});
  const LatencyResult result = driver.run([](size_t c, int64_t block) { return around(c == 1 ? 0.05 : 0, block); });
  EXPECT_EQ(driver.blocks, 4 + 8 + 12) << "the screens, then the first look";
  EXPECT_EQ(result.exit_code, 1);
  const PairResult& slow = result.cases[1].pairs[kP50];
  EXPECT_EQ(slow.outcome, LatencyOutcome::regress);
  EXPECT_TRUE(slow.confirmed);
  EXPECT_EQ(slow.reading.blocks, 12);
  EXPECT_NEAR(slow.reading.estimate, 0.05, 0.001);
  EXPECT_NEAR(slow.reading.p_slower, std::exp2(-12), 1e-12);
  EXPECT_THAT(slow.reason, AllOf(HasSubstr("+5.13 %"), HasSubstr("more than +0.30 %"), HasSubstr("p 0.0002")));
  EXPECT_EQ(result.cases[0].blocks, 4);
  EXPECT_EQ(result.cases[0].pairs[kP50].outcome, LatencyOutcome::pass);
  EXPECT_THAT(driver.gate.ledger().regressed,
              ElementsAre(AlphaLedger::Called{LatencyPair{"slow", LatencyMetric::p50}, slow.reading}));
}

TEST(LatencyGate, WhatTheCallerSuspectsPassesOnFreshBlocksAlone) {
  GatedCase suspect = gated("a");
  suspect.is_suspect = true;
  Driver driver({suspect, gated("b")});
  const LatencyResult result = driver.run(all_around(0));
  for (const CaseResult& c : result.cases) EXPECT_EQ(c.pairs[kP50].outcome, LatencyOutcome::pass);
  EXPECT_TRUE(result.cases[0].pairs[kP50].confirmed);
  EXPECT_FALSE(result.cases[1].pairs[kP50].confirmed);
  EXPECT_TRUE(result.cases[0].pairs[kP50].needs_fresh) << "which tells whoever reads a gate that was cut off";
  EXPECT_FALSE(result.cases[1].pairs[kP50].needs_fresh);
  EXPECT_GT(result.cases[0].blocks, result.cases[1].blocks);
}

// The blocks that raised the suspicion are no part of the evidence: what was slow in the screen alone passes.
TEST(LatencyGate, WhatWasSlowInTheScreenAlonePasses) {
  Driver driver({gated("a")});
  const LatencyResult result = driver.run([](size_t, int64_t block) { return around(block < 12 ? 0.05 : 0, block); });
  EXPECT_EQ(driver.blocks, 24);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.cases[0].pairs[kP50].confirmed);
  EXPECT_NEAR(result.cases[0].pairs[kP50].reading.estimate, 0, 0.001);
}

TEST(LatencyGate, WhatIsFasterIsToldAndFailsNothing) {
  Driver driver({gated("fast"), gated("b")});
  const LatencyResult result = driver.run([](size_t c, int64_t block) { return around(c == 0 ? -0.05 : 0, block); });
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.cases[0].pairs[kP50].outcome, LatencyOutcome::improved);
  EXPECT_TRUE(result.cases[0].pairs[kP50].confirmed);
  EXPECT_THAT(result.cases[0].pairs[kP50].reason, HasSubstr("less than -0.30 %"));
  EXPECT_NEAR(driver.gate.ledger().spent, 0.2 * 0.005, 1e-12) << "on fresh blocks it could have been called slower";
}

// On fresh blocks what seemed faster may turn out slower, and it is remembered like all that was not decided.
TEST(LatencyGate, WhatWasFasterInTheScreenAloneIsCalledOrKeptInTheLedger) {
  const auto then = [](double centre, double spread) {
    return [=](size_t, int64_t block) { return block < 12 ? around(-0.05, block) : around(centre, block, spread); };
  };
  EXPECT_EQ(Driver({gated("a")}).run(then(0.05, 0.001)).exit_code, 1);
  Driver doubtful({gated("a")});
  EXPECT_EQ(doubtful.run(then(0.012, 0.15)).exit_code, 2);
  EXPECT_THAT(doubtful.gate.ledger().open, ElementsAre(AlphaLedger::Open{{"a", LatencyMetric::p50}, 1}));
}

// Moved, beyond doubt, by less than the least that counts; and not surely below the margin until it has many blocks.
TEST(LatencyGate, WhatMovedByLessThanCountsPasses) {
  EXPECT_EQ(Driver({gated("a")}).run(all_around(0.0025)).exit_code, 0);
  Driver noisy({gated("a")});
  const LatencyResult result = noisy.run(all_around(0, 0.06));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_GT(noisy.blocks, 12);
}

TEST(LatencyGate, WhatStaysInDoubtIsInconclusive) {
  Driver driver({gated("a")});
  const LatencyResult result = driver.run(all_around(0.012, 0.15));
  EXPECT_EQ(driver.blocks, 12 + policy().looks.back()) << "every look was tried";
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.cases[0].pairs[kP50].outcome, LatencyOutcome::inconclusive);
  EXPECT_THAT(result.cases[0].pairs[kP50].reason, HasSubstr("neither below +2.02 % nor, beyond doubt, above +0.30 %"));
  const AlphaLedger ledger = driver.gate.ledger();
  EXPECT_NEAR(ledger.spent, policy().alpha / 2, 1e-12);
  ASSERT_EQ(ledger.open.size(), 1u);
  EXPECT_EQ(ledger.open[0], (AlphaLedger::Open{{"a", LatencyMetric::p50}, 1}));
}

TEST(LatencyGate, AGateThatWasStoppedIsInconclusiveAndItsLedgerSaysWhatWasOpen) {
  Driver driver({gated("a"), gated("b")});
  for (int i = 0; i < 14; ++i) driver.step([](size_t c, int64_t block) { return around(c == 1 ? 0.05 : 0, block); });
  const LatencyResult result = driver.gate.result();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.cases[0].pairs[kP50].outcome, LatencyOutcome::pass);
  EXPECT_EQ(result.cases[1].pairs[kP50].reason, "the gate did not end");
  EXPECT_EQ(driver.gate.ledger().gates, 1);
  EXPECT_EQ(driver.gate.ledger().open.at(0).pair.case_id, "b");
}

TEST(LatencyGate, EveryMetricGatesByItself) {
  LatencyGate gate(policy(), {with_tail(gated("a"))}, {});
  const LatencyResult result = run_latency_gate(gate, [&, block = int64_t{0}](const std::vector<size_t>&) mutable {
    ++block;
    return std::vector<MeasuredCase>{{.index = 0, .deltas = {around(0, block), 0, around(0.02, block)}}};
  });
  EXPECT_EQ(result.cases[0].pairs[kP50].outcome, LatencyOutcome::pass);
  EXPECT_EQ(result.cases[0].pairs[kTail].outcome, LatencyOutcome::regress);
  EXPECT_EQ(worst_outcome(result.cases[0]), LatencyOutcome::regress);
  EXPECT_THAT(result.cases[0].pairs[kTail].reason, HasSubstr("+2.00 points"));
  EXPECT_EQ(result.exit_code, 1);
}

TEST(LatencyGate, VoidBlocksCountForNothingAndTooManyMakeACaseInvalid) {
  const auto steal = [](size_t) { return std::optional<VoidBlock>{{.why = "steal"}}; };
  {
    Driver one({gated("a")});
    one.step(all_around(9), steal);
    const LatencyResult result = one.run(all_around(0));
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(one.blocks, 5) << "one of five is no more than a quarter";
    EXPECT_EQ(result.cases[0].voids, 1);
  }
  {
    Driver two({gated("a")});
    for (int i = 0; i < 2; ++i) two.step(all_around(9), steal);
    EXPECT_EQ(two.run(all_around(0)).exit_code, 0);
    EXPECT_EQ(two.blocks, 8) << "two of six are more than a quarter, of eight not";
  }
  const auto burst_on_a = [&](int64_t blocks) {
    Driver burst({gated("a"), gated("b")});
    const auto only_a = [&](size_t c) { return c == 0 ? steal(c) : std::nullopt; };
    for (int64_t i = 0; i < blocks; ++i) burst.step(all_around(0), only_a);
    return std::pair{burst.run(all_around(0)), burst.blocks};
  };
  const int64_t most = policy().void_blocks / 4;
  {
    const auto [result, blocks] = burst_on_a(most);
    EXPECT_EQ(result.exit_code, 0) << "a burst is waited out";
    EXPECT_EQ(blocks, 4 * most) << "until it is no more than a quarter";
  }
  const auto [result, blocks] = burst_on_a(most + 1);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.cases[0].pairs[kP50].outcome, LatencyOutcome::invalid);
  EXPECT_THAT(result.cases[0].pairs[kP50].reason, HasSubstr(fmt::format("0 were not: steal ({})", most + 1)));
  EXPECT_EQ(result.cases[1].pairs[kP50].outcome, LatencyOutcome::pass);
  EXPECT_EQ(blocks, most + 1);
}

// A change so much slower that its processes have too few samples for a tail is slower all the same.
TEST(LatencyGate, ABlockWithoutAMetricIsVoidForThatMetricAlone) {
  LatencyGate gate(policy(), {with_tail(gated("a"))}, {});
  const LatencyResult result = run_latency_gate(gate, [&, block = int64_t{0}](const std::vector<size_t>&) mutable {
    return std::vector<MeasuredCase>{{.index = 0, .deltas = {around(0.6, ++block), NAN, NAN}}};
  });
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.cases[0].pairs[kP50].outcome, LatencyOutcome::regress);
  EXPECT_EQ(result.cases[0].pairs[kTail].outcome, LatencyOutcome::invalid);
  EXPECT_EQ(result.cases[0].pairs[kTail].reason, "too many of its blocks had no tail: 7 of 7");
  EXPECT_EQ(result.cases[0].voids, 0);
  LatencyGate without(policy(), {gated("a")}, {});
  EXPECT_EQ(run_latency_gate(without,
                             [](const std::vector<size_t>&) {
                               return std::vector<MeasuredCase>{{.index = 0, .deltas = {0, NAN, NAN}}};
                             })
                .exit_code,
            0)
      << "p90 and tail do not gate there";
}

TEST(LatencyGate, AMetricThatNobodyHasSeenOfACaseIsNotGatedWhereItsBlocksLackIt) {
  GatedCase unknown = with_tail(gated("a"));
  unknown.margins[kTail].unproven = true;
  LatencyGate gate(policy(), {unknown}, {});
  const LatencyResult result = run_latency_gate(gate, [&](const std::vector<size_t>&) {
    return std::vector<MeasuredCase>{{.index = 0, .deltas = {0, 0, NAN}}};
  });
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.cases[0].pairs[kTail].outcome, LatencyOutcome::not_gated);
  EXPECT_EQ(result.cases[0].pairs[kTail].reason, "not gated: too many of its blocks had no tail: 7 of 7");
}

TEST(LatencyGate, WhatAFewBlocksLackIsMadeUpForByOthers) {
  LatencyGate gate(policy(), {with_tail(gated("a"))}, {});
  int64_t blocks = 0;
  const LatencyResult result = run_latency_gate(gate, [&](const std::vector<size_t>&) {
    ++blocks;
    return std::vector<MeasuredCase>{{.index = 0, .deltas = {around(0, blocks), 0, blocks == 2 ? NAN : 0}}};
  });
  EXPECT_EQ(blocks, 5);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.cases[0].pairs[kTail].reading.blocks, 4);
}

// However few there were of all when it lacked them.
TEST(LatencyGate, BlocksThatLackAMetricAtFirstAreMadeUpForToo) {
  LatencyGate gate(policy(), {with_tail(gated("a"))}, {});
  int64_t blocks = 0;
  const LatencyResult result = run_latency_gate(gate, [&](const std::vector<size_t>&) {
    ++blocks;
    return std::vector<MeasuredCase>{{.index = 0, .deltas = {around(0, blocks), 0, blocks <= 3 ? NAN : 0}}};
  });
  EXPECT_EQ(blocks, 12) << "until those are no more than a quarter";
  EXPECT_EQ(result.exit_code, 0);
}

// Whatever else is said of it, and however seldom it fails.
TEST(LatencyGate, AKernelThatFailsInTheChangeFails) {
  const auto result_of = [](std::vector<std::pair<int64_t, KernelFailure>> failures) {
    LatencyGate gate(policy(), {gated("a"), gated("b")}, {});
    int64_t blocks = 0;
    return run_latency_gate(gate, [&](const std::vector<size_t>& wanted) {
      std::vector<MeasuredCase> measured;
      for (const size_t c : wanted) {
        measured.push_back({.index = c, .deltas = {around(0, blocks), 0, 0}});
        for (const auto& [block, failure] : failures) {
          if (c == 0 && block == blocks) measured.back().failure = failure;
        }
      }
      ++blocks;
      return measured;
    });
  };
  const KernelFailure of_base{"failed: SIGSEGV", true, false}, of_change{"failed: SIGSEGV", false, true};
  const LatencyResult once = result_of({{3, of_change}});
  EXPECT_EQ(once.exit_code, 1);
  EXPECT_EQ(once.cases[0].pairs[kP50].outcome, LatencyOutcome::failed);
  EXPECT_EQ(once.cases[0].pairs[kP50].reason, "while it was timed, the change alone: failed: SIGSEGV");
  EXPECT_EQ(once.cases[1].pairs[kP50].outcome, LatencyOutcome::pass);
  const LatencyResult both = result_of({{1, of_base}, {3, of_change}});
  EXPECT_EQ(both.exit_code, 3);
  EXPECT_EQ(both.cases[0].pairs[kP50].reason, "while it was timed, in both arms: failed: SIGSEGV");
  EXPECT_EQ(result_of({{1, {"failed: SIGSEGV", true, true}}}).exit_code, 3);
  const LatencyResult base = result_of({{1, of_base}});
  EXPECT_EQ(base.exit_code, 0) << "the change mends what the base does at times";
  EXPECT_EQ(base.cases[0].voids, 1);
  std::vector<std::pair<int64_t, KernelFailure>> always;
  for (int64_t block = 0; block < 100; ++block) always.emplace_back(block, of_base);
  const LatencyResult never = result_of(always);
  EXPECT_EQ(never.exit_code, 3) << "nothing to compare it with";
  EXPECT_EQ(never.cases[0].pairs[kP50].reason, "the base gave no sample in the first 4 blocks: it failed: SIGSEGV");
  EXPECT_EQ(never.cases[0].voids, 4) << "and nothing is waited for";
  always.erase(always.begin());
  EXPECT_THAT(result_of(always).cases[0].pairs[kP50].reason, HasSubstr("the base failed: SIGSEGV (25)"));
}

TEST(LatencyGate, TheGravestOutcomeIsTheExitCode) {
  Driver driver({gated("invalid"), gated("slow")});
  const auto void_first = [](size_t c) { return c == 0 ? std::optional<VoidBlock>{{.why = "steal"}} : std::nullopt; };
  const int64_t too_many = policy().void_blocks / 4 + 1;
  for (int64_t i = 0; i < too_many; ++i) driver.step(all_around(0.05), void_first);
  const LatencyResult grave = driver.run(all_around(0.05));
  EXPECT_EQ(grave.exit_code, 1) << "a regression goes before an invalid case";
  EXPECT_THAT(grave.void_blocks, ElementsAre(Pair("steal", too_many))) << "of one case, in the blocks of both";
  Driver doubtful({gated("invalid"), gated("doubt")});
  for (int64_t i = 0; i < too_many; ++i) doubtful.step(all_around(0.012, 0.15), void_first);
  EXPECT_EQ(doubtful.run(all_around(0.012, 0.15)).exit_code, 3) << "and that before an inconclusive one";
}

// What throttles the machine voids its own blocks.
TEST(LatencyGate, VoidsOfOneArmAreAFinding) {
  const auto result_of = [](int of_change, int of_base) {
    Driver driver({gated("a")});
    int voids = 0;
    const auto every_eighth = [&](size_t) -> std::optional<VoidBlock> {
      if (driver.blocks % 8 != 7 || voids == of_change + of_base) return std::nullopt;
      return VoidBlock{.why = "slowdown", .of_change = voids++ < of_change};
    };
    while (driver.step(all_around(0.012, 0.15), every_eighth)) {
    }
    EXPECT_EQ(voids, of_change + of_base);
    return driver.gate.result();
  };
  EXPECT_THAT(result_of(6, 6).findings, IsEmpty());
  EXPECT_THAT(result_of(10, 0).findings, IsEmpty()) << "p = 2 / 1024, above the level";
  const LatencyResult uneven = result_of(11, 0);
  ASSERT_EQ(uneven.findings.size(), 1u);
  EXPECT_EQ(uneven.findings[0].kind, "voids");
  EXPECT_EQ(uneven.exit_code, 2);
  EXPECT_THAT(uneven.findings[0].text,
              HasSubstr("11 blocks were void by 'slowdown' of the change's processes alone and 0"));
  EXPECT_THAT(uneven.void_blocks, ElementsAre(Pair("slowdown", 11)));
  EXPECT_EQ(result_of(0, 11).findings.size(), 1u) << "the base's too";
}

// One of the arms may cause it: then nothing is known of what else it does.
TEST(LatencyGate, VoidsOfOneArmLeaveAPassInDoubt) {
  const auto exit_of = [](bool of_change) {
    Driver driver({gated("a")});
    const auto one_arm = [&](size_t) -> std::optional<VoidBlock> {
      if (driver.blocks >= 11) return std::nullopt;
      return VoidBlock{.why = "sentinel", .of_change = of_change};
    };
    while (driver.step(all_around(0), one_arm)) {
    }
    return driver.gate.result().exit_code;
  };
  EXPECT_EQ(exit_of(true), 2);
  EXPECT_EQ(exit_of(false), 2);
}

TEST(LatencyGate, ABlockIsOfWhatIsWanted) {
  LatencyGate gate(policy(), {gated("a"), gated("b")}, {});
  EXPECT_THAT(gate.wanted(), ElementsAre(0, 1));
  const MeasuredCase a{.index = 0}, b{.index = 1};
  EXPECT_THROW(gate.add(std::vector<MeasuredCase>{a}), Error);
  EXPECT_THROW(gate.add(std::vector<MeasuredCase>{b, a}), Error);
  EXPECT_THROW(gate.add(std::vector<MeasuredCase>{}), Error);
  for (int i = 0; i < 4; ++i) gate.add(std::vector<MeasuredCase>{a, b});
  EXPECT_THAT(gate.wanted(), IsEmpty());
  EXPECT_THROW(gate.add(std::vector<MeasuredCase>{a, b}), Error) << "it is done";
}

TEST(LatencyGate, NoCaseAndTheSameCaseTwiceAreRefused) {
  EXPECT_THAT(message_of([] { LatencyGate(policy(), {}, {}); }), HasSubstr("no case to gate"));
  EXPECT_THAT(message_of([] {
                LatencyGate(policy(), {gated("a"), gated("a")}, {});
              }),
              HasSubstr("'a' is given to the gate twice"));
}

TEST(LatencyGate, TheSameBlocksGiveTheSameResult) {
  const auto run = [] {
    Driver driver({gated("a"), gated("b")});
    return driver.run([](size_t c, int64_t block) { return around(c == 1 ? 0.03 : 0, block, 0.02); });
  };
  const LatencyResult once = run(), again = run();
  for (size_t c = 0; c < once.cases.size(); ++c)
    EXPECT_EQ(once.cases[c].pairs[kP50].reason, again.cases[c].pairs[kP50].reason);
}

TEST(Holm, StepsDown) {
  EXPECT_THAT(holm_rejections(std::vector<double>{0.01, 0.04, 0.03, 0.005}, 0.05),
              ElementsAre(true, false, false, true))
      << "the example of Holm's paper's kind: 0.005 * 4, 0.01 * 3, then 0.03 * 2 is too much";
  EXPECT_THAT(holm_rejections(std::vector<double>{}, 0.05), IsEmpty());
  EXPECT_THAT(holm_rejections(std::vector<double>{0, 1}, 0), ElementsAre(true, false));
}

}  // namespace
}  // namespace assay
