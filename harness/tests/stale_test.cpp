// Known issues that no longer show, and launches that take more than was approved: findings that come from many
// records.
#include "gate/stale.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gate/growth.h"
#include "gate_fakes.h"
#include "record/run_folder.h"
#include "scratch.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kCase = "gemm/openblas:m=1,n=1,dtype=f32";

Record passed(const std::string& id = kCase) {
  Record record{.kernel_id = id, .op = "gemm", .kernel = "openblas", .verdict = Verdict::pass};
  record.checks = all_checks_passed();
  return record;
}

Record with(const std::string& check, Outcome outcome, Verdict verdict) {
  Record record = passed();
  record.verdict = verdict;
  for (CheckResult& result : record.checks) {
    if (result.check == check) result = check_result(check, outcome);
  }
  return record;
}

Record shown() { return with("accuracy", Outcome::fail, Verdict::known); }

// Every check that can say `wrong` was skipped, as under a sanitizer.
Record unjudged() {
  Record record = passed();
  for (CheckResult& result : record.checks) {
    if (result.verdict == Verdict::wrong) result.outcome = Outcome::skipped;
  }
  return record;
}

class StaleIssues : public ::testing::Test {
 protected:
  StaleIssues() {
    policy.known_issues = {{"gemm/openblas:*", Verdict::wrong, "upstream 123", "me", day(2027, 1, 1), {"libblas 3.1"}}};
  }

  assay::Run run(int number, const std::string& tier = "ci", const std::string& version = "3.1.4") const {
    assay::Run run;
    run.asked = {"gate", tier, "", "", {}};
    run.started = fmt::format("2026-01-01T{:02}:{:02}:00Z", number / 60, number % 60);
    run.finished = run.started;
    run.exit_code = 0;
    run.recorded = 1;
    run.environment = {{"cpu.instruction_sets", "avx2 avx512_bf16"}};
    run.kernels = {{"gemm", "openblas", "cpu", "openblas.so", "", {}, ""},
                   {"gemm", "simd", "cpu", "simd.so", "", {}, ""}};
    run.libraries = {{"/lib/libblas.so.3", version, "0123456789abcdef0123", {"openblas.so"}},
                     {"/lib/libc.so.6", "2.36", "ff", {"openblas.so", "simd.so"}}};
    return run;
  }
  void keep(const assay::Run& run, const std::vector<Record>& records, const std::string& suffix = "") const {
    RunFolder folder = RunFolder::create(history / (run.started + suffix));
    for (const Record& record : records) folder.append(record);
    folder.write_run(run);
  }
  void keep_clean(int from, int to) const {
    for (int i = from; i <= to; ++i) keep(run(i), {passed()});
  }
  // By a run that comes last.
  std::vector<Finding> stale(const Record& record = passed(), const std::string& tier = "ci") const {
    return stale_known_issues(policy, history, run(999, tier), {record});
  }

  Scratch scratch;
  std::filesystem::path history = scratch.path / "runs";
  Policy policy;
};

TEST_F(StaleIssues, TwentyRunsWithoutItAreAFindingNineteenAreNot) {
  keep_clean(1, 18);
  EXPECT_THAT(stale(), IsEmpty());
  keep_clean(19, 19);
  const std::vector<Finding> findings = stale();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, "policy");
  EXPECT_THAT(findings[0].text, HasSubstr("known issue of gemm/openblas:* (me) is stale: 20 runs"));
}

TEST_F(StaleIssues, ARunThatShowsItBeginsTheCountAnew) {
  keep_clean(1, 10);
  keep(run(11), {shown()});
  keep_clean(12, 29);
  EXPECT_THAT(stale(), IsEmpty());
  keep_clean(30, 30);
  EXPECT_EQ(stale().size(), 1u) << "nineteen after it and this one";
  EXPECT_THAT(stale(shown()), IsEmpty());
}

