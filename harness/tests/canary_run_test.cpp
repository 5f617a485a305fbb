// The two sides of a canary are judged in turn, whatever was recorded before, and whatever ends one of them.
#include "gate/canary_run.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "gate_run_fixture.h"
#include "scratch.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

class CanaryRun : public GateRun {
 protected:
  CanaryRun() { plan = make_plan(ops, {fake_kernel("gemm", "openblas")}, {}, {}); }

  RunJob side(const std::string& name, const std::set<std::string>& recorded = {}) {
    RunJob one = job;
    one.plan = &plan;
    one.recorded = recorded;
    one.append = [this, name](const Record& record) {
      const std::lock_guard lock(mutex);
      told.push_back(name + " " + record.kernel_id);
    };
    return one;
  }
  std::string id(size_t i) const { return plan.cases.at(i).id; }

  std::mutex mutex;
  std::vector<std::string> told;
};

TEST_F(CanaryRun, CasesAlternateAndSoDoesWhichComesFirst) {
  const auto endings = run_in_turn({side("pin"), side("candidate")});
  ASSERT_EQ(told.size(), 2 * plan.cases.size());
  for (size_t i = 0; i < plan.cases.size(); ++i) {
    const std::string first = i % 2 == 0 ? "pin " : "candidate ", second = i % 2 == 0 ? "candidate " : "pin ";
    EXPECT_EQ(told[2 * i], first + id(i));
    EXPECT_EQ(told[2 * i + 1], second + id(i));
  }
  EXPECT_FALSE(endings[0].stopped);
  EXPECT_EQ(endings[1].libraries.size(), 1u);
  EXPECT_EQ(script.most_at_work, 1);
}

TEST_F(CanaryRun, TheSideThatIsBehindGoesOnFirst) {
  run_in_turn({side("pin", {id(0), id(1)}), side("candidate", {id(0)})});
  EXPECT_EQ(told.at(0), "candidate " + id(1));
  EXPECT_EQ(told.at(1), "pin " + id(2));
  EXPECT_EQ(told.size(), 2 * plan.cases.size() - 3);
}

TEST_F(CanaryRun, ASideThatIsDoneDoesNotHoldTheOther) {
  std::set<std::string> all;
  for (const PlannedCase& planned : plan.cases) all.insert(planned.id);
  run_in_turn({side("pin", all), side("candidate")});
  EXPECT_EQ(told.size(), plan.cases.size());
}

TEST_F(CanaryRun, AStopEndsBothAndRecordsNothingMore) {
  const auto stop = [this] {
    const std::lock_guard lock(mutex);
    return told.size() == 3;
  };
  RunJob pin = side("pin"), candidate = side("candidate");
  pin.stop_asked = candidate.stop_asked = stop;
  const auto endings = run_in_turn({pin, candidate});
  EXPECT_TRUE(endings[0].stopped);
  EXPECT_TRUE(endings[1].stopped);
  EXPECT_EQ(told.size(), 3u);
}

TEST_F(CanaryRun, WhatASideThrowsEndsBothAndIsThrown) {
  RunJob candidate = side("candidate");
  candidate.append = [](const Record&) { throw UsageError("the disk is full"); };
  EXPECT_THAT(message_of([&] { run_in_turn({side("pin"), candidate}); }), HasSubstr("the disk is full"));
  EXPECT_LE(told.size(), 2u) << "the pin's side went on alone";
}

class PairsOfJudges : public CanaryRun {
 protected:
  // Both sides, three cases at a time.
  std::array<RunJob, 2> sides(const std::set<std::string>& of_pin = {},
                              const std::set<std::string>& of_candidate = {}) {
    std::array<RunJob, 2> jobs{side("pin", of_pin), side("candidate", of_candidate)};
    for (RunJob& one : jobs) one.jobs = 3;
    return jobs;
  }
  size_t place_of(const std::string& side, size_t i) {
    return static_cast<size_t>(std::ranges::find(told, side + " " + id(i)) - told.begin());
  }
};

