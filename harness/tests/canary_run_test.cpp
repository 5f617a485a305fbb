// The two sides of a canary are judged in turn, whatever was recorded before, and whatever ends one of them.
#include "gate/canary_run.h"

#include <gmock/gmock.h>

#include <mutex>

#include "gate_run_fixture.h"
#include "scratch.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
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

TEST_F(CanaryRun, AJudgeThatDiesCostsNoTurn) {
  script.deaths[id(1)] = 1;
  run_in_turn({side("pin"), side("candidate")});
  EXPECT_EQ(told.size(), 2 * plan.cases.size());
}

}  // namespace
}  // namespace assay
