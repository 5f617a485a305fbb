// The coordinator with a judge that does as it is told: records, deaths, resuming, stopping, goldens, known issues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "core/error.h"
#include "gate/coordinator.h"
#include "gate/summary.h"
#include "gate_run_fixture.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(GateRun, RecordsEveryPlannedCaseOnce) {
  const RunEnding ending = run();
  EXPECT_FALSE(ending.stopped);
  EXPECT_EQ(records.size(), 27u);
  EXPECT_EQ(recorded_ids().size(), 27u);
  EXPECT_TRUE(reconcile(plan, recorded_ids()).empty());
  EXPECT_EQ(summarize(records).exit_code, 0);
  EXPECT_EQ(script.started, 1);
  ASSERT_EQ(ending.libraries.size(), 1u);
  EXPECT_EQ(of(kFirst).repro, "assay repro '" + kFirst + "'");
}

TEST_F(GateRun, CasesMayBeAddedAsItGoes) {
  plan = plan_without_cases(ops, fake_kernels(), {});
  job.plan = &plan;
  job.more = [this] {
    EXPECT_EQ(records.size(), plan.cases.size()) << "the last one has its record";
    if (plan.cases.size() == 5) return false;
    const Case c = ops.parse_case("gemm:m=" + std::to_string(plan.cases.size()) + ",n=1,dtype=f32");
    plan.cases.push_back({0, c, c.kernel_id(plan.kernels[0].name), false});
    return true;
  };
  EXPECT_FALSE(run_plan(job).stopped);
  EXPECT_EQ(records.size(), 5u);
  EXPECT_TRUE(reconcile(plan, recorded_ids()).empty());
  job.stop_asked = [] { return true; };
  EXPECT_TRUE(run_plan(job).stopped) << "rather than all there is to do";
}

TEST_F(GateRun, ADrawnCaseThatProvesLittleIsWeakAndOneThatIsListedMistrusted) {
  script.fails[kFirst] = {"trust", "64 of 64 elements of y are 0"};
  run();
  EXPECT_EQ(of(kFirst).verdict, Verdict::mistrusted);
  EXPECT_EQ(summarize(records).exit_code, 2);

  records.clear();
  script.fails[kSecond] = {"accuracy", "y[0] got 1 want 2"};
  job.more = [] { return false; };
  run();
  EXPECT_EQ(of(kFirst).verdict, Verdict::pass);
  EXPECT_THAT(coverage_text(summarize(records)), HasSubstr("trust: 1 weak"));
  EXPECT_EQ(of(kSecond).verdict, Verdict::wrong) << "what is against the kernel counts";
}

TEST_F(GateRun, AReproLineBeginsWithTheProgramAsItWasCalled) {
  job.program = "my builds/bin/assay";
  run();
  EXPECT_EQ(of(kFirst).repro, "'my builds/bin/assay' repro '" + kFirst + "'");
}

TEST_F(GateRun, ReconcileNamesWhatIsMissingAndWhatIsTooMuch) {
  run();
  std::set<std::string> ids = recorded_ids();
  ids.erase(kFirst);
  ids.insert("gemm/ghost:m=1");
  EXPECT_THAT(reconcile(plan, ids), ::testing::ElementsAre("planned but not recorded: " + kFirst,
                                                           "recorded but not planned: gemm/ghost:m=1"));
}

TEST_F(GateRun, ResumingRepeatsNothing) {
  run();
  const std::set<std::string> all = recorded_ids();
  records.clear();
  script.checked.clear();
  job.recorded = all;
  job.recorded.erase(kSecond);
  run();
  EXPECT_EQ(script.checked, std::vector<std::string>{kSecond});
  EXPECT_EQ(recorded_ids(), std::set<std::string>{kSecond});
}

TEST_F(GateRun, AFailureIsAVerdictWithItsReasonAndNoOtherCaseChanges) {
  script.fails[kFirst] = {"accuracy", "c[3]: got 1, want 2, bound 0.1"};
  run();
  EXPECT_EQ(of(kFirst).verdict, Verdict::wrong);
  EXPECT_THAT(of(kFirst).reason, HasSubstr("c[3]: got 1, want 2, bound 0.1"));
  const Summary summary = summarize(records);
  EXPECT_EQ(summary.exit_code, 1);
  EXPECT_EQ(summary.totals.at(Verdict::pass), 26);
  ASSERT_EQ(summary.failures.size(), 1u);
  EXPECT_THAT(failure_text(*summary.failures[0], {}),
              AllOf(HasSubstr("assay repro '" + kFirst + "'"), HasSubstr("wrong")));
}

