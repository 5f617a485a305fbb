// The table of a canary's verdicts: each rule where it holds and where it does not.
#include "gate/canary_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "canary_sides.h"
#include "record/invariance.h"

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class CanaryVerdictTest : public ::testing::Test {
 protected:
  CanaryResult judged() const { return judge_canary(evidence, kCanaryPolicy); }
  CanaryResult between(const Record& pin, const Record& candidate) {
    evidence.pin.records = {pin};
    evidence.candidate.records = {candidate};
    return judged();
  }
  CanaryEvidence evidence = same_on_both();
};

TEST_F(CanaryVerdictTest, TheSameIsPromoted) {
  const CanaryResult result = judged();
  EXPECT_EQ(result.verdict, CanaryVerdict::promote);
  EXPECT_THAT(grave(result), IsEmpty());
  EXPECT_EQ(result.cases.at(0).change, CaseChange::same);
  EXPECT_EQ(result.kernels.at(0).kernel, "gemm/lib");
  EXPECT_EQ(result.kernels[0].pin.worst, 0.25);
  EXPECT_EQ(result.kernels[0].candidate.typical, 0.125);
}

TEST_F(CanaryVerdictTest, EveryWayToFailThatIsNewIsRejected) {
  for (const CheckRow& row : check_table()) {
    if (exit_code_of(row.verdict) != 1 || row.verdict == Verdict::changed) continue;
    const CanaryResult result = between(passed(), failed(row.check, "c[5] is off"));
    EXPECT_EQ(result.verdict, CanaryVerdict::reject) << row.check;
    EXPECT_THAT(grave(result), ElementsAre(HasSubstr("newly-wrong: " + std::string(word_of(row.verdict)) + " (" +
                                                     std::string(row.check) + "): c[5] is off")));
    EXPECT_EQ(result.cases.at(0).change, CaseChange::newly_wrong);
    EXPECT_EQ(between(failed(row.check), passed()).verdict, CanaryVerdict::promote) << row.check << ", mended";
  }
}

TEST_F(CanaryVerdictTest, ACaseThatIsNoLongerTakenIsRejected) {
  const CanaryResult result = between(passed(), refused());
  EXPECT_EQ(result.verdict, CanaryVerdict::reject);
  EXPECT_THAT(grave(result), ElementsAre(HasSubstr("refused: passes under the pin")));
  EXPECT_EQ(between(refused(), passed()).verdict, CanaryVerdict::promote) << "newly taken";
  EXPECT_EQ(between(failed("accuracy"), refused()).verdict, CanaryVerdict::promote) << "refused rather than wrong";
  EXPECT_EQ(between(refused(), failed("accuracy")).verdict, CanaryVerdict::reject) << "wrong rather than refused";
}

TEST_F(CanaryVerdictTest, NothingButRefusalsIsNothingJudged) {
  const CanaryResult result = between(refused(), refused());
  EXPECT_EQ(result.verdict, CanaryVerdict::hold);
  EXPECT_THAT(grave(result), ElementsAre(HasSubstr("no case was judged")));
}

TEST_F(CanaryVerdictTest, NothingPlannedIsNothingJudged) {
  evidence.planned.clear();
  const CanaryResult result = judged();
  EXPECT_EQ(result.verdict, CanaryVerdict::hold);
  EXPECT_THAT(grave(result), ElementsAre(HasSubstr("none was planned")));
}

TEST_F(CanaryVerdictTest, FailingTheSameWayIsAsBefore) {
  const CanaryResult result = between(failed("accuracy"), failed("accuracy"));
  EXPECT_EQ(result.verdict, CanaryVerdict::promote);
  EXPECT_EQ(result.cases.at(0).change, CaseChange::as_before);
  EXPECT_EQ(result.reasons.at(0).kind, "as-before");
}

TEST_F(CanaryVerdictTest, FailingInMoreElementsIsHeld) {
  const CanaryResult result = between(failed("accuracy", "x", 2), failed("accuracy", "x", 3));
  EXPECT_EQ(result.verdict, CanaryVerdict::hold);
  EXPECT_THAT(grave(result), ElementsAre(HasSubstr("worse: fails as under the pin and in more elements, 2 -> 3")));
}

TEST_F(CanaryVerdictTest, FailingByMoreIsHeld) {
  const auto wrong_by = [](double bounds) {
    Record record = failed("accuracy", "x", 2);
    record.errors.at(0).max_q = bounds;
    return record;
  };
  EXPECT_EQ(between(wrong_by(1.5), wrong_by(2.5)).verdict, CanaryVerdict::promote);
  EXPECT_EQ(between(wrong_by(0.1), wrong_by(0.25)).verdict, CanaryVerdict::promote) << "right, and fails otherwise";
  for (const double much : {3.5, 1e6, std::numeric_limits<double>::infinity()}) {
    const CanaryResult result = between(wrong_by(1.5), wrong_by(much));
    EXPECT_EQ(result.verdict, CanaryVerdict::hold) << much;
    EXPECT_THAT(grave(result), ElementsAre(HasSubstr("worse: fails as under the pin and by more, 1.5 -> ")));
  }
}

