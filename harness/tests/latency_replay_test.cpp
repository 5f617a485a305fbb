// gate/latency_replay: gates made of recorded blocks, and known changes put into them. The blocks are of made-up
// machines.
#include "gate/latency_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/error.h"
#include "gate/policy.h"
#include "latency_world.h"
#include "scratch.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

const LatencyPolicy& policy() {
  static const LatencyPolicy kPolicy = *read_policy(ASSAY_SOURCE_DIR "/ci/policy").latency;
  return kPolicy;
}

constexpr ReplayOptions kFew{.gates = 20, .cases = 8, .changed = 12, .seed = 3};

std::vector<RecordedBlock> quiet_blocks(bool keep, int64_t each = 24) {
  Machine machine(quiet_world(), 11, true);
  return unchanged_blocks(machine, 6, each, keep);
}

const ReplayedClass::Power& power_of(const ReplayedClass& of, const std::string& change) {
  for (const ReplayedClass::Power& power : of.power) {
    if (power.change.name == change) return power;
  }
  throw Error("no change " + change);
}

TEST(Replayed, AnotherOrderIsTheOtherSign) {
  Draw draw(1);
  for (const RecordedBlock& recorded : quiet_blocks(false, 4)) {
    const PerMetric<double> abba = block_deltas(replayed(recorded, BlockOrder::abba, {}, draw), 1);
    const PerMetric<double> baab = block_deltas(replayed(recorded, BlockOrder::baab, {}, draw), 1);
    for (size_t metric = 0; metric < abba.size(); ++metric) EXPECT_EQ(abba[metric], -baab[metric]);
    EXPECT_EQ(replayed(recorded, recorded.block.order, {}, draw), recorded.block);
  }
}

TEST(Replayed, AShiftIsExactWithSamplesAndWithout) {
  Draw draw(1);
  const KnownChange shift{.name = "+5 %", .shift = 0.05};
  for (const RecordedBlock& recorded : quiet_blocks(true, 2)) {
    const PerMetric<double> before = block_deltas(recorded.block, 1);
    const PerMetric<double> after = block_deltas(replayed(recorded, recorded.block.order, shift, draw), 1);
    EXPECT_NEAR(after[0] - before[0], std::log(1.05), 1e-12);
    EXPECT_NEAR(after[1] - before[1], std::log(1.05), 1e-12);
    EXPECT_EQ(after[2], before[2]);
  }
}

// 20 of 100 samples 1.1 times as long: the tail gains them, the ninetieth percentile lies among them.
TEST(Replayed, AModeIsPutIntoTheSamples) {
  Draw draw(1);
  const KnownChange mode{.name = "mode", .share = 0.2, .times = 1.1};
  double tail = 0, p90 = 0, p50 = 0;
  const std::vector<RecordedBlock> blocks = quiet_blocks(true, 10);
  for (const RecordedBlock& recorded : blocks) {
    const PerMetric<double> before = block_deltas(recorded.block, 1);
    const PerMetric<double> after = block_deltas(replayed(recorded, recorded.block.order, mode, draw), 1);
    p50 += (after[0] - before[0]) / static_cast<double>(blocks.size());
    p90 += (after[1] - before[1]) / static_cast<double>(blocks.size());
    tail += (after[2] - before[2]) / static_cast<double>(blocks.size());
  }
  EXPECT_NEAR(tail, 0.2, 0.01);
  EXPECT_NEAR(p90, std::log(1.1), 0.01);
  EXPECT_NEAR(p50, 0, 0.003) << "the median hardly moves";
  EXPECT_THROW(replayed(quiet_blocks(false, 1)[0], BlockOrder::abba, mode, draw), Error);
}

TEST(Replay, FindsKnownChangesAndNothingElse) {
  const std::vector<ReplayedClass> classes = replay(policy(), quiet_blocks(true), kFew);
  ASSERT_EQ(classes.size(), 1u);
  const ReplayedClass& of = classes[0];
  EXPECT_EQ(of.name, "quiet");
  EXPECT_EQ(of.cases, 6u);
  EXPECT_EQ(of.calibrating, 72);
  EXPECT_EQ(of.held_out, 72);
  EXPECT_EQ(of.regress.of, 20);
  EXPECT_EQ(of.regress.seen + of.inconclusive.seen + of.invalid.seen, 0);
  EXPECT_GE(of.blocks_a_case, 4);
  EXPECT_LT(of.blocks_a_case, 6);
  EXPECT_EQ(power_of(of, "+5 %").regress.of, 12);
  for (const char* change : {"+3 %", "+5 %", "margin + 1 %", "2 in 100 x1.5", "1 in 5 x1.1"}) {
    EXPECT_EQ(power_of(of, change).regress.seen, power_of(of, change).regress.of) << change;
  }
}

TEST(Replay, WithoutSamplesWhatNeedsThemIsNotReplayedAndSaysSo) {
  const std::vector<ReplayedClass> classes = replay(policy(), quiet_blocks(false), kFew);
  EXPECT_EQ(power_of(classes[0], "1 in 5 x1.1").regress.of, 0);
  EXPECT_EQ(power_of(classes[0], "+5 %").regress.of, 12);
  EXPECT_THAT(markdown(classes, kFew), HasSubstr("no samples"));
}

TEST(Replay, TheSameSeedGivesTheSameTableAndAnotherAnother) {
  Machine machine(harsh_world(), 5);
  const std::vector<RecordedBlock> blocks = unchanged_blocks(machine, 8, 30);
  ReplayOptions options = kFew;
  const std::string first = markdown(replay(policy(), blocks, options), options);
  EXPECT_EQ(markdown(replay(policy(), blocks, options), options), first);
  options.seed = 4;
  EXPECT_NE(markdown(replay(policy(), blocks, options), kFew), first);
}