TEST_F(GateRun, WhatAKernelSaysIsOneLineOfATerminal) {
  script.fails[kFirst] = {"launch",
                          "launch: bad\nexit 0: pass\x1b[8m\xc2\x9b"
                          "8m \xc3\xbc"};
  run();
  const Summary summary = summarize(records);
  ASSERT_EQ(summary.failures.size(), 1u);
  const std::string text = failure_text(*summary.failures[0], {});
  EXPECT_THAT(text, HasSubstr("launch: bad\\nexit 0: pass\\x1b[8m\\xc2\\x9b8m \xc3\xbc\n"));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\x9b"))));
}

TEST_F(GateRun, AJudgeThatDiesOnceIsReplacedAndTheCaseRepeated) {
  script.deaths[kFirst] = 1;
  run();
  EXPECT_EQ(of(kFirst).verdict, Verdict::pass);
  EXPECT_EQ(of(kFirst).interruptions, 1);
  EXPECT_EQ(of(kSecond).interruptions, 0);
  EXPECT_EQ(records.size(), 27u);
  EXPECT_EQ(script.started, 2);
}

TEST_F(GateRun, ACaseThatKillsTheJudgeTwiceIsAnErrorAndTheRestGoesOn) {
  script.deaths[kFirst] = 2;
  run();
  EXPECT_EQ(of(kFirst).verdict, Verdict::error);
  EXPECT_THAT(of(kFirst).reason, AllOf(HasSubstr("died twice"), HasSubstr("signal 9")));
  EXPECT_EQ(of(kFirst).checks.size(), check_table().size());
  EXPECT_EQ(records.size(), 27u);
  EXPECT_EQ(script.started, 3);
  EXPECT_EQ(summarize(records).exit_code, 4);
}

TEST_F(GateRun, AWorkerKilledWhileLoadingCostsNothing) {
  script.failing_loads = 1;
  run();
  EXPECT_EQ(summarize(records).exit_code, 0);
}

TEST_F(GateRun, AModuleThatNoLongerLoadsIsAnError) {
  script.failing_loads = 2;
  run();
  EXPECT_EQ(of("gemm/openblas:m=1,n=1,dtype=f32").verdict, Verdict::error);
}

TEST_F(GateRun, AModuleThatChangesMeanwhileIsAnError) {
  script.rebuilt = true;
  run();
  EXPECT_EQ(of(kFirst).verdict, Verdict::error);
  EXPECT_THAT(of(kFirst).reason, HasSubstr("changed while the run went on"));
  EXPECT_TRUE(script.checked.empty());
}

TEST_F(GateRun, AnAnswerForAnotherKernelIsAnError) {
  script.misnamed.insert(kFirst);
  run();
  EXPECT_EQ(of(kFirst).verdict, Verdict::error);
  EXPECT_THAT(of(kFirst).reason, HasSubstr("answered for 'gemm/another"));
}

TEST_F(GateRun, AJudgeThatReportsAFailureOfItsOwnMakesAnErrorAndTheRestGoesOn) {
  script.internal_errors.insert(kFirst);
  run();
  EXPECT_EQ(of(kFirst).verdict, Verdict::error);
  EXPECT_THAT(of(kFirst).reason, HasSubstr("bad_alloc"));
  EXPECT_EQ(records.size(), 27u);
}

TEST_F(GateRun, ARefusalIsUnsupportedUnlessAnotherCheckFailed) {
  script.refused = {kFirst, kSecond};
  script.fails[kSecond] = {"guards", "byte -1 written"};
  run();
  EXPECT_EQ(of(kFirst).verdict, Verdict::unsupported);
  EXPECT_EQ(of(kFirst).reason, "needs m <= 2");
  EXPECT_EQ(of(kSecond).verdict, Verdict::memory);
}

TEST_F(GateRun, GoldensTakePartInTheVerdict) {
  job.apply_goldens = [](const KernelInfo&, Record& record) {
    if (record.kernel_id != kFirst) return;
    for (CheckResult& result : record.checks) {
      if (result.check == "golden-bits") result = check_result("golden-bits", Outcome::fail, "hash differs");
    }
  };
  run();
  EXPECT_EQ(of(kFirst).verdict, Verdict::changed);
}

TEST_F(GateRun, AMissingCheckIsAnError) {
  job.apply_goldens = [](const KernelInfo&, Record& record) { record.checks.pop_back(); };
  run();
  EXPECT_EQ(of(kFirst).verdict, Verdict::error);
  EXPECT_THAT(of(kFirst).reason, HasSubstr("was not done"));
}

