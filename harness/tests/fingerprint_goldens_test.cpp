// Fingerprints that were approved, against those of a run; and how a run keeps its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gate/fingerprints.h"
#include "golden/fingerprints.h"
#include "golden/update.h"
#include "scratch.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Fingerprint taken(const std::string& shape, const std::string& variant = "dtype=f32") {
  return {.op = "gemm",
          .kernel = "simulated",
          .target = "cpu",
          .variant = variant,
          .facts = {{"shape", shape}, {"rounding", "nearest, ties to even"}, {"unit", "", "no steps are seen"}}};
}

TEST(FingerprintGoldens, AChangedOrderIsAFindingThatSaysWhatItWas) {
  const Scratch scratch;
  Platform platform{"sse4_2 avx2", 2, {}};
  const KernelPlatforms platforms{{"gemm/simulated", platform}};
  const Fingerprint approved = taken("sequential"), lost = {.op = "gemm",
                                                            .kernel = "simulated",
                                                            .target = "cpu",
                                                            .variant = "dtype=f16",
                                                            .facts = {{"shape", "", "no answer: it died"}},
                                                            .complete = false};
  apply_changes(plan_fingerprint_update(scratch.path, platform, std::vector{approved, lost}, Extent::partial), false);

  const FingerprintGoldens goldens = FingerprintGoldens::load(scratch.path / "fingerprint", platforms);
  std::vector<Fingerprint> now{approved, taken("pairwise"), taken("sequential", "dtype=bf16"), lost};
  for (Fingerprint& one : now) goldens.compare(one);
  EXPECT_EQ(now[0].baseline, Baseline::same);
  EXPECT_EQ(now[1].baseline, Baseline::changed);
  EXPECT_EQ(now[2].baseline, Baseline::none);
  EXPECT_EQ(now[3].baseline, Baseline::none) << "what a kernel failed at is not approved";
  const std::vector<std::string> ids = goldens.approved_of("gemm/simulated");
  EXPECT_EQ(ids, std::vector<std::string>{"gemm/simulated:dtype=f32"});
  EXPECT_TRUE(goldens.approved_of("gemm/simul").empty());
  const std::vector<Finding> findings = fingerprint_findings(now, ids);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[1].text, "gemm/simulated:dtype=f16: how it computes cannot be read: " + lost.failure());
  const std::vector<Finding> refused = fingerprint_findings({}, ids);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].text,
            "gemm/simulated:dtype=f32 is approved, and not read now: its probes are refused, or are no more");
  EXPECT_EQ(findings[0].kind, "fingerprint");
  EXPECT_THAT(findings[0].text, HasSubstr("gemm/simulated:dtype=f32"));
  EXPECT_THAT(findings[0].text, HasSubstr("shape: sequential -> pairwise"));
  EXPECT_EQ(fingerprints_text(now), "fingerprints: 4 taken: 1 as approved, 1 changed, 2 that nobody approved");
  // On another platform nothing was approved.
  platform.threads = 3;
  Fingerprint elsewhere = approved;
  FingerprintGoldens::load(scratch.path / "fingerprint", {{"gemm/simulated", platform}}).compare(elsewhere);
  EXPECT_EQ(elsewhere.baseline, Baseline::none);
}

TEST(FingerprintGoldens, AFileThatIsNotUnderstoodIsRefusedInOneLine) {
  const Scratch scratch;
  const Platform platform{"sse4_2", 2, {}};
  const auto file = scratch.path / "fingerprint" / platform.key() / "gemm.txt";
  apply_changes(plan_fingerprint_update(scratch.path, platform, std::vector{taken("sequential")}, Extent::partial),
                false);
  const std::string good = content_of(file);
  write_text(file, good.substr(0, good.find("gemm/")) + "gemm/simulated:dtype=f32 shape\n");
  EXPECT_THAT(message_of([&] {
                FingerprintGoldens::load(scratch.path / "fingerprint", {{"gemm/simulated", platform}});
              }),
              HasSubstr("gemm.txt: gemm/simulated:dtype=f32: 'shape' is not a list of facts; restore the file"));
}

TEST(FingerprintGoldens, ThoseOfAnUnpinnedRunAreMarkedAndCompared) {
  const Scratch scratch;
  const Platform platform{"sse4_2", 2, {}};
  apply_changes(plan_fingerprint_update(scratch.path, platform, std::vector{taken("sequential")}, Extent::partial,
                                        "there is no pin"),
                false);
  EXPECT_THAT(content_of(scratch.path / "fingerprint" / platform.key() / "gemm.txt"),
              HasSubstr("\n# unpinned there is no pin\n"));
  Fingerprint same = taken("sequential");
  FingerprintGoldens::load(scratch.path / "fingerprint", {{"gemm/simulated", platform}}).compare(same);
  EXPECT_EQ(same.baseline, Baseline::same);
}

TEST(FingerprintRecord, WhatARunKeepsIsReadBack) {
  const Scratch scratch;
  EXPECT_THAT(read_fingerprints(scratch.path), IsEmpty());
  Fingerprint one = taken("sequential");
  one.baseline = Baseline::changed;
  one.changes = {"shape: pairwise -> sequential"};
  write_fingerprints(scratch.path, {one, one});
  const std::vector<Fingerprint> read = read_fingerprints(scratch.path);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].facts, one.facts);
  EXPECT_EQ(read[1].id(), one.id());
  EXPECT_EQ(read[1].baseline, Baseline::changed);
  EXPECT_THAT(read[1].changes, ElementsAre("shape: pairwise -> sequential"));
  write_text(scratch.path / "fingerprints.jsonl", content_of(scratch.path / "fingerprints.jsonl") + "{}\n");
  EXPECT_THAT(message_of([&] { read_fingerprints(scratch.path); }), HasSubstr("fingerprints.jsonl:3: "));
}

}  // namespace
}  // namespace assay