TEST_F(StaleIssues, ItShowsInACaseBesideAnotherToo) {
  policy.known_issues[0].kernel = "*,pad_a=*";
  const Record padded = passed("gemm/openblas:m=1,n=1,pad_a=3,dtype=f32");
  Record dense = shown();
  for (int i = 1; i <= 19; ++i) keep(run(i), {padded});
  EXPECT_EQ(stale_known_issues(policy, history, run(999), {padded, dense}).size(), 1u)
      << "the dense case's own failure";
  for (CheckResult& result : dense.checks) {
    if (result.outcome == Outcome::fail) result.of_case = padded.kernel_id;
  }
  EXPECT_THAT(stale_known_issues(policy, history, run(999), {padded, dense}), IsEmpty());
}

// No case that is listed needs to be of it, and what is asked beside others and right tells too.
TEST_F(StaleIssues, ACaseBesideAnotherThatIsRightCountsToo) {
  policy.known_issues[0].kernel = "*,pad_a=*";
  for (const Outcome outcome : {Outcome::pass, Outcome::not_applicable}) {
    Record dense = passed();
    for (CheckResult& result : dense.checks) {
      if (result.check != "same-padding") continue;
      result = check_result("same-padding", outcome);
      result.of_case = "gemm/openblas:m=1,n=1,pad_a=3,dtype=f32";
    }
    for (int i = 1; i <= 19; ++i) keep(run(i), {dense}, outcome == Outcome::pass ? "-a" : "-b");
    EXPECT_EQ(stale(dense).size(), 1u);
    std::filesystem::remove_all(history);
    for (CheckResult& result : dense.checks) result.of_case.clear();
    for (int i = 1; i <= 19; ++i) keep(run(i), {dense});
    EXPECT_THAT(stale(dense), IsEmpty()) << "of the dense case itself nothing is listed";
    std::filesystem::remove_all(history);
  }
}

TEST_F(StaleIssues, TwoRunsThatBeganInOneSecondAreTwo) {
  keep_clean(1, 20);
  EXPECT_EQ(stale().size(), 1u);
  // Whichever of the two comes first, the one that shows it resets.
  for (const char* finished : {"2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"}) {
    assay::Run other = run(20);
    other.finished = finished;
    keep(other, {shown()}, "-other");
    EXPECT_THAT(stale(), IsEmpty()) << finished;
    std::filesystem::remove_all(history / (other.started + "-other"));
  }
}

TEST_F(StaleIssues, RunsThatCouldNotShowItNeitherCountNorReset) {
  keep_clean(1, 18);
  keep(run(20), {unjudged()});
  Record simd = passed("gemm/simd:m=1,n=1,dtype=f32");
  simd.kernel = "simd";
  keep(run(21), {simd});
  keep(run(22, "ci", "3.2"), {passed()});
  keep(run(23, "ci", "3.11"), {passed()});
  keep(run(24, "smoke"), {passed()});
  assay::Run killed = run(25);
  killed.exit_code.reset();
  keep(killed, {passed()});
  keep(run(18), {passed()}, "-copy");
  std::filesystem::create_directory_symlink(history / run(18).started, history / "latest");
  std::filesystem::create_directories(history / "empty");
  EXPECT_THAT(stale(), IsEmpty());
  keep_clean(30, 30);
  EXPECT_EQ(stale().size(), 1u);
  EXPECT_THAT(stale(unjudged()), IsEmpty());
  EXPECT_THAT(stale(passed(), "smoke"), IsEmpty());
}

TEST_F(StaleIssues, AProcessorThatCannotShowItDoesNotCount) {
  keep_clean(1, 19);
  policy.known_issues[0].processor_lacks = {"avx512_bf16"};
  EXPECT_THAT(stale(), IsEmpty());
  policy.known_issues[0].processor_lacks = {"amx_bf16"};
  EXPECT_EQ(stale().size(), 1u);
}