TEST_F(CanaryVerdictTest, FailingEarlierIsHeld) {
  Record at_once = failed("launch");
  set_check(at_once, "accuracy", Outcome::not_applicable, "not reached");
  const CanaryResult result = between(failed("launch"), at_once);
  EXPECT_EQ(result.verdict, CanaryVerdict::hold);
  EXPECT_THAT(grave(result), ElementsAre(HasSubstr("coverage: accuracy passed under the pin and is not-applicable")));
  EXPECT_EQ(between(at_once, failed("launch")).verdict, CanaryVerdict::promote) << "later";
}

TEST_F(CanaryVerdictTest, FailingInAnotherWayIsNew) {
  EXPECT_EQ(between(failed("accuracy"), failed("guards")).verdict, CanaryVerdict::reject);
  Record both = failed("accuracy");
  set_check(both, "guards", Outcome::fail, "");
  EXPECT_EQ(between(failed("accuracy"), both).verdict, CanaryVerdict::reject);
  EXPECT_EQ(between(both, failed("accuracy")).verdict, CanaryVerdict::promote) << "one defect less";
  Record crashed = failed("launch"), hangs = failed("launch");
  for (CheckResult& result : hangs.checks) {
    if (result.check == "launch") result.verdict = Verdict::timeout;
  }
  conclude(hangs);
  EXPECT_EQ(between(hangs, crashed).verdict, CanaryVerdict::reject) << "a crash is no timeout";
  EXPECT_EQ(between(crashed, crashed).verdict, CanaryVerdict::promote);
}

TEST_F(CanaryVerdictTest, MovedBitsThatNobodyPromisedAreInformation) {
  const CanaryResult result = between(passed(), passed(kCanaryCase, "other"));
  EXPECT_EQ(result.verdict, CanaryVerdict::promote);
  EXPECT_EQ(result.cases.at(0).change, CaseChange::moved);
  EXPECT_EQ(result.kernels.at(0).bits_moved, 1);
  EXPECT_EQ(result.kernels[0].bits_compared, 1);
}

TEST_F(CanaryVerdictTest, BitsThatAreNotTheApprovedOnesAreHeld) {
  const CanaryResult result = between(passed(), failed("golden-bits"));
  EXPECT_EQ(result.verdict, CanaryVerdict::hold);
  EXPECT_THAT(grave(result), ElementsAre(StartsWith("approved-bits: changed (golden-bits)")));
}

TEST_F(CanaryVerdictTest, AnotherFingerprintIsHeldForExactlyThat) {
  evidence.candidate.fingerprints = {fingerprint_of("pairwise")};
  const CanaryResult result = judged();
  EXPECT_EQ(result.verdict, CanaryVerdict::hold);
  EXPECT_THAT(grave(result), ElementsAre("arithmetic: computes in another way: shape: sequential -> pairwise"));
}

TEST_F(CanaryVerdictTest, AFingerprintThatCannotBeReadIsUnknown) {
  evidence.candidate.fingerprints[0].complete = false;
  EXPECT_THAT(grave(judged()), ElementsAre(HasSubstr("could not be read under the candidate")));
  evidence.candidate.fingerprints.clear();
  EXPECT_EQ(judged().verdict, CanaryVerdict::hold);
  evidence = same_on_both();
  evidence.pin.fingerprints[0].complete = false;
  EXPECT_THAT(grave(judged()), ElementsAre(HasSubstr("could not be read under the pin")));
  evidence.pin.fingerprints.clear();
  EXPECT_EQ(judged().verdict, CanaryVerdict::promote) << "probes that only the candidate takes";
}

TEST_F(CanaryVerdictTest, AKernelThatDiesAtAProbeIsRejected) {
  Fingerprint& candidate = evidence.candidate.fingerprints[0];
  candidate.complete = false;
  candidate.facts = {{"shape", "sequential"}, {"long_sum", "", "no answer: the worker died by SIGSEGV"}};
  EXPECT_EQ(judged().verdict, CanaryVerdict::reject);
  EXPECT_THAT(grave(judged()), ElementsAre(HasSubstr("under the candidate the worker died by SIGSEGV (long_sum)")));
  candidate.facts[1].why = "no answer: the worker died by SIGKILL";
  EXPECT_EQ(judged().verdict, CanaryVerdict::hold) << "somebody may have killed it";
  candidate.facts[1].why = "no answer: the judge died by SIGSEGV";
  EXPECT_EQ(judged().verdict, CanaryVerdict::hold);
  candidate.facts[1].why = "no answer: the worker died by SIGSEGV";
  evidence.pin.fingerprints = evidence.candidate.fingerprints;
  EXPECT_EQ(judged().verdict, CanaryVerdict::hold) << "under the pin too: whether it is new is not known";
  evidence.pin.fingerprints.clear();
  EXPECT_EQ(judged().verdict, CanaryVerdict::reject) << "the pin refuses what the candidate dies of";
  EXPECT_THAT(grave(judged()), ElementsAre(HasSubstr("probes that the pin refuses, and the worker died by SIGSEGV")));
  evidence.candidate.fingerprints[0].facts[1].why = "no answer: the worker gave none within 20 s";
  EXPECT_EQ(judged().verdict, CanaryVerdict::hold);
}