TEST_F(GateRun, AStopDropsTheCaseInFlight) {
  job.stop_asked = [this] { return script.checked.size() >= 5; };
  const RunEnding ending = run();
  EXPECT_TRUE(ending.stopped);
  EXPECT_EQ(script.checked.size(), 5u);
  EXPECT_EQ(records.size(), 4u);
}

// What the judge has loaded may not have been told.
TEST_F(GateRun, AStopAfterTheLastCaseIsAStop) {
  job.stop_asked = [this] { return !records.empty(); };
  EXPECT_TRUE(run({.filters = {kFirst}}).stopped);
  EXPECT_EQ(recorded_ids(), std::set<std::string>{kFirst});
}

TEST_F(GateRun, AJudgeKilledByTheStopLeavesNoRecord) {
  script.deaths[kFirst] = 1;
  job.stop_asked = [this] { return !script.checked.empty(); };
  EXPECT_TRUE(run().stopped);
  EXPECT_TRUE(records.empty());
  EXPECT_EQ(script.started, 1);
}

TEST_F(GateRun, ADiskThatRefusesEndsTheRun) {
  job.append = [](const Record&) { throw UsageError("cannot append: No space left on device"); };
  EXPECT_THROW(run(), UsageError);
}

TEST_F(GateRun, OnlyCorrectKernelsAreTimed) {
  const std::string failing = "gemm/simd:m=64,n=1,dtype=f32";
  script.fails[failing] = {"accuracy", "off"};
  run({.timing = Timing::only}, bench_of("gemm:m=64,n=1,dtype=f32"));
  EXPECT_EQ(script.sampled, std::vector<std::string>{"gemm/openblas:m=64,n=1,dtype=f32"});
  EXPECT_TRUE(of(failing).latency.empty());
  EXPECT_EQ(of("gemm/openblas:m=64,n=1,dtype=f32").latency.size(), 1u);
}

TEST_F(GateRun, UntimedCasesAreNotSampled) {
  run();
  EXPECT_TRUE(script.sampled.empty());
}

TEST_F(GateRun, NoLatencyForATimedCaseIsAnError) {
  const std::string id = "gemm/simd:m=64,n=1,dtype=f32";
  script.no_latency.insert(id);
  run({.timing = Timing::only}, bench_of("gemm:m=64,n=1,dtype=f32"));
  EXPECT_EQ(of(id).verdict, Verdict::error);
}

TEST_F(GateRun, AnAnswerThatIsWrongWhereItIsTimedIsWrong) {
  const std::string id = "gemm/simd:m=64,n=1,dtype=f32";
  script.wrong_when_timed.insert(id);
  run({.timing = Timing::only}, bench_of("gemm:m=64,n=1,dtype=f32"));
  EXPECT_EQ(of(id).verdict, Verdict::wrong);
  EXPECT_EQ(of(id).reason, "accuracy: when it is timed");
  EXPECT_TRUE(of(id).latency.empty());
}

TEST_F(GateRun, AJudgeThatDiesWhileTimingIsReplacedToo) {
  const std::string id = "gemm/simd:m=64,n=1,dtype=f32";
  script.deaths_in_sample[id] = 1;
  run({.timing = Timing::only}, bench_of("gemm:m=64,n=1,dtype=f32"));
  EXPECT_EQ(of(id).verdict, Verdict::pass);
  EXPECT_EQ(of(id).interruptions, 1);
  EXPECT_EQ(of(id).latency.size(), 1u);
}

TEST_F(GateRun, AWorkspaceAboveThePolicysCapFailsTheContract) {
  std::vector<KernelInfo> kernels = fake_kernels();
  kernels[0].contract.workspace_limit = (1 << 20) + 1;
  run({}, {}, kernels);
  EXPECT_EQ(of("gemm/simd:m=1,n=1,dtype=f32").verdict, Verdict::contract);
  EXPECT_EQ(of(kFirst).verdict, Verdict::pass);
}

TEST_F(GateRun, KnownIssuesCountUntilTheyExpire) {
  script.fails[kFirst] = {"accuracy", "off"};
  policy.known_issues = {{"gemm/openblas:*", Verdict::wrong, "upstream 123", "me", day(2026, 1, 15)}};
  run();
  EXPECT_EQ(of(kFirst).verdict, Verdict::known);
  EXPECT_THAT(of(kFirst).reason, AllOf(HasSubstr("upstream 123"), HasSubstr("2026-01-15"), HasSubstr("off")));
  EXPECT_EQ(summarize(records).exit_code, 0);
  records.clear();
  job.today = day(2026, 1, 16);
  run();
  EXPECT_EQ(of(kFirst).verdict, Verdict::wrong);
}

