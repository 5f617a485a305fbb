// Blocks as they are measured, by timing processes that are made up: what a process is asked, what voids a block, and
// what does not.
#include "gate/block_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gate_fakes.h"
#include "made_up_process.h"

namespace assay {
namespace {

using ::testing::ElementsAre;

constexpr LatencyPolicy::Voids kVoids{.steal = 0.005, .foreign = 0.05, .sentinel = 0.02};

class BlockMeterTest : public ::testing::Test {
 protected:
  BlockMeter meter(std::vector<ArmCase> cases, bool prepares_at_once = false) {
    BlockMeter::Settings settings;
    settings.cases = std::move(cases);
    settings.start = [this] { return std::make_unique<MadeUpProcess>(world); };
    settings.machine = [this] {
      world.alive_when_read = world.alive;
      return world.states[std::min(world.readings++, world.states.size() - 1)];
    };
    settings.prepares_at_once = prepares_at_once;
    settings.voids = kVoids;
    settings.samples = {.warm = 60, .cold = 20};
    settings.seed = 7;
    return BlockMeter(std::move(settings));
  }
  BlockMeter three(bool prepares_at_once = false) {
    return meter({made_up_case(ops, "m=1,n=1,dtype=f32", "warm"), made_up_case(ops, "m=1,n=1,dtype=f32", "cold"),
                  made_up_case(ops, "m=2,n=1,dtype=f32", "warm")},
                 prepares_at_once);
  }