TEST_F(CanaryVerdictTest, FactsThatNeitherTellsAreNoChange) {
  evidence.pin.fingerprints[0].facts.push_back({"split_k", "", "no blocks are seen"});
  evidence.candidate.fingerprints[0].facts.push_back({"split_k", "", "another reason"});
  EXPECT_EQ(judged().verdict, CanaryVerdict::promote);
  evidence.candidate.fingerprints[0].facts.back() = {"split_k", "4"};
  EXPECT_EQ(judged().verdict, CanaryVerdict::hold);
}

TEST_F(CanaryVerdictTest, WhatIsUnknownIsNeverPromoted) {
  Record error = passed();
  error.verdict = Verdict::error;
  error.reason = "the judge died twice";
  EXPECT_THAT(grave(between(passed(), error)), ElementsAre(HasSubstr("the harness failed under the candidate")));
  EXPECT_THAT(grave(between(error, passed())), ElementsAre(HasSubstr("the harness failed under the pin")));
  Record wrong = failed("accuracy");  // and the oracle is in doubt beside it
  wrong.verdict = Verdict::error;
  EXPECT_EQ(between(passed(), wrong).verdict, CanaryVerdict::reject) << "what it answered is wrong";
  EXPECT_EQ(between(failed("accuracy"), wrong).verdict, CanaryVerdict::hold) << "as before, as far as is known";
  EXPECT_EQ(between(error, failed("accuracy")).verdict, CanaryVerdict::hold) << "whether it is new is not known";
  EXPECT_EQ(between(passed(), failed("trust")).verdict, CanaryVerdict::hold) << "mistrusted";
  EXPECT_EQ(between(passed(), failed("truth")).verdict, CanaryVerdict::hold) << "the oracle is in doubt";
  evidence = same_on_both();
  evidence.candidate.records.clear();
  EXPECT_THAT(grave(judged()), ElementsAre("unknown: not judged under the candidate: there is no record of it"));
  EXPECT_EQ(judged().cases.at(0).pin, Verdict::pass);
  EXPECT_EQ(judged().cases.at(0).candidate, std::nullopt);
  evidence.pin.records.clear();
  EXPECT_EQ(judged().verdict, CanaryVerdict::hold);
}

TEST_F(CanaryVerdictTest, AHoldDoesNotHideAReject) {
  Record both = failed("golden-bits");
  set_check(both, "accuracy", Outcome::fail, "off");
  EXPECT_EQ(between(passed(), both).verdict, CanaryVerdict::reject);
}

// Where inputs are zeros by design an output may be constant, as other zeros of the same value are.
TEST_F(CanaryVerdictTest, WhatNeedsNoTrustIsNotHeldForIt) {
  Record before = passed(), now = passed();
  set_check(before, "trust", Outcome::pass, "");
  set_check(now, "trust", Outcome::not_applicable, "a is filled with zeros");
  EXPECT_EQ(between(before, now).verdict, CanaryVerdict::promote);
  set_check(now, "trust", Outcome::skipped, "as planted");
  EXPECT_EQ(between(before, now).verdict, CanaryVerdict::hold);
}

TEST_F(CanaryVerdictTest, ACheckThatSaysLessIsHeld) {
  for (const Outcome outcome : {Outcome::weak, Outcome::skipped, Outcome::not_applicable}) {
    Record candidate = passed();
    set_check(candidate, "accuracy", outcome, "the depth is not known");
    EXPECT_THAT(grave(between(passed(), candidate)), ElementsAre(HasSubstr("coverage: accuracy passed under the pin")));
    EXPECT_EQ(between(candidate, candidate).verdict, CanaryVerdict::promote) << "no less than under the pin";
  }
  Record candidate = passed();
  set_check(candidate, "golden-bits", Outcome::no_baseline, "");
  EXPECT_EQ(between(passed(), candidate).verdict, CanaryVerdict::promote) << "a build that nobody has approved yet";
}

std::vector<SeedStatistics> seeds_around(double rms) {
  std::vector<SeedStatistics> seeds;
  for (uint64_t i = 0; i < 8; ++i) seeds.push_back({.seed = i, .rms_q = rms * (1 + 0.001 * static_cast<double>(i))});
  return seeds;
}