// Those of the driver, and of the language, are of every kernel that a GPU has.
TEST_F(GateRun, LateLibrariesThatComputeNothingAreNotOfTheRecord) {
  script.late_libraries = {"libcuda.so.580.1 aa", "libengine.so.9 bb", "libnvidia-ptxjitcompiler.so.580.1 cc"};
  std::vector<std::string> applied;
  job.apply_goldens = [&](const KernelInfo&, Record& record) { applied = record.late_libraries; };
  run();
  EXPECT_EQ(of(kFirst).late_libraries, std::vector<std::string>{"libengine.so.9 bb"});
  EXPECT_EQ(applied, of(kFirst).late_libraries);
}

TEST_F(GateRun, AKnownIssueOfOneLibraryVersionIsNotKnownOfAnother) {
  script.fails[kFirst] = {"accuracy", "off"};
  policy.known_issues = {
      {"gemm/openblas:*", Verdict::wrong, "upstream", "me", day(2026, 2, 1), {"libopenblas 0.3.21"}}};
  const auto judged_with = [&](std::vector<LoadedLibrary> libraries) {
    records.clear();
    job.libraries = std::move(libraries);
    run();
    return of(kFirst);
  };
  const LoadedLibrary same{"/usr/lib/libopenblas.so.0", "0.3.21", "aa", {"gemm_openblas.so"}};
  const LoadedLibrary other{"/usr/lib/libopenblas.so.1", "0.3.22", "bb", {"gemm_openblas.so"}};
  EXPECT_EQ(judged_with({same}).verdict, Verdict::known);
  const Record judged = judged_with({other});
  EXPECT_EQ(judged.verdict, Verdict::wrong);
  EXPECT_THAT(judged.reason, AllOf(HasSubstr("off"), HasSubstr("; not the known issue of me, upstream: libopenblas is "
                                                               "0.3.22 (build-id bb), not 0.3.21")));
  LoadedLibrary of_another_module = same;
  of_another_module.modules = {"gemm_simd.so"};
  EXPECT_EQ(judged_with({of_another_module, other}).verdict, Verdict::wrong);
  EXPECT_THAT(judged_with({of_another_module}).reason, HasSubstr(": libopenblas is not loaded"));
  script.fails.clear();
  EXPECT_EQ(judged_with({other}).reason, "");
}

TEST_F(GateRun, AKnownIssueMayBeOfALibraryThatIsLoadedLate) {
  script.fails[kFirst] = {"accuracy", "off"};
  script.late_libraries = {"libengine.so.9.1 0123456789abcdef0123"};
  const auto verdict_with = [&](const char* library) {
    policy.known_issues = {{"gemm/openblas:*", Verdict::wrong, "upstream", "me", day(2026, 2, 1), {library}}};
    records.clear();
    run();
    return of(kFirst).verdict;
  };
  EXPECT_EQ(verdict_with("libengine 9.1"), Verdict::known);
  EXPECT_EQ(verdict_with("libengine 0123456789abcdef"), Verdict::known);
  EXPECT_EQ(verdict_with("libengine 9.2"), Verdict::wrong);
}

// Two failures, each the known one of a library: where one of them is another, neither is excused.
TEST_F(GateRun, AKnownIssueOfAnotherLibraryDoesNotHelpToExcuse) {
  script.fails[kFirst] = {"accuracy", "off"};
  policy.known_issues = {{"gemm/openblas:*", Verdict::wrong, "upstream", "me", day(2026, 2, 1)},
                         {"gemm/openblas:*", Verdict::memory, "upstream", "me", day(2026, 2, 1), {"libopenblas 1"}}};
  job.apply_goldens = [](const KernelInfo&, Record& record) {
    if (record.kernel_id != kFirst) return;
    for (CheckResult& result : record.checks) {
      if (result.check == "guards") result = check_result("guards", Outcome::fail, "byte -1 written");
    }
  };
  run();
  EXPECT_EQ(of(kFirst).verdict, Verdict::wrong);
  EXPECT_THAT(of(kFirst).reason, HasSubstr("not the known issue of me, upstream: libopenblas is not loaded"));
}

