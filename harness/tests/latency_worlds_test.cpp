// How often the latency gate errs, and what it finds, on made-up machines (latency_world.h): quiet, a cloud's, a harsh
// one. Each line that it prints is a measured rate with its 95 % interval. Procedures that look as good on the same
// machines: latency_rivals_test.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <random>

#include "gate/kill_table.h"
#include "latency_rates.h"
#include "measure/signed_rank.h"

namespace assay {
namespace {

const LatencyPolicy& policy() { return policy_of_the_tree(); }

// A one-sided 95 % bound lies below.
bool is_below(const Rate& rate, double most) { return upper_bound_of_rate(rate.seen, rate.of) < most; }

class InWorld : public ::testing::TestWithParam<World> {};
INSTANTIATE_TEST_SUITE_P(Latency, InWorld, every_world(), [](const auto& info) { return info.param.name; });

TEST_P(InWorld, UnchangedCodeIsCalledSlowerInFewerThanOneGateOfAHundred) {
  const Unchanged seen = unchanged_gates(GetParam(), 10, 200);
  std::cout << GetParam().name << ", seeds 1 to 10, gates of " << kCases << " cases: REGRESS " << text_of(seen.regress)
            << ", INCONCLUSIVE " << text_of(seen.inconclusive)
            << fmt::format(", {:.1f} blocks a case\n", seen.blocks_a_case);
  EXPECT_TRUE(is_below(seen.regress, 0.01));
  EXPECT_TRUE(is_below(seen.inconclusive, 0.02));
}

// Tails and stalls are held against the target where the calibration says that one point of either can be seen.
TEST_P(InWorld, KnownChangesAreFound) {
  for (const KnownChange& known : known_changes()) {
    Rate called, passed, called_where_tails_see;
    for (int seed = 101; seed <= 104; ++seed) {
      Machine machine(GetParam(), static_cast<uint64_t>(seed));
      const std::vector<GatedCase> gated = calibrated_cases(policy(), machine, kCases);
      KnownChange change = known;
      if (change.beyond_margin) change.shift += change_of(LatencyMetric::p50, gated[0].margins[0].margin);
      const Changed seen = changed_cases(machine, gated, change, 20);
      called += seen.called;
      passed += seen.passed;
      const auto sees = [&](LatencyMetric metric) { return !gated[0].margins[static_cast<size_t>(metric)].blind; };
      if (sees(LatencyMetric::tail) || sees(LatencyMetric::stall)) called_where_tails_see += seen.called;
    }
    std::cout << GetParam().name << ", seeds 101 to 104, " << known.name << ": called " << text_of(called)
              << ", passed " << text_of(passed);
    if (called_where_tails_see.of < called.of) {
      std::cout << "; called where a point of tail can be seen " << text_of(called_where_tails_see);
    }
    std::cout << "\n";
    if (known.beyond_margin) {
      EXPECT_GE(called.share(), 0.90);
    }
    if (known.share >= 0.02) {
      ASSERT_GT(called_where_tails_see.of, 0);
      EXPECT_GE(called_where_tails_see.share(), 0.95);
      EXPECT_LE(passed.share(), 0.10) << "what is not seen is not passed";
    }
  }
}

TEST(Latency, ThreeHundredCasesAreJudgedAsWell) {
  constexpr size_t kMany = 300;
  const Unchanged seen = unchanged_gates(cloud_world(), 3, 30, false, kMany);
  Machine machine(cloud_world(), 7);
  const Changed changed = changed_cases(machine, calibrated_cases(policy(), machine, kMany), known_changes()[2], 10);
  std::cout << "cloud, seeds 1 to 3 and 7, gates of 300 cases: REGRESS " << text_of(seen.regress) << ", INCONCLUSIVE "
            << text_of(seen.inconclusive) << ", +3 % called " << text_of(changed.called) << "\n";
  EXPECT_LE(seen.regress.seen, 2);
  EXPECT_LE(seen.inconclusive.seen, 4);
  EXPECT_GE(changed.called.share(), 0.95);
}

// A limit: a change that makes only some of its processes slower, these by 10 %, is seen by as many processes as meet
// it. What two in five meet is found. What one in five meets is 2 % on average, and passes often, since most blocks
// have none or one of those.
TEST(Latency, WhatFewProcessesMeetIsSeenByFew) {
  for (const uint64_t in_five : {1, 2}) {
    Machine machine(quiet_world(), 17);
    Draw draw(18);
    const std::vector<GatedCase> gated = calibrated_cases(policy(), machine, kCases);
    const MeasureBlock unchanged = blocks_of(machine, policy());
    Rate called, passed;
    for (int i = 0; i < 60; ++i) {
      LatencyGate gate(policy(), gated, {});
      const LatencyResult result = run_latency_gate(gate, [&](const std::vector<size_t>& cases) {
        std::vector<MeasuredCase> block = unchanged(cases);
        for (MeasuredCase& measured : block) {
          for (int process = 0; measured.index % 10 == 0 && process < 2; ++process) {
            if (draw.below(5) < in_five) measured.deltas[0] += std::log(1.1) / 2;
          }
        }
        return block;
      });
      for (size_t c = 0; c < kCases; c += 10) {
        called.count(worst_outcome(result.cases[c]) == LatencyOutcome::regress);
        passed.count(worst_outcome(result.cases[c]) == LatencyOutcome::pass);
      }
    }
    std::cout << "quiet, seeds 17 and 18, " << in_five << " process in five 10 % slower: called " << text_of(called)
              << ", passed " << text_of(passed) << "\n";
    if (in_five == 1) {
      EXPECT_LT(passed.share(), 0.5);
    } else {
      EXPECT_GT(called.share(), 0.9);
    }
  }
}

// Deltas of p50 and tail of one case, block by block.
std::array<std::vector<double>, 2> deltas_of(Machine& machine, int blocks) {
  std::array<std::vector<double>, 2> deltas;
  for (int i = 0; i < blocks; ++i) {
    const PerMetric<double> of_block = block_deltas(machine.block({5}).front().block, 1);
    deltas[0].push_back(of_block[0]);
    deltas[1].push_back(of_block[2]);
  }
  return deltas;
}

// Largest difference of two empirical distributions: Kolmogorov and Smirnov, in units of its standard error.
double distance(std::vector<double> a, std::vector<double> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  double largest = 0;
  for (const double x : a) {
    const auto below = [x](const std::vector<double>& values) {
      return static_cast<double>(std::ranges::upper_bound(values, x) - values.begin()) /
             static_cast<double>(values.size());
    };
    largest = std::max(largest, std::fabs(below(a) - below(b)));
  }
  return largest / std::sqrt(1.0 / static_cast<double>(a.size()) + 1.0 / static_cast<double>(b.size()));
}

// Summaries of processes, drawn and scaled, are as good as samples; and a machine a tenth noisier would show.
// The bound by which a pair passes is asked at each look, and each time it may err: what is slower by exactly its
// margin passes more often than the 5 % of one look, the more looks the machine makes it wait for.
TEST(Latency, WhatIsSlowerByExactlyItsMarginPassesAtMostOnceInFour) {
  constexpr int kGates = 2000;
  std::mt19937 generator(7);
  for (const double spread : {0.01, 0.02, 0.03, 0.05}) {
    GatedCase one{.id = "gemm/k:m=1 warm", .latency_class = "cpu/warm/longer"};
    one.margins[0] = {.gates = true, .least = std::log1p(0.003), .margin = std::log1p(0.02)};
    one.priors[0] = {.value = spread * spread, .freedom = 20};
    std::normal_distribution<double> delta(one.margins[0].margin, spread);
    Rate passed, called;
    for (int i = 0; i < kGates; ++i) {
      LatencyGate gate(policy(), {one}, {});
      const LatencyResult result = run_latency_gate(gate, [&](const std::vector<size_t>&) {
        return std::vector<MeasuredCase>{{.index = 0, .deltas = {delta(generator), NAN, NAN}}};
      });
      passed.count(worst_outcome(result.cases[0]) == LatencyOutcome::pass);
      called.count(worst_outcome(result.cases[0]) == LatencyOutcome::regress);
    }
    std::cout << fmt::format("slower by exactly its margin, 2 %, a block {:.0f} % off: ", 100 * spread) << "passed "
              << text_of(passed) << ", called " << text_of(called) << "\n";
    EXPECT_TRUE(is_below(passed, 0.25)) << spread;
  }
}

TEST(Latency, BlocksOfSummariesAreAsBlocksOfSamples) {
  constexpr double kFarApart = 1.95;  // which equal distributions reach once in a thousand times
  World alone = harsh_world();
  alone.burst_stays = alone.drift = 0;  // one block then tells nothing of the next
  for (const World& world : {quiet_world(), cloud_world(), alone}) {
    Machine summaries(world, 21), samples(world, 22, true);
    World noisier = world;
    noisier.between *= 1.15;
    noisier.within *= 1.15;
    Machine other(noisier, 23);
    const auto drawn = deltas_of(summaries, 6000), made = deltas_of(samples, 6000), others = deltas_of(other, 6000);
    const double p50 = distance(drawn[0], made[0]), tail = distance(drawn[1], made[1]);
    const double noise = std::max(distance(others[0], made[0]), distance(others[1], made[1]));
    std::cout << fmt::format("{}, seeds 21 to 23: p50 {:.2f}, tail {:.2f}; 1.15 times the noise {:.2f}\n", world.name,
                             p50, tail, noise);
    EXPECT_LT(p50, kFarApart);
    EXPECT_LT(tail, kFarApart);
    EXPECT_GT(noise, kFarApart);
  }
}

TEST(Latency, GatesOfSamplesEndAsGatesOfSummaries) {
  constexpr size_t kFew = 20;
  const Unchanged summaries = unchanged_gates(cloud_world(), 3, 20, false, kFew);
  const Unchanged samples = unchanged_gates(cloud_world(), 3, 20, true, kFew);
  std::cout << fmt::format("cloud, seeds 1 to 3: {:.2f} blocks a case of summaries, {:.2f} of samples\n",
                           summaries.blocks_a_case, samples.blocks_a_case);
  EXPECT_EQ(samples.regress.seen, 0);
  EXPECT_EQ(samples.inconclusive.seen, 0);
  EXPECT_NEAR(samples.blocks_a_case / summaries.blocks_a_case, 1, 0.1);
}

// Where the arms do not differ a p value of the signed ranks is what it says, on any machine: its levels are 1/4096
// apart.
TEST_P(InWorld, PValuesOfSignedRanksAreExact) {
  constexpr int kBlocks = 12, kTrials = 20000;
  Machine machine(GetParam(), 31);
  std::array<int64_t, 3> seen{};
  constexpr std::array<double, 3> kLevels{0.3, 0.05, 0.005};
  for (int i = 0; i < kTrials; ++i) {
    const double p = SignedRank(deltas_of(machine, kBlocks)[0]).p_above(0);
    for (size_t level = 0; level < kLevels.size(); ++level) seen[level] += p <= kLevels[level];
  }
  for (size_t level = 0; level < kLevels.size(); ++level) {
    // The largest level that is reached: of that the share must be.
    double reached = 0;
    for (int w = 0; w <= kBlocks * (kBlocks + 1) / 2; ++w) {
      std::vector<double> signs;
      for (int rank = kBlocks, left = w; rank >= 1; --rank) {
        signs.push_back(left >= rank ? rank : -rank);
        if (left >= rank) left -= rank;
      }
      const double p = SignedRank(signs).p_above(0);
      if (p <= kLevels[level]) reached = std::max(reached, p);
    }
    const double rate = static_cast<double>(seen[level]) / kTrials;
    std::cout << fmt::format("{}, seed 31: p <= {} in {:.3f} %, exactly {:.3f} %\n", GetParam().name, kLevels[level],
                             100 * rate, 100 * reached);
    EXPECT_NEAR(rate, reached, 4 * std::sqrt(reached * (1 - reached) / kTrials));
  }
}

// A policy that lets nothing pass and may err often, so that errors can be counted.
LatencyPolicy loose_policy() {
  LatencyPolicy loose = policy();
  loose.alpha = 0.2;
  loose.screens = {2};
  loose.looks = {12, 16};
  loose.spends = {0.5, 0.5};
  return loose;
}
GatedCase never_passed(size_t c) {
  GatedCase gated{.id = Machine::case_name(c)};
  gated.margins[0] = {.gates = true, .least = 0, .margin = 1e-9};
  return gated;
}

// Each alone, one pair in ten is called after a look; of forty the gate may err no more often for that.
TEST(Latency, AGateOfManyCasesErrsAsRarelyAsItsAlphaSays) {
  const LatencyPolicy loose = loose_policy();
  std::vector<GatedCase> cases;
  for (size_t c = 0; c < 40; ++c) cases.push_back(never_passed(c));
  Machine machine(harsh_world(), 91);
  Rate called;
  for (int i = 0; i < 1500; ++i) {
    LatencyGate gate(loose, cases, {});
    called.count(run_latency_gate(gate, blocks_of(machine, loose)).exit_code == 1);
  }
  std::cout << "alpha 20 %, a first gate's half, 40 cases, seed 91: called in " << text_of(called) << "\n";
  EXPECT_LT(called.share(), 0.1 + 2 * std::sqrt(0.1 * 0.9 / 1500));
  EXPECT_GT(called.share(), 0.03) << "errors were there to be counted";
}

// Asked again and again about code that did not change, with a ledger and without.
TEST(Latency, AskingAgainDoesNotAddUpToMoreThanAlpha) {
  const LatencyPolicy loose = loose_policy();
  constexpr int kAgain = 6;
  Machine machine(harsh_world(), 81);
  Rate with_ledger, without;
  for (int i = 0; i < 1500; ++i) {
    const auto ever_called = [&](bool keeps) {
      AlphaLedger ledger;
      bool called = false;
      for (int again = 0; again < kAgain; ++again) {
        LatencyGate gate(loose, {never_passed(0)}, keeps ? ledger : AlphaLedger{});
        const bool now = run_latency_gate(gate, blocks_of(machine, loose)).exit_code == 1;
        EXPECT_TRUE(!called || now || !keeps) << "what was called stays so";
        called = called || now;
        ledger = gate.ledger();
        EXPECT_LE(ledger.spent, loose.alpha);
      }
      return called;
    };
    with_ledger.count(ever_called(true));
    without.count(ever_called(false));
  }
  std::cout << "alpha 20 %, asked six times, seed 81: called with the ledger " << text_of(with_ledger) << ", without "
            << text_of(without) << "\n";
  EXPECT_LT(upper_bound_of_rate(with_ledger.seen, with_ledger.of), 0.2);
  EXPECT_GT(with_ledger.share(), 0.08) << "errors were there to be counted";
  EXPECT_GT(without.share(), 0.3);
}

}  // namespace
}  // namespace assay