// A nightly run, or one under a sanitizer, shows what others never look at.
TEST_F(StaleIssues, TheCaseThatShowedItIsTheOneThatMustBeClean) {
  const std::string nightly = "gemm/openblas:m=9,n=9,dtype=f32";
  Record showed = with("accuracy", Outcome::fail, Verdict::known);
  showed.kernel_id = nightly;
  keep(run(0, "nightly"), {showed, passed()});
  keep_clean(1, 25);
  EXPECT_THAT(stale(), IsEmpty());
  for (int i = 26; i <= 45; ++i) keep(run(i, "nightly"), {passed(nightly)});
  EXPECT_EQ(stale().size(), 1u) << "twenty nights";
}

TEST_F(StaleIssues, TheCheckThatShowedItIsTheOneThatMustBeClean) {
  keep(run(0), {with("scaling", Outcome::fail, Verdict::known)});
  for (int i = 1; i <= 25; ++i) keep(run(i), {with("scaling", Outcome::not_applicable, Verdict::pass)});
  EXPECT_THAT(stale(), IsEmpty()) << "one run looked at scaling again, this one";
  keep_clean(26, 44);
  EXPECT_EQ(stale().size(), 1u);
}

// The case was taken out since, or only ever typed by hand.
TEST_F(StaleIssues, ACaseThatIsNeverJudgedAgainIsForgottenAfterAHundredJudgedRuns) {
  Record showed = shown();
  showed.kernel_id = "gemm/openblas:m=9,n=9,dtype=f32";
  keep(run(0), {showed});
  keep_clean(1, 98);
  keep(run(99), {unjudged()});
  EXPECT_THAT(stale(), IsEmpty()) << "ninety-nine with this one";
  keep_clean(100, 100);
  EXPECT_EQ(stale().size(), 1u);
}

TEST_F(StaleIssues, ALibraryOfAnotherModuleIsNotTheIssues) {
  for (int i = 1; i <= 19; ++i) {
    assay::Run of_others = run(i);
    of_others.libraries[0].modules = {"simd.so"};
    keep(of_others, {passed()});
  }
  EXPECT_THAT(stale(), IsEmpty());
  keep_clean(21, 39);
  EXPECT_EQ(stale().size(), 1u);
}

// Of the two cases of each run the first was judged before the library was there.
TEST_F(StaleIssues, ALibraryThatIsLoadedLateIsOfTheRecordsThatNameItAlone) {
  const Record before = passed("gemm/openblas:m=8,n=8,dtype=f32");
  Record after = passed();
  after.late_libraries = {"libengine.so.9.1 ee11"};
  for (int i = 1; i <= 19; ++i) {
    assay::Run past = run(i);
    past.libraries.push_back({"/lib/libengine.so.9.1", "9.1", "ee11", {"openblas.so"}});
    keep(past, {before, after});
  }
  policy.known_issues[0].libraries = {"libengine 9.1"};
  EXPECT_EQ(stale(after).size(), 1u);
  EXPECT_THAT(stale(before), IsEmpty());
  policy.known_issues[0].kernel = "gemm/openblas:m=8,*";
  Record now = before;
  now.late_libraries = after.late_libraries;
  EXPECT_THAT(stale(now), IsEmpty()) << "this run alone judged that case with the library";
}

TEST_F(StaleIssues, AVerdictThatOnlyAFailureHasIsJudgedByTheCheckThatGivesIt) {
  policy.known_issues[0].verdict = Verdict::timeout;
  keep_clean(1, 18);
  EXPECT_THAT(stale(), IsEmpty());
  keep_clean(19, 19);
  EXPECT_EQ(stale().size(), 1u);
  Record slow = with("launch", Outcome::fail, Verdict::known);
  for (CheckResult& result : slow.checks) {
    if (result.check == "launch") result.verdict = Verdict::timeout;
  }
  EXPECT_THAT(stale(slow), IsEmpty());
  keep(run(20), {slow});
  EXPECT_THAT(stale(), IsEmpty());
}