  TimedWorld world;
  OpRegistry ops = fake_ops();
};

TEST_F(BlockMeterTest, ABlockIsFourFreshProcessesTwoAnArmInEitherOrder) {
  std::set<std::string> orders;
  BlockMeter one = three();
  for (int64_t number = 0; number < 20; ++number) {
    world.processes.clear();
    const std::vector<RecordedBlock> blocks = one.measure(number, {0, 1, 2});
    ASSERT_EQ(world.processes.size(), 4u);
    ASSERT_EQ(blocks.size(), 3u);
    std::string order;
    for (const auto& process : world.processes) {
      order += process.at(0).module == "base.so" ? 'A' : 'B';
      for (const TimedWorld::Asked& asked : process) EXPECT_EQ(asked.module, process[0].module);
    }
    EXPECT_EQ(order, word_of(blocks[0].block.order));
    orders.insert(order);
  }
  EXPECT_THAT(orders, ElementsAre("ABBA", "BAAB"));
}

TEST_F(BlockMeterTest, AProcessPlansAKernelOnceAndTimesWhatIsWanted) {
  three().measure(0, {0, 1, 2});
  for (const auto& process : world.processes) {
    ASSERT_EQ(process.size(), 2u);
    for (const TimedWorld::Asked& asked : process) {
      EXPECT_EQ(asked.plan.warm_samples, 60);
      EXPECT_EQ(asked.plan.cold_samples, asked.kernel_id.find("m=1") == std::string::npos ? 0 : 20);
    }
  }
  world.processes.clear();
  three().measure(0, {1});
  for (const auto& process : world.processes) {
    ASSERT_EQ(process.size(), 1u);
    EXPECT_EQ(process[0].plan.warm_samples, 0);
  }
}

TEST_F(BlockMeterTest, TheProcessesTakeTurnsAtEveryCase) {
  three().measure(0, {0, 1, 2});
  EXPECT_THAT(world.turns, ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
  for (const auto& process : world.processes) EXPECT_EQ(process[0].kernel_id, world.processes[0][0].kernel_id);
}

TEST_F(BlockMeterTest, WherePreparingTakesLongAllProcessesPrepareBeforeAnyIsTimed) {
  three().measure(0, {0, 1, 2});
  EXPECT_TRUE(world.prepared.empty());
  world.processes.clear();
  world.turns.clear();
  BlockMeter at_once = three(true);
  at_once.measure(0, {0, 1, 2});
  ASSERT_EQ(world.prepared.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    std::vector<std::string> timed;
    for (const TimedWorld::Asked& asked : world.processes[i]) timed.push_back(asked.module + " " + asked.kernel_id);
    EXPECT_EQ(world.prepared.at(i), timed);
  }
  EXPECT_FALSE(world.prepared_late);
}

TEST_F(BlockMeterTest, AProcessThatDiesPreparingIsMeasuredAgain) {
  world.dies_preparing = 2;
  EXPECT_EQ(three(true).measure(0, {0, 1, 2}).size(), 3u);
  EXPECT_EQ(world.processes.size(), 8u);
}

TEST_F(BlockMeterTest, TurnsShareTheSamplesOfACase) {
  BlockMeter::Settings settings;
  settings.cases = {made_up_case(ops, "m=1,n=1,dtype=f32", "warm")};
  settings.start = [this] { return std::make_unique<MadeUpProcess>(world); };
  settings.machine = [] { return MachineState{}; };
  settings.voids = kVoids;
  settings.samples = {.warm = 61, .cold = 20, .seconds = 0.2, .enough = 50, .tail_seconds = 0.7, .turns = 4};
  const RecordedBlock block = BlockMeter(settings).measure(0, {0}).at(0);
  EXPECT_THAT(world.turns, ElementsAre(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3));
  std::set<uint64_t> scatters;
  for (const TimedWorld::Asked& asked : world.processes[2]) {
    EXPECT_EQ(asked.plan.warm_samples, 61);
    EXPECT_EQ(asked.plan.seconds_at_most, 0.2);
    EXPECT_EQ(asked.plan.enough, 50);
    EXPECT_EQ(asked.plan.enough_seconds, 0.7);
    EXPECT_EQ(asked.plan.turns, 4);
    scatters.insert(asked.plan.scatter);
  }
  EXPECT_EQ(scatters.size(), 4u);
  EXPECT_EQ(block.nanoseconds[2].size(), 64u);  // four times a quarter, rounded up
  EXPECT_EQ(block.block.processes[2].samples, 64);
}

TEST_F(BlockMeterTest, AStopEndsTheBlockBeforeTheNextTurn) {
  BlockMeter::Settings settings;
  settings.cases = {made_up_case(ops, "m=1,n=1,dtype=f32", "warm")};
  settings.start = [this] { return std::make_unique<MadeUpProcess>(world); };
  settings.machine = [] { return MachineState{}; };
  settings.voids = kVoids;
  settings.samples = {.warm = 60, .turns = 5};
  settings.stop_asked = [this] { return world.turns.size() >= 8; };
  EXPECT_TRUE(BlockMeter(settings).measure(0, {0}).empty());
  EXPECT_EQ(world.turns.size(), 8u);
}

TEST_F(BlockMeterTest, ATurnInBatchesLeavesTheCaseItsMedian) {
  const auto one = [this](int64_t first, int64_t second) {
    BlockMeter::Settings settings;
    settings.cases = {made_up_case(ops, "m=1,n=1,dtype=f32", "warm")};
    settings.start = [this] { return std::make_unique<MadeUpProcess>(world); };
    settings.machine = [] { return MachineState{}; };
    settings.voids = kVoids;
    settings.samples = {.warm = 60, .turns = 2};
    world.turns.clear();
    world.answer = [=, this](size_t, Timed timed) {
      SampleSet& set = timed.metrics.at("warm");
      set.batch = world.turns.size() <= 4 ? first : second;
      for (int64_t& ns : set.nanoseconds) ns *= set.batch;
      return timed;
    };
    return BlockMeter(settings).measure(0, {0}).at(0).block;
  };
  for (const auto& [first, second] : {std::pair{1, 4}, {4, 1}, {4, 8}}) {
    const CaseBlock block = one(first, second);
    EXPECT_TRUE(block.median_only);
    for (const ProcessLatency& process : block.processes) EXPECT_EQ(process.p50_us, 100);
  }
  EXPECT_FALSE(one(1, 1).median_only);
}

TEST_F(BlockMeterTest, BuffersLieElsewhereInEachProcessAndKernelsComeInAnyOrder) {
  std::set<uint64_t> scatters;
  std::set<std::string> firsts;
  BlockMeter one = three();
  for (int64_t number = 0; number < 10; ++number) one.measure(number, {0, 1, 2});
  for (const auto& process : world.processes) {
    firsts.insert(process[0].kernel_id);
    for (const TimedWorld::Asked& asked : process) scatters.insert(asked.plan.scatter);
  }
  EXPECT_EQ(scatters.size(), 80u);
  EXPECT_FALSE(scatters.contains(0));
  EXPECT_EQ(firsts.size(), 2u);
}

TEST_F(BlockMeterTest, TheSameSeedAndNumberDrawTheSame) {
  three().measure(3, {0, 1, 2});
  three().measure(3, {0, 1, 2});
  for (size_t process = 0; process < 4; ++process) {
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(world.processes[process][i].module, world.processes[process + 4][i].module);
      EXPECT_EQ(world.processes[process][i].plan.scatter, world.processes[process + 4][i].plan.scatter);
    }
  }
}

TEST_F(BlockMeterTest, WhatIsMeasuredIsTheArms) {
  world.us_of_module["change.so"] = 110;
  for (const RecordedBlock& block : three().measure(0, {0, 1, 2})) {
    EXPECT_FALSE(block.is_void());
    EXPECT_NEAR(block_deltas(block.block, 10)[0], std::log(1.1), 1e-12);
    EXPECT_TRUE(block.has_samples());
  }
}

TEST_F(BlockMeterTest, ASentinelThatMovesVoidsTheBlockForAllCases) {
  for (const double slow : {1.019, 1.021}) {
    const size_t first = world.processes.size();
    world.sentinel = [&](size_t process) { return SentinelTime{process == first + 2 ? 50 * slow : 50}; };
    for (const RecordedBlock& block : three().measure(0, {0, 1, 2})) {
      EXPECT_EQ(block.void_why, slow > 1.02 ? "sentinel" : "");
      EXPECT_EQ(block.void_process, slow > 1.02 ? 2 : -1);
    }
  }
}

// A thread that a kernel has left may end it while others take their turns, and after its last.
TEST_F(BlockMeterTest, AProcessThatIsLostBetweenTurnsFailsTheBlockForAllCases) {
  for (const int reading : {0, 2}) {
    const size_t third = world.processes.size() + 2;
    int readings = 0;
    world.sentinel = [&](size_t process) -> SentinelTime {
      if (process == third && readings++ == reading) return {.failed = "the worker died: SIGSEGV"};
      return {50};
    };
    for (const RecordedBlock& block : three().measure(0, {0, 1, 2})) {
      EXPECT_EQ(block.void_why, "failed: between two turns, the worker died: SIGSEGV");
      EXPECT_EQ(block.void_process, 2);
      EXPECT_FALSE(block.block.is_measured());
    }
  }
}

TEST_F(BlockMeterTest, WhetherLaunchesAreBatchedIsTheSameInEveryTurn) {
  std::vector<ArmCase> cases = {made_up_case(ops, "m=1,n=1,dtype=f32", "warm"),
                                made_up_case(ops, "m=1,n=1,dtype=f32", "cold"),
                                made_up_case(ops, "m=2,n=1,dtype=f32", "warm")};
  cases[0].latency_class = "cpu/warm/batched";
  cases[1].latency_class = "cpu/cold/below-50us";
  cases[2].latency_class = "cpu/warm/below-50us";
  meter(cases).measure(0, {0, 1, 2});
  for (const auto& process : world.processes) {
    for (const TimedWorld::Asked& asked : process) {
      EXPECT_THAT(asked.plan.single, ElementsAre(asked.kernel_id == cases[0].kernel_id ? "cold" : "warm"));
    }
  }
}

// The readings of a block: as it begins, before each kernel and after each process's turn at it, and as it ends.
std::vector<MachineState> states_with(size_t kernels, size_t reading,
                                      const std::function<void(MachineState&)>& change) {
  std::vector<MachineState> states;
  MachineState now;
  now.cpu = {.cpu_ticks = 0, .idle_ticks = 0, .steal_ticks = 0, .own_cpu_us = 0, .throttle_events = 0};
  for (size_t i = 0; i < 2 + 5 * kernels; ++i) {
    *now.cpu.cpu_ticks += 1000;  // ten seconds of one processor, five of them ours: one of this process
    *now.cpu.idle_ticks += 500;
    *now.cpu.own_cpu_us += 1'000'000;
    if (i == reading) change(now);
    states.push_back(now);
  }
  return states;
}

struct Disturbed {
  std::string why;
  int process;
  std::function<void(MachineState&)> change;
};

TEST_F(BlockMeterTest, WhatTheMachineDoesVoidsTheBlockAndIsAttributed) {
  world.seconds_spent = 11;  // 4 seconds for each of 11 stretches, in four processes
  world.states = states_with(2, 12, [](MachineState&) {});
  for (const RecordedBlock& block : three().measure(0, {0, 1, 2})) EXPECT_EQ(block.void_why, "");
  const std::vector<Disturbed> all = {
      {"steal", 2, [](MachineState& m) { *m.cpu.steal_ticks += 11, *m.cpu.idle_ticks -= 11; }},
      {"", -1, [](MachineState& m) { *m.cpu.steal_ticks += 9, *m.cpu.idle_ticks -= 9; }},
      {"foreign", -1, [](MachineState& m) { *m.cpu.idle_ticks -= 560; }},
      {"", -1, [](MachineState& m) { *m.cpu.idle_ticks -= 540; }},
      {"slowdown", 2, [](MachineState& m) { *m.cpu.throttle_events += 1; }},
      {"slowdown", -1, [](MachineState& m) { m.gpu.throttle_reasons = 0x40; }},
      {"", -1, [](MachineState& m) { m.gpu.throttle_reasons = 0x4; }},  // a power cap, which a kernel may bring about
      {"ecc", 2, [](MachineState& m) { m.gpu.corrected_errors = 1; }},
  };
  for (const Disturbed& one : all) {
    world.readings = 0;
    world.states = states_with(2, 4, one.change);  // after the third process's first turn
    for (const RecordedBlock& block : three().measure(0, {0, 1, 2})) {
      EXPECT_EQ(block.void_why, one.why);
      EXPECT_EQ(block.void_process, one.process);
    }
  }
}

// To take four processes down took 8 % of the processor time of a block of one tiny case, which none of them can tell.
TEST_F(BlockMeterTest, WhatTheProcessesSpendOnTheirEndIsNobodysWork) {
  three().measure(0, {0});
  EXPECT_EQ(world.alive_when_read, 4u);
  EXPECT_EQ(world.alive, 0u);
}

TEST_F(BlockMeterTest, WhatWasRecordedCanBeJudgedByOtherRules) {
  world.seconds_spent = 6;
  world.states = states_with(1, 4, [](MachineState& m) { *m.cpu.steal_ticks += 6, *m.cpu.idle_ticks -= 6; });
  RecordedBlock block = three().measure(0, {0}).at(0);
  EXPECT_EQ(block.void_why, "steal");
  EXPECT_NEAR(block.conditions[2].stolen, 0.006, 1e-12);
  LatencyPolicy::Voids rules = kVoids;
  rules.steal = 0.007;
  apply_void_rules(rules, block);
  EXPECT_FALSE(block.is_void());
  EXPECT_EQ(block.void_process, -1);
  apply_void_rules(kVoids, block);
  EXPECT_EQ(block.void_why, "steal");
  EXPECT_EQ(block.void_process, 2);
  RecordedBlock failed{.void_why = "failed", .void_process = 1};  // nothing of it was measured, whatever the rules
  apply_void_rules(rules, failed);
  EXPECT_EQ(failed.void_why, "failed");
}

TEST_F(BlockMeterTest, AKernelThatFailsOrRefusesVoidsItsOwnCasesAlone) {
  for (const char* how : {"failed", "refused"}) {
    const size_t first = world.processes.size();
    world.answer = [&](size_t process, Timed timed) {
      if (process != first + 1 || !timed.metrics.contains("cold")) return timed;
      timed.metrics.clear();
      (how == std::string("failed") ? timed.failed : timed.refused) = "for a reason";
      return timed;
    };
    const std::vector<RecordedBlock> blocks = three().measure(0, {0, 1, 2});
    EXPECT_EQ(blocks[0].void_why, how + std::string(": for a reason"));
    EXPECT_EQ(blocks[1].void_why, blocks[0].void_why);
    EXPECT_EQ(blocks[0].void_process, 1);
    EXPECT_FALSE(blocks[2].is_void());
  }
}

TEST_F(BlockMeterTest, AFailureIsOfAnArmUnlessItIsOfBoth) {
  const auto process_told = [&](const std::set<size_t>& failing) {
    const size_t first = world.processes.size();
    world.answer = [&, first](size_t process, Timed timed) {
      if (!failing.contains(process - first)) return timed;
      return Timed{.failed = "for a reason"};
    };
    return three().measure(0, {0}).at(0).void_process;
  };
  EXPECT_EQ(process_told({1, 2}), 1);
  EXPECT_EQ(process_told({0, 3}), 0);
  EXPECT_EQ(process_told({2, 3}), -1);
  EXPECT_EQ(process_told({0, 1, 2, 3}), -1);
}

TEST_F(BlockMeterTest, ABlockInWhichAJudgeDiesIsMeasuredAgainOnce) {
  world.deaths = {1};
  for (const RecordedBlock& block : three().measure(0, {0, 1, 2})) EXPECT_FALSE(block.is_void());
  EXPECT_EQ(world.processes.size(), 8u);
  world.deaths = {9, 14};
  EXPECT_THROW(three().measure(0, {0, 1, 2}), JudgeDied);
}

TEST_F(BlockMeterTest, PlansAreMadeWithoutASample) {
  const std::map<std::string, Timed> planned = three().planned(true);
  EXPECT_EQ(planned.size(), 2u);
  EXPECT_EQ(planned.begin()->second.selection.at("algorithm"), "change.so");
  for (const TimedWorld::Asked& asked : world.processes.at(0)) {
    EXPECT_EQ(asked.plan.warm_samples + asked.plan.cold_samples, 0);
  }
}

TEST_F(BlockMeterTest, PlansAreAskedForAgainOnceWhereAJudgeDies) {
  world.deaths = {0};
  EXPECT_EQ(three().planned(true).size(), 2u);
  world.deaths = {2, 3};
  EXPECT_THROW(three().planned(true), JudgeDied);
}

}  // namespace
}  // namespace assay