TEST_F(CanaryVerdictTest, ErrorStatisticsThatGrewAreHeldAndSmallerOnesNot) {
  Record pin = passed(), candidate = passed(kCanaryCase, "other");
  pin.seeds = seeds_around(0.01);
  candidate.seeds = seeds_around(0.5);
  EXPECT_THAT(grave(between(pin, candidate)), ElementsAre(HasSubstr("statistics: error statistics are others")));
  candidate.seeds = seeds_around(0.001);
  EXPECT_EQ(between(pin, candidate).verdict, CanaryVerdict::promote);
  EXPECT_THAT(judged().reasons, Contains(Field(&CanaryReason::text, HasSubstr("are better"))));
  candidate.seeds = pin.seeds;
  EXPECT_EQ(between(pin, candidate).verdict, CanaryVerdict::promote);
}

TEST_F(CanaryVerdictTest, ArmsThatAreNotAsAskedMakeAllInvalid) {
  evidence.candidate.records = {failed("accuracy")};
  evidence.not_as_asked = {"candidate: libx.so.0 was not loaded"};
  const CanaryResult result = judged();
  EXPECT_EQ(result.verdict, CanaryVerdict::invalid) << "what fails may be another library";
  EXPECT_THAT(grave(result), Contains("arms: candidate: libx.so.0 was not loaded"));
}

TEST_F(CanaryVerdictTest, TheSameBuildIsSaid) {
  evidence.same_build = true;
  EXPECT_EQ(judged().verdict, CanaryVerdict::promote);
  EXPECT_THAT(judged().reasons.at(0).text, HasSubstr("are the same build"));
}

TEST_F(CanaryVerdictTest, AlgorithmsAndWorkspacesAreInformation) {
  Record pin = passed(), candidate = passed();
  pin.selection = {{"isa", "Haswell"}, {"library", "1.0"}};
  candidate.selection = {{"isa", "SkylakeX"}, {"library", "2.0"}};
  candidate.workspace_bytes = 4096;
  const CanaryResult result = between(pin, candidate);
  EXPECT_EQ(result.verdict, CanaryVerdict::promote);
  EXPECT_EQ(result.kernels.at(0).selections.at("isa: Haswell -> SkylakeX"), 1);
  EXPECT_EQ(result.kernels[0].workspace_grew, 1);
}

TEST_F(CanaryVerdictTest, AnInvarianceThatNobodyPromisedAndIsLostIsInformation) {
  Record pin = passed(), candidate = passed();
  set_check(pin, "same-threads", Outcome::pass, std::string(kObserved));
  set_check(candidate, "same-threads", Outcome::not_applicable, std::string(kVaries) + "in c[1]");
  const CanaryResult result = between(pin, candidate);
  EXPECT_EQ(result.verdict, CanaryVerdict::promote);
  EXPECT_THAT(result.reasons, Contains(Field(&CanaryReason::text, HasSubstr("same-threads: held in 1 cases"))));
}

TEST_F(CanaryVerdictTest, KernelsThatHaveNoModuleAreCountedAndHold) {
  evidence.not_built = {"dot/lib", "scal/lib"};
  const CanaryResult result = judged();
  EXPECT_EQ(result.verdict, CanaryVerdict::hold);
  EXPECT_THAT(grave(result), ElementsAre("coverage: 2 kernels that compute with it have no module, and none of their "
                                         "cases was judged; build them: dot/lib, scal/lib"));
}

TEST_F(CanaryVerdictTest, TheGravestComesFirst) {
  const std::string second = "gemm/lib:m=4,n=4,k=4,dtype=f32";
  evidence.planned.push_back(second);
  evidence.pin.records = {failed("accuracy", "x", 1), passed(second)};
  evidence.candidate.records = {failed("accuracy", "x", 2), failed("guards")};
  evidence.candidate.records[1].kernel_id = second;
  const CanaryResult result = judged();
  ASSERT_EQ(result.reasons.size(), 3u);
  EXPECT_EQ(result.reasons[0].kind, "newly-wrong");
  EXPECT_EQ(result.reasons[0].what, second);
  EXPECT_EQ(result.reasons[1].kind, "worse");
}

TEST(CanaryVerdict, HasItsExitCodes) {
  EXPECT_EQ(exit_code_of(CanaryVerdict::promote), 0);
  EXPECT_EQ(exit_code_of(CanaryVerdict::reject), 1);
  EXPECT_EQ(exit_code_of(CanaryVerdict::hold), 2);
  EXPECT_EQ(exit_code_of(CanaryVerdict::invalid), 3);
  EXPECT_EQ(word_of(CanaryVerdict::reject), "REJECT");
}

}  // namespace
}  // namespace assay