TEST_F(StaleIssues, WithoutAHistoryNothingIsStale) {
  EXPECT_THAT(stale(), IsEmpty());
  history.clear();
  EXPECT_THAT(stale(), IsEmpty());
}

TEST(KnownIssueLibraries, AreOfAVersionOrABuild) {
  const std::vector<LoadedLibrary> loaded{{"/x/libcudnn.so.9.14.0", "9.14.0", "0123456789abcdef0123"},
                                          {"/x/libdnnl.so.3", "3", "code-18a93a79c6c95473"}};
  Record record = passed();
  record.late_libraries = {"libcudnn_ops.so.9.14.0 fedcba9876543210fedc", "libstripped.so.2 version 2.1"};
  const auto why = [&](std::vector<std::string> libraries) {
    return why_another({"g/k:*", Verdict::wrong, "r", "o", day(2027, 1, 1), std::move(libraries)}, loaded, record, {});
  };
  EXPECT_EQ(why({}), "");
  EXPECT_EQ(why({"libcudnn 9.14.0"}), "");
  EXPECT_EQ(why({"libcudnn 9.14"}), "");
  EXPECT_EQ(why({"libcudnn 0123456789abcdef"}), "");
  EXPECT_EQ(why({"libcudnn 9.1"}), "libcudnn is 9.14.0 (build-id 0123456789abcdef0123), not 9.1");
  EXPECT_EQ(why({"libcudnn 01234567"}), "libcudnn is 9.14.0 (build-id 0123456789abcdef0123), not 01234567");
  EXPECT_EQ(why({"libcud 9.14.0"}), "libcud is not loaded");
  EXPECT_EQ(why({"libdnnl code-18a93a79c6c95473"}), "");
  EXPECT_EQ(why({"libdnnl code-18a93a79c6c"}), "libdnnl is 3 (build-id code-18a93a79c6c95473), not code-18a93a79c6c")
      << "eleven digits";
  EXPECT_EQ(why({"libcudnn_ops 9.14"}), "");
  EXPECT_EQ(why({"libcudnn_ops fedcba9876543210"}), "");
  EXPECT_EQ(why({"libcudnn_ops 9.15"}), "libcudnn_ops is 9.14.0 (build-id fedcba9876543210fedc), not 9.15");
  EXPECT_EQ(why({"libstripped 2"}), "");
  EXPECT_EQ(why({"libcudnn 9.14.0", "libcublas 13.1"}), "libcublas is not loaded");
  record.late_libraries = {"libcudnn.so.9.15.0 fedcba9876543210fedc"};  // it computes with either
  EXPECT_EQ(why({"libcudnn 9.14.0"}),
            "libcudnn is 9.14.0 (build-id 0123456789abcdef0123), 9.15.0 (build-id fedcba9876543210fedc), not 9.14.0");
  EXPECT_NE(why({"libcudnn 9.15.0"}), "");
}

TEST(KnownIssueIsa, IsWhatTheLibraryChose) {
  KnownIssue issue{"g/k:*", Verdict::wrong, "r", "o", day(2027, 1, 1)};
  issue.isa = {"Prescott", "Nehalem"};
  Record record = passed();
  EXPECT_EQ(why_another(issue, {}, record, {}), "its selection names no isa");
  record.selection["isa"] = "Haswell";
  EXPECT_EQ(why_another(issue, {}, record, {}), "the library chose Haswell");
  record.selection["isa"] = "Nehalem";
  EXPECT_EQ(why_another(issue, {}, record, {}), "");
}

// ---- growth ----

