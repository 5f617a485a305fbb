// gate/latency_class: what a calibration says of a class of cases, and the margins that follow.
#include "gate/latency_class.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "core/draw.h"
#include "gate/policy.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

constexpr size_t kP50 = 0, kP90 = 1, kTail = 2, kStall = 3;

const LatencyPolicy& policy() {
  static const LatencyPolicy kPolicy = *read_policy(ASSAY_SOURCE_DIR "/ci/policy").latency;
  return kPolicy;
}

std::vector<RecordedBlock> history(const std::string& latency_class, const std::string& id, int blocks, double spread,
                                   bool median_only = false) {
  std::vector<RecordedBlock> recorded;
  for (int i = 0; i < blocks; ++i) {
    RecordedBlock& one =
        recorded.emplace_back(RecordedBlock{.latency_class = latency_class, .case_id = id, .number = i});
    // Deltas from -spread to spread, evenly.
    const double delta = spread * (2.0 * i / (blocks - 1) - 1);
    for (size_t p = 0; p < kProcessesOfABlock; ++p) {
      const double us = is_change(one.block.order, p) ? std::exp(delta) : 1;
      one.block.processes[p] = {.samples = 100, .p50_us = us, .p90_us = us, .p99_us = us};
    }
    one.block.median_only = median_only;
  }
  return recorded;
}

TEST(LatencyClass, MarginsFollowTheNoiseAndSayWhenTheyAreBlind) {
  std::vector<RecordedBlock> blocks = history("quiet", "a", 24, 0.002);
  for (const RecordedBlock& block : history("noisy", "a", 24, 0.1)) blocks.push_back(block);
  for (const RecordedBlock& block : history("batched", "a", 24, 0.002, true)) blocks.push_back(block);
  RecordedBlock voided = blocks[0];
  voided.void_why = "steal";
  voided.block.processes[1].p50_us = 1e6;
  blocks.push_back(voided);
  const auto classes = calibrate(policy(), blocks);
  ASSERT_EQ(classes.size(), 3u);
  EXPECT_EQ(classes.at("quiet").blocks, 24);

  const GatedCase quiet = gated_case(policy(), classes.at("quiet"), "a");
  EXPECT_EQ(quiet.margins[kP50].margin, std::log1p(policy().changes[kP50].margin));
  EXPECT_TRUE(quiet.margins[kTail].gates);
  EXPECT_FALSE(quiet.margins[kP50].blind);
  EXPECT_EQ(quiet.margins[kP50].note, "");
  EXPECT_LE(quiet.priors[kP50].freedom, policy().prior_freedom);

  const GatedCase noisy = gated_case(policy(), classes.at("noisy"), "a");
  const double error = classes.at("noisy").error[kP50];
  EXPECT_GT(error, 0.01);
  EXPECT_NEAR(noisy.margins[kP50].margin, 3 * error, 1e-12);
  EXPECT_TRUE(noisy.margins[kP50].blind);
  EXPECT_THAT(noisy.margins[kP50].note, HasSubstr("too noisy to see +2.00 % of p50: the margin is +"));

  const GatedCase batched = gated_case(policy(), classes.at("batched"), "a");
  EXPECT_TRUE(batched.margins[kP50].gates);
  EXPECT_FALSE(batched.margins[kP90].gates || batched.margins[kTail].gates);
  EXPECT_THAT(batched.margins[kTail].note, HasSubstr("not gated: its samples are of batches"));
}

// Nothing says that it is a quiet one.
TEST(LatencyClass, ACaseNobodyCalibratedMayBeAsNoisyAsTheNoisiestOfItsClass) {
  std::vector<RecordedBlock> blocks;
  for (int quiet = 0; quiet < 9; ++quiet) {
    for (const RecordedBlock& block : history("mixed", "quiet " + std::to_string(quiet), 24, 0.002)) {
      blocks.push_back(block);
    }
  }
  for (const RecordedBlock& block : history("mixed", "noisy", 24, 0.1)) blocks.push_back(block);
  for (const auto& [id, count] : {std::pair{"all but new", 23}, {"enough", 24}, {"hardly", 4}}) {
    for (const RecordedBlock& block : history("mixed", id, count, 0.002)) blocks.push_back(block);
  }
  const LatencyClass of = calibrate(policy(), blocks).at("mixed");
  const auto margin = [&](const char* id) { return gated_case(policy(), of, id).margins[kP50]; };
  EXPECT_LT(margin("quiet 0").margin, margin("noisy").margin);
  EXPECT_EQ(margin("enough").margin, margin("quiet 0").margin);
  for (const char* id : {"new", "all but new", "hardly"}) {
    EXPECT_EQ(margin(id).margin, margin("noisy").margin) << id;
    EXPECT_TRUE(margin(id).blind) << id;
  }
}

// As many as may be void in a gate, and one more.
TEST(LatencyClass, AFewBlocksWithoutATailAreNoReasonNotToGateIt) {
  const auto gates_tail = [](int lacking) {
    std::vector<RecordedBlock> blocks = history("short", "a", 24, 0.002);
    for (int i = 0; i < lacking; ++i) blocks[i].block.processes[3].samples = policy().tail_samples - 1;
    const GatedCase gated = gated_case(policy(), calibrate(policy(), blocks).at("short"), "a");
    EXPECT_TRUE(gated.margins[kP90].gates);
    EXPECT_TRUE(std::isfinite(gated.margins[kTail].margin));
    return gated.margins[kTail].gates;
  };
  ASSERT_EQ(policy().void_share, 0.25);
  EXPECT_TRUE(gates_tail(1));
  EXPECT_TRUE(gates_tail(6));
  EXPECT_FALSE(gates_tail(7));
  EXPECT_FALSE(gates_tail(24));
}