TEST(Replay, ClassesAreReplayedByThemselvesAndTogether) {
  std::vector<RecordedBlock> blocks = quiet_blocks(false);
  Machine machine(cloud_world(), 5);
  for (RecordedBlock& block : unchanged_blocks(machine, 5, 24)) blocks.push_back(std::move(block));
  const std::vector<ReplayedClass> classes = replay(policy(), blocks, kFew);
  ASSERT_EQ(classes.size(), 3u);
  EXPECT_EQ(classes[0].name, "(all)");
  EXPECT_EQ(classes[0].cases, 11u);
  EXPECT_THAT(markdown(classes, kFew), HasSubstr("| (all) | 11 | 132, 132 (0) | of each class |"));
}

TEST(Replay, VoidBlocksAreReplayedAsVoid) {
  std::vector<RecordedBlock> blocks = quiet_blocks(false);
  for (RecordedBlock& block : blocks) {
    if (block.number % 2 == 0) continue;
    block.void_why = "steal";
    block.void_process = 1;
  }
  const std::vector<ReplayedClass> classes = replay(policy(), blocks, kFew);
  EXPECT_EQ(classes[0].voids, 72);
  EXPECT_EQ(classes[0].invalid.seen, classes[0].invalid.of) << "half of the blocks are void";
}

// Their calibration says that they show; none of a gate's blocks could.
TEST(Replay, StallsThatHeldOutBlocksDidNotKeepMakeNoGateInvalid) {
  std::vector<RecordedBlock> blocks = quiet_blocks(false);
  for (RecordedBlock& block : blocks) {
    if (block.number >= 12) block.block.processes[3].stall = NAN;
  }
  std::vector<RecordedBlock> calibrating;
  std::ranges::copy_if(blocks, std::back_inserter(calibrating), [](const auto& block) { return block.number < 12; });
  const GatedCase gated = gated_case(policy(), calibrate(policy(), calibrating).at("quiet"), blocks.front().case_id);
  EXPECT_TRUE(gated.margins[static_cast<size_t>(LatencyMetric::stall)].gates);
  const std::vector<ReplayedClass> classes = replay(policy(), blocks, kFew);
  EXPECT_EQ(classes[0].margins[static_cast<size_t>(LatencyMetric::p50)].cases, 6);
  EXPECT_EQ(classes[0].margins[static_cast<size_t>(LatencyMetric::stall)].cases, 0);
  EXPECT_EQ(classes[0].invalid.seen, 0);
}

// Its processes' medians are 2.5 to 12.5 % apart; the class as a whole would see 2 % of p50.
TEST(Replay, ACaseThatIsBlindIsCountedThoughItsClassIsNot) {
  std::vector<RecordedBlock> blocks = quiet_blocks(false, 48);
  const std::string noisy = blocks.front().case_id;
  for (RecordedBlock& block : blocks) {
    if (block.case_id != noisy) continue;
    block.block.processes[static_cast<size_t>(block.number) % 4].p50_us *= 1 + 0.025 * (1 + block.number % 5);
  }
  const std::vector<ReplayedClass> classes = replay(policy(), blocks, kFew);
  const auto& p50 = classes[0].margins[static_cast<size_t>(LatencyMetric::p50)];
  EXPECT_EQ(p50.cases, 6);
  EXPECT_EQ(p50.blind, 1);
  EXPECT_NEAR(p50.smallest, std::log1p(0.02), 1e-12);
  EXPECT_GT(p50.largest, std::log1p(0.02));
  EXPECT_THAT(markdown(classes, kFew), HasSubstr(" (blind: 1 of 6), p90 "));
}

// A machine that slows whatever comes second would show in no gate made of these blocks, each with a new coin.
TEST(Replay, AnArmThatIsTreatedDifferentlyShowsInTheOrderAsRecorded) {
  std::vector<RecordedBlock> blocks = quiet_blocks(false);
  const double fair = replay(policy(), blocks, kFew)[0].bias[0];
  EXPECT_GT(fair, 0.01);
  for (RecordedBlock& block : blocks) {
    for (size_t i = 0; i < kProcessesOfABlock; ++i) {
      if (is_change(block.block.order, i)) block.block.processes[i].p50_us *= 1.005;
    }
  }
  const ReplayedClass biased = replay(policy(), blocks, kFew)[0];
  EXPECT_EQ(biased.regress.seen, 0);
  EXPECT_LT(biased.bias[0], 1e-4);
}

TEST(Replay, TooFewBlocksAreRefused) {
  EXPECT_THAT(message_of([] { replay(policy(), quiet_blocks(false, 1), kFew); }),
              HasSubstr("class 'quiet': too few blocks to calibrate by one half"));
}

TEST(Rate, HasAnInterval) {
  // Nothing seen of n: the upper bound is 1 - 0.025^(1/n).
  const ConfidenceInterval none = Rate{.seen = 0, .of = 2000}.interval();
  EXPECT_EQ(none.lower, 0);
  EXPECT_NEAR(none.upper, 1 - std::pow(0.025, 1 / 2000.0), 1e-12);
  const ConfidenceInterval all = Rate{.seen = 10, .of = 10}.interval();
  EXPECT_NEAR(all.lower, std::pow(0.025, 0.1), 1e-12);
  EXPECT_EQ(all.upper, 1);
  EXPECT_EQ(Rate{}.interval().upper, 1);
  EXPECT_EQ(Rate{}.interval().lower, 0);
}

}  // namespace
}  // namespace assay