Record taking(int registers, int local, int shared, uint64_t workspace, const std::string& id = kCase) {
  Record record = passed(id);
  record.output_hash = "0123456789abcdef";
  record.workspace_bytes = workspace;
  record.selection["kernel.0"] = "f(int) [registers=9] grid=1x1x1 block=64x1x1 registers=" + std::to_string(registers) +
                                 " local_bytes=" + std::to_string(local) + " shared_bytes=" + std::to_string(shared);
  record.selection["kernel.1"] = "g grid=1x1x1 block=64x1x1 registers=20 local_bytes=0 shared_bytes=0";
  return record;
}

std::vector<std::string> growth_of(const Record& before, const std::vector<Record>& now) {
  const Observed approved = observed_of(before);
  std::vector<std::string> texts;
  for (const Finding& finding : grown(now, [&](const Record&) { return Approval{&approved, ""}; })) {
    EXPECT_EQ(finding.kind, "growth");
    texts.push_back(finding.text);
  }
  return texts;
}

TEST(Growth, OfEachQuantityIsAFindingWithBothFigures) {
  const Record before = taking(128, 0, 1024, 512);
  EXPECT_THAT(growth_of(before, {taking(168, 0, 1024, 512)}),
              ElementsAre("gemm/openblas: registers of a thread grew, 128 -> 168 in " + std::string(kCase) +
                          ", and in 1 cases in all"));
  EXPECT_THAT(growth_of(before, {taking(128, 8, 1024, 512)}),
              ElementsAre(HasSubstr("(spills) of a thread grew, 0 -> 8")));
  EXPECT_THAT(growth_of(before, {taking(128, 0, 2048, 512)}),
              ElementsAre(HasSubstr("shared memory of a block grew, 1024 -> 2048")));
  EXPECT_THAT(growth_of(before, {taking(128, 0, 1024, 513)}), ElementsAre(HasSubstr("workspace grew, 512 -> 513")));
}

TEST(Growth, EqualOrLessIsNone) {
  const Record before = taking(128, 8, 1024, 512);
  EXPECT_THAT(growth_of(before, {before}), IsEmpty());
  EXPECT_THAT(growth_of(before, {taking(100, 0, 0, 0)}), IsEmpty());
}

TEST(Growth, ManyCasesOfAKernelAreOneFindingOfTheSteepest) {
  EXPECT_THAT(growth_of(taking(128, 0, 0, 0), {taking(130, 0, 0, 0), taking(140, 0, 0, 0, "gemm/openblas:m=2"),
                                               taking(120, 0, 0, 0), taking(135, 0, 0, 0)}),
              ElementsAre(HasSubstr("128 -> 140 in gemm/openblas:m=2, and in 3 cases in all")));
}

TEST(Growth, ASecondKernelBehindABusierOneIsSeenToo) {
  Record now = taking(128, 0, 0, 0);
  now.selection["kernel.1"] = "g grid=1x1x1 block=64x1x1 registers=30 local_bytes=0 shared_bytes=0";
  EXPECT_THAT(growth_of(taking(128, 0, 0, 0), {now}), ElementsAre(HasSubstr("20 -> 30")));
  now.selection.erase("kernel.1");
  EXPECT_THAT(growth_of(taking(128, 0, 0, 0), {now}), IsEmpty());
  now.selection["kernel.0"] = "f grid=1x1x1 block=64x1x1 registers=129 local_bytes=0 shared_bytes=0";
  EXPECT_THAT(growth_of(taking(128, 0, 0, 0), {now}), ElementsAre(HasSubstr("128 -> 129")));
}

TEST(Growth, WhatNobodyApprovedOrNotedSaysNothing) {
  EXPECT_THAT(grown({taking(1, 1, 1, 1)}, [](const Record&) { return Approval{}; }), IsEmpty());
  const Observed old{.bits = "0123456789abcdef", .selection = {}, .seeds = {}, .resources = {}};
  EXPECT_THAT(grown({taking(1, 1, 1, 1)}, [&](const Record&) { return Approval{&old, ""}; }), IsEmpty());
}

}  // namespace
}  // namespace assay