TEST_F(PairsOfJudges, ShareTheCasesAndNoneWaits) {
  script.patience_ms = 200;
  const auto endings = run_in_turn(sides());
  ASSERT_EQ(told.size(), 2 * plan.cases.size());
  for (size_t i = 0; i + 3 < plan.cases.size(); ++i) {  // of one judge: every third
    EXPECT_LT(place_of("pin", i), place_of("pin", i + 3)) << id(i);
    EXPECT_LT(place_of("candidate", i), place_of("candidate", i + 3)) << id(i);
  }
  EXPECT_EQ(endings[0].libraries.size(), 3u);
  EXPECT_FALSE(endings[0].stopped);
  for (int again = 0; again < 20 && script.most_at_work <= 3; ++again) run_in_turn(sides());  // on a busy machine
  EXPECT_GT(script.most_at_work, 3) << "one of each pair waits";
}

TEST_F(PairsOfJudges, WhatIsTimedOrKnownAloneIsJudgedLastAndAlone) {
  for (PlannedCase& planned : plan.cases) planned.timed = planned.id == id(1);
  script.grows[id(2)] = false;
  script.patience_ms = 400;
  run_in_turn(sides());
  ASSERT_EQ(told.size(), 2 * plan.cases.size());
  EXPECT_TRUE(script.judged_alone.contains(id(1)));
  EXPECT_TRUE(script.judged_alone.contains(id(2))) << "beside others it is not known whether it leaks";
  EXPECT_FALSE(script.judged_alone.contains(id(0)));
  for (const char* name : {"pin", "candidate"}) {
    EXPECT_GE(place_of(name, 1), told.size() - 4);
    EXPECT_GE(place_of(name, 2), told.size() - 4);
  }
}

TEST_F(PairsOfJudges, TheSideThatIsNotTimedNeedNotWait) {
  RunJob pin = side("pin"), candidate = side("candidate");
  Plan timed = plan;
  timed.cases[1].timed = true;
  pin.plan = &timed;
  pin.jobs = candidate.jobs = 3;
  run_in_turn({pin, candidate});
  ASSERT_EQ(told.size(), 2 * plan.cases.size());
  EXPECT_EQ(told.back(), "pin " + id(1));
  EXPECT_LT(place_of("candidate", 1), told.size() - 1);
}

TEST_F(PairsOfJudges, RepeatNothingRecorded) {
  run_in_turn(sides({id(0), id(1)}, {id(0)}));
  EXPECT_EQ(told.size(), 2 * plan.cases.size() - 3);
  EXPECT_EQ(place_of("pin", 1), told.size()) << "it was recorded before";
  EXPECT_LT(place_of("candidate", 1), told.size());
}

TEST_F(PairsOfJudges, WhatASideThrowsEndsThemAllAndIsThrown) {
  std::array<RunJob, 2> jobs = sides();
  std::atomic<bool> thrown = false;
  jobs[1].append = [&](const Record&) {
    thrown = true;
    throw UsageError("the disk is full");
  };
  jobs[0].stop_asked = [&] {  // until the candidate's side has thrown, and some time for it to be known
    for (int ms = 0; ms < 5000 && !thrown; ++ms) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return false;
  };
  EXPECT_THAT(message_of([&] { run_in_turn(jobs); }), HasSubstr("the disk is full"));
  EXPECT_LT(told.size(), plan.cases.size()) << "the pin's side went on alone";
}

TEST_F(PairsOfJudges, AStopEndsThemAll) {
  std::array<RunJob, 2> jobs = sides();
  const auto stop = [this] {
    const std::lock_guard lock(mutex);
    return told.size() >= 3;
  };
  for (RunJob& one : jobs) one.stop_asked = stop;
  const auto endings = run_in_turn(jobs);
  EXPECT_TRUE(endings[0].stopped);
  EXPECT_TRUE(endings[1].stopped);
  EXPECT_LT(told.size(), 2 * plan.cases.size());
}

TEST_F(CanaryRun, AJudgeThatDiesCostsNoTurn) {
  script.deaths[id(1)] = 1;
  run_in_turn({side("pin"), side("candidate")});
  EXPECT_EQ(told.size(), 2 * plan.cases.size());
}

}  // namespace
}  // namespace assay