TEST(LatencyClass, StallsGateByTheBlocksThatKeptThem) {
  std::vector<RecordedBlock> blocks = history("short", "a", 24, 0.002);
  for (RecordedBlock& block : history("short", "old", 24, 0.002)) blocks.push_back(block);
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (i < 12 || i >= 24) blocks[i].block.processes[2].stall = NAN;
  }
  const LatencyClass of = calibrate(policy(), blocks).at("short");
  for (const char* id : {"a", "new"}) {
    const Margin stall = gated_case(policy(), of, id).margins[kStall];
    EXPECT_TRUE(stall.gates) << id;
    EXPECT_EQ(stall.margin, policy().changes[kStall].margin);
    EXPECT_EQ(stall.unproven, std::string(id) == "new");
  }
  const GatedCase old = gated_case(policy(), of, "old");
  EXPECT_TRUE(old.margins[kTail].gates);
  EXPECT_FALSE(old.margins[kStall].gates);
  EXPECT_THAT(old.margins[kStall].note, HasSubstr("its calibration has none of this"));
}

// For deltas that are normal the error is that of the estimate: 1 / sqrt(0.955) of the mean's, for so many blocks.
TEST(LatencyClass, TheErrorIsThatOfTheEstimate) {
  std::vector<RecordedBlock> blocks;
  uint64_t seed = 1;
  std::cout << "seed " << seed << "\n";
  Draw draw(seed);
  for (int c = 0; c < 40; ++c) {
    for (RecordedBlock& block : history("normal", "case " + std::to_string(c), 48, 0)) {
      double normal = -6;  // the sum of twelve uniform numbers
      for (int i = 0; i < 12; ++i) normal += static_cast<double>(draw.below(1000001)) * 1e-6;
      for (size_t p : {1, 2}) block.block.processes[p].p50_us = std::exp(0.01 * normal);
      blocks.push_back(block);
    }
  }
  const LatencyClass of = calibrate(policy(), blocks).at("normal");
  EXPECT_NEAR(of.error[kP50], 0.01 / std::sqrt(0.955 * 12), 0.0002);
  EXPECT_NEAR(std::sqrt(of.prior[kP50].value), 0.01, 0.0005);
}

TEST(LatencyClass, AClassNobodyCalibratedSaysSo) {
  const GatedCase unknown = gated_case(policy(), {.name = "new"}, "a");
  EXPECT_TRUE(unknown.margins[kP50].gates);
  EXPECT_EQ(unknown.margins[kP50].margin, std::log1p(policy().changes[kP50].margin));
  EXPECT_TRUE(unknown.margins[kP50].blind);
  EXPECT_THAT(unknown.margins[kP50].note, HasSubstr("not calibrated"));
  EXPECT_FALSE(unknown.margins[kTail].gates);
  EXPECT_EQ(unknown.priors[kP50].freedom, 0);
  // Four blocks a case give no error: the margin stays, and nothing passes for want of one.
  const GatedCase few = gated_case(policy(), calibrate(policy(), history("few", "a", 4, 0.5)).at("few"), "a");
  EXPECT_EQ(few.margins[kP50].margin, std::log1p(policy().changes[kP50].margin));
  EXPECT_TRUE(few.margins[kP50].blind);
}

// Half of its blocks are of processes of one kind; in the others one process is faster by 8 %. Of 12 blocks the
// estimate is then anywhere between, though of 60 it is near 0.
TEST(LatencyClass, ACaseOfTwoKindsOfProcessesIsAsNoisyAsItIsWhateverItsClassIs) {
  constexpr double kApart = 0.08;
  std::vector<RecordedBlock> blocks = history("class", "of two kinds", 60, 0);
  for (size_t i = 0; i < blocks.size(); ++i) {
    const double delta = i % 4 == 1 ? kApart : i % 4 == 3 ? -kApart : 0;
    for (size_t p : {1, 2}) blocks[i].block.processes[p].p50_us = std::exp(delta);
  }
  for (const char* id : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    for (const RecordedBlock& block : history("class", id, 60, 0.002)) blocks.push_back(block);
  }
  const LatencyClass of = calibrate(policy(), blocks).at("class");
  const Margin steady = gated_case(policy(), of, "a").margins[kP50],
               other = gated_case(policy(), of, "new").margins[kP50],
               of_two = gated_case(policy(), of, "of two kinds").margins[kP50];
  EXPECT_GT(of_two.margin, 2 * steady.margin);
  EXPECT_GT(of_two.margin, 3 * 0.01) << "a standard error of more than one per cent";
  EXPECT_TRUE(of_two.blind);
  EXPECT_EQ(other.margin, of_two.margin) << "what nobody has measured may be of two kinds too";
}

TEST(LatencyClass, ACaseNobodyMeasuredGetsWhatIsKnownOfItsClass) {
  const auto classes = calibrate(policy(), history("quiet", "a", 24, 0.002));
  const GatedCase other = gated_case(policy(), classes.at("quiet"), "b");
  EXPECT_EQ(other.margins[kP50].margin, std::log1p(policy().changes[kP50].margin));
  EXPECT_TRUE(other.margins[kTail].gates);
  EXPECT_GT(other.priors[kP50].freedom, 0);
}

}  // namespace
}  // namespace assay
