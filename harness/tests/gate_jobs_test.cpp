// The coordinator with several judges side by side: who judges what, what is judged alone, deaths, stopping.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "gate/coordinator.h"
#include "gate/summary.h"
#include "gate_run_fixture.h"

namespace assay {
namespace {

// Records arrive one at a time whoever judged, and only what is timed waits until it is alone.
TEST_F(GateRun, SeveralJudgesShareTheCasesAndTimingIsAlone) {
  job.jobs = 3;
  script.patience_ms = 200;
  bool appending = false;
  job.append = [&](const Record& record) {
    EXPECT_FALSE(std::exchange(appending, true));
    records.push_back(record);
    appending = false;
  };
  const RunEnding ending = run({.timing = Timing::also}, bench_of("gemm:m=2,n=2,dtype=f32"));
  EXPECT_FALSE(ending.stopped);
  EXPECT_EQ(records.size(), 27u);
  EXPECT_TRUE(reconcile(plan, recorded_ids()).empty());
  EXPECT_EQ(summarize(records).exit_code, 0);
  EXPECT_EQ(script.started, 3);
  EXPECT_EQ(ending.libraries.size(), 3u);
  EXPECT_GT(script.most_at_work, 1);
  EXPECT_LE(script.most_at_work, 3);
  const std::set<std::string> timed{"gemm/openblas:m=2,n=2,dtype=f32", "gemm/simd:m=2,n=2,dtype=f32"};
  EXPECT_EQ(std::set<std::string>(script.sampled.begin(), script.sampled.end()), timed);
  for (const std::string& id : timed) {
    EXPECT_TRUE(script.judged_alone.contains(id)) << id;
    EXPECT_TRUE(timed.contains(records[records.size() - 1].kernel_id));
    EXPECT_TRUE(timed.contains(records[records.size() - 2].kernel_id));
  }
}

// Workers are begun anew for another module: each judge keeps to one, and helps another when it is through.
TEST_F(GateRun, SeveralJudgesKeepToModulesOfTheirOwn) {
  job.jobs = 2;
  script.patience_ms = 200;
  run();
  EXPECT_EQ(records.size(), 27u);
  EXPECT_TRUE(reconcile(plan, recorded_ids()).empty());
  EXPECT_LE(script.turned.size(), 4u);
}

// Whatever the sizes: where nobody is at work yet comes before a share of what somebody is at.
TEST_F(GateRun, AJudgeTakesASmallModuleBeforeHalfOfALargeOne) {
  job.jobs = 2;
  script.patience_ms = 200;
  run({.filters = {"gemm/simd", "gemm/openblas:m=1,n=1"}});
  EXPECT_EQ(records.size(), 10u);
  ASSERT_GE(script.turned.size(), 2u);
  EXPECT_EQ(std::set<std::filesystem::path>(script.turned.begin(), script.turned.begin() + 2),
            (std::set<std::filesystem::path>{"gemm_openblas.so", "gemm_simd.so"}));
}

// Not where most cases are left: gemm/simd has as many, each done in a moment.
TEST_F(GateRun, WhoIsThroughHelpsWhereMostIsToDo) {
  job.jobs = 3;
  const Clock::time_point begin = Clock::now();
  const auto wait_until = [&](const auto& is_so) {
    while (seconds_since(begin) < 60) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const std::lock_guard lock(script.mutex);
      if (is_so()) return;
    }
    ADD_FAILURE() << "waits in vain";
  };
  const auto two_of_softmax = [&] {
    return std::ranges::count_if(script.checked, [](const std::string& id) { return id.starts_with("softmax"); }) > 1;
  };
  script.before = [&](const KernelInfo& kernel) {
    const bool is_openblas = kernel.name == "openblas", is_softmax = kernel.op == "softmax";
    wait_until([&] {
      if (is_openblas) return two_of_softmax();
      return script.turned.size() > (is_softmax && !two_of_softmax() ? 2 : 3);
    });
    if (is_softmax) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  };
  run({.filters = {"gemm/simd", "softmax/simd", "gemm/openblas:m=1"}});
  EXPECT_EQ(records.size(), 21u);
  ASSERT_GT(script.turned.size(), 3u);
  EXPECT_EQ(script.turned[3], "softmax_simd.so");
}

TEST_F(GateRun, ALargeCaseIsJudgedAlone) {
  job.jobs = 2;
  script.patience_ms = 200;
  std::vector<KernelInfo> kernels = fake_kernels();
  for (KernelInfo& kernel : kernels) kernel.target = "cuda";
  run({.tier = Tier::ci, .filters = {"gemm/simd"}, .device = "cuda"}, {}, kernels);
  EXPECT_TRUE(script.judged_alone.contains("gemm/simd:m=70000,n=1,dtype=f32"));
  EXPECT_FALSE(script.judged_alone.contains("gemm/simd:m=1,n=1,dtype=f32"));
  EXPECT_EQ(records.back().kernel_id, "gemm/simd:m=70000,n=1,dtype=f32");
}

// A device's memory is everybody's: who seems to have left some in use is judged once more, alone, and that counts.
TEST_F(GateRun, GrowthSeenInCompanyIsLookedAtAlone) {
  job.jobs = 2;
  script.patience_ms = 200;
  script.grows[kFirst] = false;
  script.grows[kSecond] = true;
  run();
  EXPECT_EQ(records.size(), 27u);
  EXPECT_EQ(of(kFirst).verdict, Verdict::pass);
  EXPECT_EQ(of(kSecond).verdict, Verdict::memory);
  EXPECT_EQ(script.checked.size(), 29u);
  EXPECT_TRUE(script.judged_alone.contains(kFirst));
  EXPECT_TRUE(script.judged_alone.contains(kSecond));
}

// A second look could only lose it: what goes wrong beside others need not go wrong alone.
TEST_F(GateRun, AFailureSeenInCompanyStays) {
  job.jobs = 2;
  script.patience_ms = 200;
  script.grows[kFirst] = true;
  script.fails_once[kFirst] = {"accuracy", "never again"};
  script.fails_once[kSecond] = {"growth", "left processes behind: 1"};
  run();
  EXPECT_EQ(of(kFirst).verdict, Verdict::wrong);
  EXPECT_EQ(of(kSecond).verdict, Verdict::memory);
  EXPECT_EQ(script.checked.size(), 27u);
}

// A known issue excuses what it names; whether the kernel leaks is still to be seen.
TEST_F(GateRun, WhatIsKnownIsLookedAtAloneToo) {
  job.jobs = 2;
  script.patience_ms = 200;
  policy.known_issues = {{"gemm/openblas:*", Verdict::wrong, "upstream 123", "me", day(2026, 1, 15)}};
  for (const std::string& id : {kFirst, kSecond}) script.fails[id] = {"accuracy", "as ever"};
  script.grows[kFirst] = false;
  script.grows[kSecond] = true;
  run();
  EXPECT_EQ(of(kFirst).verdict, Verdict::known);
  EXPECT_EQ(of(kSecond).verdict, Verdict::wrong);
  EXPECT_EQ(script.checked.size(), 29u);
}

// Runs of other processes, say those of a selftest: then nobody is ever alone.
TEST_F(GateRun, GrowthBesideOtherRunsStaysUnknown) {
  job.beside_others = true;
  script.grows[kFirst] = true;
  run();
  EXPECT_EQ(script.checked.size(), 27u);
  EXPECT_EQ(of(kFirst).verdict, Verdict::pass);
  const auto unknown = [](const CheckResult& result) {
    return result.check == "growth" && result.outcome == Outcome::skipped && result.detail.starts_with(kGrewInCompany);
  };
  EXPECT_TRUE(std::any_of(of(kFirst).checks.begin(), of(kFirst).checks.end(), unknown));
}

TEST_F(GateRun, AJudgeOfSeveralThatDiesIsReplacedAndTheOthersGoOn) {
  job.jobs = 3;
  script.deaths[kFirst] = 1;
  script.deaths[kSecond] = 2;
  run();
  EXPECT_EQ(of(kFirst).verdict, Verdict::pass);
  EXPECT_EQ(of(kSecond).verdict, Verdict::error);
  EXPECT_EQ(records.size(), 27u);
}

TEST_F(GateRun, SeveralJudgesStopTogetherAndDropWhatIsInFlight) {
  job.jobs = 3;
  std::atomic<bool> stop = false;
  job.append = [&](const Record& record) {
    records.push_back(record);
    stop = records.size() == 5;
  };
  job.stop_asked = [&] { return stop.load(); };
  EXPECT_TRUE(run().stopped);
  EXPECT_EQ(records.size(), 5u);
}

TEST_F(GateRun, ARecordThatCannotBeKeptEndsTheRunOfAllJudges) {
  job.jobs = 3;
  job.append = [&](const Record&) { throw Error("no space left on the device"); };
  EXPECT_THROW(run(), Error);
  EXPECT_LE(script.checked.size(), 3u);
}

}  // namespace
}  // namespace assay