TEST_F(GateRun, AKnownIssueOfProcessorsThatLackAnInstructionSetIsNotKnownOfOthers) {
  script.fails[kFirst] = {"accuracy", "off"};
  policy.known_issues = {
      {"gemm/openblas:*", Verdict::wrong, "upstream", "me", day(2026, 2, 1), {}, {"amx_bf16", "avx512_bf16"}}};
  const auto verdict_with = [&](const Facts& environment) {
    records.clear();
    job.environment = environment;
    run();
    return of(kFirst).verdict;
  };
  EXPECT_EQ(verdict_with({{"cpu.instruction_sets", "avx2 avx512f avx512_bf16x"}}), Verdict::known);
  EXPECT_EQ(verdict_with({{"cpu.instruction_sets", "avx2 avx512_bf16"}}), Verdict::wrong);
  EXPECT_EQ(verdict_with({{"cpu.instruction_sets", "amx_bf16 avx2"}}), Verdict::wrong);
  EXPECT_EQ(verdict_with({{"cpu.instruction_sets", "unknown"}}), Verdict::wrong);
  EXPECT_EQ(verdict_with({}), Verdict::wrong);
}

TEST_F(GateRun, AKnownIssueExcusesNothingElse) {
  policy.known_issues = {{"gemm/openblas:m=1,n=1*", Verdict::wrong, "upstream", "me", day(2026, 2, 1)}};
  script.fails[kFirst] = {"guards", "byte -1 written"};  // other verdict
  script.fails[kSecond] = {"accuracy", "off"};           // other case
  run();
  EXPECT_EQ(of(kFirst).verdict, Verdict::memory);
  EXPECT_EQ(of(kSecond).verdict, Verdict::wrong);
}

TEST_F(GateRun, AKnownWrongResultDoesNotHideANewOverrun) {
  policy.known_issues = {{"gemm/openblas:*", Verdict::wrong, "upstream", "me", day(2026, 2, 1)}};
  script.fails[kFirst] = {"accuracy", "off"};
  job.apply_goldens = [](const KernelInfo&, Record& record) {
    if (record.kernel_id != kFirst) return;
    for (CheckResult& result : record.checks) {
      if (result.check == "guards") result = check_result("guards", Outcome::fail, "byte -1 written");
    }
  };
  run();
  EXPECT_EQ(of(kFirst).verdict, Verdict::wrong);
  EXPECT_EQ(summarize(records).exit_code, 1);
}

TEST(Summary, ExitCodesByPrecedence) {
  const auto code = [](std::vector<Verdict> verdicts) {
    std::vector<Record> records;
    for (const Verdict verdict : verdicts) {
      records.emplace_back();
      records.back().verdict = verdict;
    }
    return summarize(records).exit_code;
  };
  EXPECT_EQ(code({Verdict::pass, Verdict::unsupported, Verdict::known}), 0);
  EXPECT_EQ(code({Verdict::pass, Verdict::mistrusted}), 2);
  EXPECT_EQ(code({Verdict::inconclusive, Verdict::invalid}), 3);
  EXPECT_EQ(code({Verdict::invalid, Verdict::wrong}), 1);
  EXPECT_EQ(code({Verdict::wrong, Verdict::error, Verdict::pass}), 4);
}

TEST(Summary, CountsWhatWasNotRigorous) {
  std::vector<Record> records(1);
  records[0].checks = {check_result("accuracy", Outcome::weak), check_result("golden-bits", Outcome::no_baseline),
                       check_result("scaling", Outcome::skipped), check_result("guards", Outcome::not_applicable)};
  records[0].seconds = {{"oracle", 0.5}, {"launch", 1.5}};
  const std::string coverage = coverage_text(summarize(records));
  EXPECT_THAT(coverage, AllOf(HasSubstr("accuracy: 1 weak"), HasSubstr("golden-bits: 1 no-baseline"),
                              HasSubstr("scaling: 1 skipped"), ::testing::Not(HasSubstr("guards"))));
  EXPECT_THAT(cost_text(summarize(records), 2.0),
              AllOf(HasSubstr("2000.0 ms a case"), HasSubstr("launch 1.5 s, oracle 0.5 s")));
}

TEST(Summary, TellsWhichKernelsTheMachineCannotRun) {
  std::vector<Record> records(3);
  for (Record& record : records) record.op = "gemm", record.kernel = "half", record.verdict = Verdict::unsupported;
  records[0].reason = records[1].reason = "not available on this machine: needs AVX512-FP16";
  records[2].kernel = "simd";
  records[2].reason = "odd m";
  EXPECT_EQ(coverage_text(summarize(records)),
            "kernels that this machine cannot run:\n  gemm/half: 2 cases not judged: needs AVX512-FP16\n");
}

}  // namespace
}  // namespace assay
