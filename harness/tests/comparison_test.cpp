// A comparison of latencies from its cases to latency.json, over timing processes that are made up: what it is about,
// what comes of a slower kernel, and what an interruption loses.
#include "gate/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/draw.h"
#include "gate/comparison_start.h"
#include "gate/policy.h"
#include "gate_fakes.h"
#include "made_up_process.h"
#include "record/json_text.h"
#include "record/run_folder.h"
#include "scratch.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ComparisonTest : public ::testing::Test {
 protected:
  ComparisonTest() {
    // A process is up to 0.4 % off, by chance.
    world.answer = [this](size_t process, Timed timed) {
      Draw draw(31 * process + 7);
      const double off = 1 + 1e-5 * static_cast<double>(draw.below(400));
      for (auto& [unused, set] : timed.metrics) {
        for (int64_t& ns : set.nanoseconds) ns = static_cast<int64_t>(static_cast<double>(ns) * off);
      }
      return answer(process, std::move(timed));
    };
  }

  ComparisonJob job() {
    ComparisonJob job;
    job.compared.cases = {made_up_case(ops, "m=1,n=1,dtype=f32", "warm"),
                          made_up_case(ops, "m=2,n=1,dtype=f32", "warm")};
    job.policy = *read_policy(ASSAY_SOURCE_DIR "/ci/policy").latency;
    job.meter.start = [this] { return std::make_unique<MadeUpProcess>(world); };
    job.meter.machine = [] { return MachineState{}; };
    job.meter.voids = job.policy.voids.at("cpu");
    job.meter.samples = {.warm = 60, .cold = 60};
    job.meter.seed = 5;
    job.folder = scratch.path;
    job.ledger = {.base = "b", .change = "c"};
    job.save_ledger = [this](const AlphaLedger& ledger) { saved = ledger; };
    return job;
  }

  nlohmann::json written() const { return nlohmann::json::parse(content_of(scratch.path / "latency.json")); }
  size_t lines() const {
    const std::string text = content_of(scratch.path / "blocks.jsonl");
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  Scratch scratch;
  OpRegistry ops = fake_ops();
  TimedWorld world;
  std::function<Timed(size_t, Timed)> answer = [](size_t, Timed timed) { return timed; };
  AlphaLedger saved;
};

TEST_F(ComparisonTest, AnUnchangedKernelIsNotCalledSlower) {
  const auto comparison = compare_latencies(job());
  ASSERT_TRUE(comparison);
  EXPECT_NE(comparison->result.exit_code, 1);
  EXPECT_THAT(comparison->selections, SizeIs(2));  // the algorithm is the module's name
  EXPECT_EQ(comparison->selections[0].what, "algorithm: base.so -> change.so");
  EXPECT_EQ(written().at("cases").size(), 2u);
}

TEST_F(ComparisonTest, ASlowerKernelFailsWithItsEstimate) {
  world.us_of_module["change.so"] = 110;
  const auto comparison = compare_latencies(job());
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->result.exit_code, 1);
  const CaseResult& one = comparison->result.cases.at(0);
  EXPECT_EQ(worst_outcome(one), LatencyOutcome::regress);
  EXPECT_NEAR(one.pairs[0].reading.estimate, std::log(1.1), 0.01);
  EXPECT_TRUE(one.pairs[0].confirmed);
  EXPECT_THAT(saved.regressed, SizeIs(::testing::Ge(2u)));
  EXPECT_EQ(written().at("exit_code"), 1);
  EXPECT_EQ(written().at("cases")[0].at("outcome"), "regress");
}

TEST_F(ComparisonTest, AFasterKernelIsSaidToBeAndPasses) {
  world.us_of_module["change.so"] = 80;
  const auto comparison = compare_latencies(job());
  EXPECT_EQ(comparison->result.exit_code, 0);
  EXPECT_EQ(comparison->result.cases[0].pairs[0].outcome, LatencyOutcome::improved);
}

TEST_F(ComparisonTest, WhatTheBaseDoesNotTakeIsLeftOutWithTheReason) {
  answer = [](size_t process, Timed timed) { return process == 0 ? Timed{.refused = "needs m < 2"} : timed; };
  const auto comparison = compare_latencies(job());
  EXPECT_THAT(comparison->result.cases, IsEmpty());
  ASSERT_THAT(comparison->compared.left_out, SizeIs(2));
  EXPECT_EQ(comparison->compared.left_out[0].why, "the base refuses it: needs m < 2");
  EXPECT_EQ(comparison->result.exit_code, 0);
}

TEST_F(ComparisonTest, WhatTheChangeRefusesAndTheBaseTakesIsAFinding) {
  ComparisonJob asked = job();
  asked.compared.refused = {made_up_case(ops, "m=3,n=1,dtype=f32", "warm")};
  const std::string id = asked.compared.refused[0].kernel_id;
  const auto refused_by = [&](const std::vector<std::string>& modules) {
    for (const std::string& module : modules) world.refused.insert(module + " " + id);
    for (const char* file : {"plans.json", "blocks.jsonl"}) fs::remove(scratch.path / file);
    return compare_latencies(asked);
  };
  const auto lost = refused_by({"change.so"});
  EXPECT_EQ(lost->result.exit_code, 2);
  ASSERT_THAT(lost->result.findings, SizeIs(1));
  EXPECT_EQ(lost->result.findings[0].text, id + ": the base takes it, the change refuses it: too large");
  EXPECT_THAT(lost->result.cases, SizeIs(2)) << "it is not timed";
  const auto neither = refused_by({"base.so", "change.so"});
  EXPECT_EQ(neither->result.exit_code, 0);
  EXPECT_THAT(neither->result.findings, IsEmpty());
}

TEST_F(ComparisonTest, WhereTheBaseAloneFailsNothingIsKnown) {
  answer = [](size_t process, Timed timed) { return process == 0 ? Timed{.failed = "the worker died"} : timed; };
  const auto comparison = compare_latencies(job());
  ASSERT_THAT(comparison->result.cases, SizeIs(2));
  EXPECT_EQ(worst_outcome(comparison->result.cases[0]), LatencyOutcome::invalid);
  EXPECT_EQ(comparison->result.cases[0].pairs[0].reason, "where it is timed, the base fails: the worker died");
  EXPECT_THAT(comparison->compared.left_out, IsEmpty());
  EXPECT_EQ(comparison->result.exit_code, 3);
  EXPECT_THAT(saved.regressed, IsEmpty());
}

// It was judged correct there.
TEST_F(ComparisonTest, WhatTheChangeAloneDoesNotTakeFails) {
  answer = [](size_t process, Timed timed) { return process == 1 ? Timed{.failed = "SIGSEGV"} : timed; };
  const auto comparison = compare_latencies(job());
  ASSERT_THAT(comparison->result.cases, SizeIs(2));
  EXPECT_EQ(worst_outcome(comparison->result.cases[0]), LatencyOutcome::failed);
  EXPECT_EQ(comparison->result.cases[0].pairs[0].reason, "where it is timed, the change fails: SIGSEGV");
  EXPECT_THAT(comparison->compared.left_out, IsEmpty());
  EXPECT_EQ(comparison->result.exit_code, 1);
  EXPECT_EQ(written().at("cases")[0].at("outcome"), "failed");
  EXPECT_EQ(saved.gates, 1);
  ASSERT_THAT(saved.regressed, SizeIs(2)) << "another gate that it does not fail in is told";
  EXPECT_EQ(saved.regressed[0].failure, "where it is timed, the change fails: SIGSEGV");
}

TEST_F(ComparisonTest, WhatTheChangeFailedAtIsNotForgottenWhenItIsGoneOnWith) {
  const std::string first = job().compared.cases[0].kernel_id;
  answer = [&](size_t process, Timed timed) {
    const bool is_first = world.processes[process].back().kernel_id == first;
    return process == 1 && is_first ? Timed{.failed = "SIGSEGV"} : timed;
  };
  ComparisonJob stopped = job();
  int asked = 0;
  stopped.stop_asked = [&asked] { return asked++ > 0; };  // after both arms were planned
  EXPECT_FALSE(compare_latencies(std::move(stopped)));
  EXPECT_EQ(world.processes.size(), 2u);
  answer = [](size_t, Timed timed) { return timed; };
  const auto comparison = compare_latencies(job());
  EXPECT_EQ(comparison->result.exit_code, 1);
  EXPECT_EQ(comparison->result.cases.back().pairs[0].reason, "where it is timed, the change fails: SIGSEGV");
  const std::string plans = content_of(scratch.path / "plans.json");
  std::string other = plans;
  other.replace(other.find("\"failed\""), 8, "\"passed\"");
  for (const std::string& text : {std::string("[]"), std::string("{"), other}) {
    write_text(scratch.path / "plans.json", text);
    EXPECT_THAT(message_of([this] { compare_latencies(job()); }), HasSubstr("plans.json: ")) << text;
  }
}

TEST_F(ComparisonTest, WhatFailedWhileAStopWasAskedForIsNotRemembered) {
  answer = [](size_t process, Timed timed) { return process == 1 ? Timed{.failed = "SIGTERM"} : timed; };
  ComparisonJob stopped = job();
  stopped.stop_asked = [this] { return world.processes.size() > 1; };
  EXPECT_FALSE(compare_latencies(std::move(stopped)));
  EXPECT_THAT(saved.regressed, IsEmpty());
  EXPECT_EQ(compare_latencies(job())->result.exit_code, 0);
}

// Its blocks are of what was left when it was planned, whatever a base that failed then answers now.
TEST_F(ComparisonTest, WhatIsGoneOnWithIsPlannedNoMore) {
  world.us_of_module["change.so"] = 110;
  const std::string first = job().compared.cases[0].kernel_id;
  answer = [&](size_t process, Timed timed) {
    const bool is_first = world.processes[process].back().kernel_id == first;
    return process == 0 && is_first ? Timed{.failed = "the worker died"} : timed;
  };
  EXPECT_EQ(compare_latencies(job())->result.exit_code, 1);
  const std::string blocks = content_of(scratch.path / "blocks.jsonl");
  const size_t processes = world.processes.size();
  answer = [](size_t, Timed timed) { return timed; };
  world.us_of_module["change.so"] = 100;
  const auto again = compare_latencies(job());
  EXPECT_EQ(again->result.exit_code, 1);
  EXPECT_EQ(world.processes.size(), processes);
  EXPECT_EQ(content_of(scratch.path / "blocks.jsonl"), blocks);
  EXPECT_EQ(again->result.cases.back().pairs[0].reason, "where it is timed, the base fails: the worker died");
  EXPECT_THAT(saved.regressed, SizeIs(testing::Ge(1u)));
}

TEST_F(ComparisonTest, ABlockThatLacksCasesIsMeasuredAgainOnlyWhereItIsTheLast) {
  compare_latencies(job());
  const std::string blocks = content_of(scratch.path / "blocks.jsonl");
  const size_t line = blocks.find('\n') + 1, next = blocks.find('\n', line) + 1;
  write_text(scratch.path / "blocks.jsonl", blocks.substr(0, line) + blocks.substr(next));
  EXPECT_THAT(message_of([this] { compare_latencies(job()); }), HasSubstr("block 0 is of other cases"));
  write_text(scratch.path / "blocks.jsonl", blocks.substr(0, line));
  EXPECT_TRUE(compare_latencies(job()));
}

TEST_F(ComparisonTest, OfWhatFailsInBothArmsNothingIsKnown) {
  answer = [](size_t process, Timed timed) { return process < 2 ? Timed{.failed = "SIGSEGV"} : timed; };
  const auto comparison = compare_latencies(job());
  EXPECT_EQ(comparison->result.exit_code, 3);
  EXPECT_EQ(comparison->result.cases.at(0).pairs[0].reason,
            "where it is timed, the change fails: SIGSEGV; the base fails: SIGSEGV");
}

TEST_F(ComparisonTest, AKernelThatFailsInABlockOfTheChangeFails) {
  answer = [this](size_t process, Timed timed) {
    const bool is_change = world.processes[process].at(0).module == "change.so";
    return process >= 2 && is_change ? Timed{.failed = "SIGSEGV"} : timed;
  };
  const auto comparison = compare_latencies(job());
  EXPECT_EQ(comparison->result.exit_code, 1);
  EXPECT_EQ(comparison->result.cases.at(0).pairs[0].reason, "while it was timed, the change alone: failed: SIGSEGV");
}

// Two libraries under one module: only how a process is started tells the arms apart.
TEST_F(ComparisonTest, ProcessesOfEachArmAreStartedAsTheArmSays) {
  TimedWorld other = world;
  other.us_of_module["base.so"] = 120;
  ComparisonJob one = job();
  for (ArmCase& arm_case : one.compared.cases) arm_case.change = arm_case.base;
  one.meter.start_change = [&] { return std::make_unique<MadeUpProcess>(other); };
  const auto comparison = compare_latencies(std::move(one));
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->result.exit_code, 1);
  EXPECT_NEAR(comparison->result.cases[0].pairs[0].reading.estimate, std::log(1.2), 0.01);
  EXPECT_EQ(world.processes.size(), other.processes.size());
}

TEST_F(ComparisonTest, FirstCallsAreKeptBesideTheBlocksAndNotGated) {
  answer = [](size_t, Timed timed) {
    timed.metrics["first_call"].nanoseconds = {500'000};
    return timed;
  };
  ComparisonJob with = job();
  with.compared.first_calls = {made_up_case(ops, "m=1,n=1,dtype=f32", "first_call")};
  const auto comparison = compare_latencies(std::move(with));
  ASSERT_TRUE(comparison);
  EXPECT_THAT(comparison->result.cases, SizeIs(2));
  ASSERT_EQ(comparison->first_calls.size(), 1u);
  const auto& [id, times] = *comparison->first_calls.begin();
  EXPECT_EQ(id, "gemm/k:m=1,n=1,dtype=f32");
  EXPECT_EQ(times.base.size(), 2 * static_cast<size_t>(comparison->blocks));
  EXPECT_EQ(times.base.size(), times.change.size());
  EXPECT_NEAR(times.change.at(0), 500, 3) << "microseconds";
  EXPECT_EQ(lines(), 3 * static_cast<size_t>(comparison->blocks));
}

TEST_F(ComparisonTest, WhenTheTimeIsUpWhatIsUndecidedStaysSo) {
  ComparisonJob cut = job();
  size_t begun = 0;
  cut.progress = [&](int64_t, size_t) { ++begun; };
  cut.out_of_time = [&] { return begun == 2; };
  const auto comparison = compare_latencies(std::move(cut));
  ASSERT_TRUE(comparison);
  EXPECT_TRUE(comparison->out_of_time);
  EXPECT_EQ(comparison->blocks, 2);
  EXPECT_EQ(comparison->result.cases[0].pairs[0].outcome, LatencyOutcome::inconclusive);
  const auto whole = compare_latencies(job());
  EXPECT_FALSE(whole->out_of_time) << "what is recorded is read whatever the time";
  EXPECT_GT(whole->blocks, 2);
}

TEST_F(ComparisonTest, AnInterruptedOneGoesOnWhereItsBlocksEnd) {
  world.us_of_module["change.so"] = 110;
  const auto whole = compare_latencies(job());
  const size_t all = lines();
  std::filesystem::remove_all(scratch.path);
  std::filesystem::create_directory(scratch.path);

  size_t begun = 0;
  ComparisonJob first = job();
  first.progress = [&](int64_t, size_t) { ++begun; };
  first.stop_asked = [&] { return begun == 3; };  // while the third is measured, which is not believed
  EXPECT_FALSE(compare_latencies(first));
  EXPECT_EQ(lines(), 4u);
  EXPECT_FALSE(std::filesystem::exists(scratch.path / "latency.json"));

  std::vector<int64_t> measured;
  ComparisonJob second = job();
  second.progress = [&](int64_t block, size_t) { measured.push_back(block); };
  const auto resumed = compare_latencies(second);
  ASSERT_TRUE(resumed);
  EXPECT_EQ(measured.at(0), 2);
  EXPECT_EQ(resumed->blocks, whole->blocks);
  EXPECT_EQ(lines(), all);
  EXPECT_EQ(resumed->result.exit_code, 1);
}

// By then its own ledger knows of it: of a look's alpha, of what was called.
TEST_F(ComparisonTest, OneThatWasInterruptedAfterALookGoesOnFromTheLedgerItBeganWith) {
  world.us_of_module["change.so"] = 110;
  const fs::path path = scratch.path / "ledger.json";
  const LedgerFile ledger(path);
  double least_spent = 1;
  const auto begun = [&] {
    const ComparisonStart start = start_comparison(scratch.path, ledger, "b", "c");
    ComparisonJob one = job();
    one.ledger = start.ledger;
    one.known = start.known;
    one.meter.seed = start.seed;
    one.save_ledger = [&](const AlphaLedger& now) {
      ledger.save(now);
      least_spent = std::min(least_spent, now.spent);
    };
    return one;
  };
  const auto whole = compare_latencies(begun());
  ASSERT_TRUE(whole);
  ASSERT_EQ(whole->result.exit_code, 1);
  const std::string spent = content_of(path);
  EXPECT_EQ(least_spent, 0);
  fs::remove(scratch.path / "latency.json");  // killed before it was written
  least_spent = 1;
  const auto resumed = compare_latencies(begun());
  ASSERT_TRUE(resumed);
  EXPECT_EQ(resumed->result.exit_code, 1);
  EXPECT_EQ(resumed->blocks, whole->blocks);
  EXPECT_EQ(content_of(path), spent) << "it is not charged twice";
  EXPECT_GT(least_spent, 0) << "nor, killed while it reads its blocks, forgotten";
  EXPECT_EQ(resumed->result.cases[0].pairs[0].reason, whole->result.cases[0].pairs[0].reason);

  // Nor is it forgotten because its blocks, or the last of them, are gone.
  const std::string blocks = content_of(scratch.path / "blocks.jsonl");
  const size_t half = blocks.find('\n', blocks.size() / 2) + 1;
  for (const std::string& left : {std::string(), blocks.substr(0, half)}) {
    write_text(scratch.path / "blocks.jsonl", left);
    EXPECT_THAT(message_of([&] { compare_latencies(begun()); }),
                HasSubstr("blocks.jsonl or plans.json lacks what the ledger knows of this run"));
    EXPECT_EQ(content_of(path), spent);
  }
}

TEST_F(ComparisonTest, ABlockThatWasWrittenInPartIsMeasuredAgain) {
  ComparisonJob first = job();
  EXPECT_TRUE(record_blocks(first, 2));
  std::string text = content_of(scratch.path / "blocks.jsonl");
  text.resize(text.size() - 30);  // in the midst of the last case of the last block
  write_text(scratch.path / "blocks.jsonl", text);
  EXPECT_TRUE(record_blocks(first, 3));
  const std::vector<RecordedBlock> blocks = read_blocks(scratch.path / "blocks.jsonl");
  ASSERT_THAT(blocks, SizeIs(6));
  for (size_t i = 0; i < blocks.size(); ++i) EXPECT_EQ(blocks[i].number, static_cast<int64_t>(i / 2));
}

TEST_F(ComparisonTest, ARunWithBlocksOfAKernelThatFailedGoesOn) {
  answer = [](size_t process, Timed timed) {
    if (process != 1) return timed;
    timed.metrics.clear();
    timed.failed = "for a reason";
    return timed;
  };
  EXPECT_TRUE(record_blocks(job(), 2));
  EXPECT_TRUE(record_blocks(job(), 3));
  const std::vector<RecordedBlock> blocks = read_blocks(scratch.path / "blocks.jsonl");
  ASSERT_THAT(blocks, SizeIs(6));
  EXPECT_EQ(blocks[0].void_why, "failed: for a reason");
  EXPECT_FALSE(blocks[0].block.is_measured());
  for (size_t i = 2; i < blocks.size(); ++i) EXPECT_TRUE(blocks[i].block.is_measured());
}

TEST_F(ComparisonTest, WhatWasMeasuredSinceABlockInPartIsKept) {
  EXPECT_TRUE(record_blocks(job(), 2));
  std::string text = content_of(scratch.path / "blocks.jsonl");
  text.resize(text.size() - 30);
  write_text(scratch.path / "blocks.jsonl", text);
  const std::string first_two = text.substr(0, text.rfind('\n') + 1);
  EXPECT_TRUE(record_blocks(job(), 4));
  const std::string all = content_of(scratch.path / "blocks.jsonl");
  write_text(scratch.path / "blocks.jsonl", first_two);
  EXPECT_TRUE(record_blocks(job(), 4));
  EXPECT_EQ(lines(), 8u);
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 8);
}

TEST_F(ComparisonTest, BlocksOfAnotherComparisonAreRefused) {
  EXPECT_TRUE(record_blocks(job(), 1));
  ComparisonJob other = job();
  other.compared.cases.erase(other.compared.cases.begin());
  EXPECT_THAT(message_of([&] { compare_latencies(other); }), HasSubstr("block 0 is of other cases"));
}

TEST_F(ComparisonTest, NothingToMeasureIsAPassThatSaysSo) {
  ComparisonJob none = job();
  none.compared.cases.clear();
  none.compared.unchanged = {{"gemm/k", "the same machine code and data, 1"}};
  const auto comparison = compare_latencies(none);
  EXPECT_EQ(comparison->result.exit_code, 0);
  EXPECT_TRUE(world.processes.empty());
  EXPECT_EQ(written().at("unchanged")[0].at("what"), "gemm/k");
}

TEST_F(ComparisonTest, WhatWasCalledSlowerStaysSoWithoutACase) {
  ComparisonJob none = job();
  none.compared.cases.clear();
  none.ledger.regressed = {{{"gemm/k:m=1,n=1,dtype=f32 warm", LatencyMetric::p50}, {}}};
  const auto comparison = compare_latencies(none);
  EXPECT_EQ(comparison->result.exit_code, 1);
  EXPECT_THAT(comparison->result.findings.at(0).text, HasSubstr("called slower by an earlier gate"));
}

// What a run's folder holds after a comparison: a case of each kind of block, and numbers that are not finite.
Comparison sample() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Margin margin{.gates = true, .least = 0.003, .margin = 0.02};
  Comparison comparison{.base = "5c1f0e9a", .change = "d40b8812", .blocks = 2, .seconds = 1.5, .seed = 17};
  comparison.compared.unchanged = {{"gemm/openblas", "the same bytes"}};
  comparison.compared.left_out = {{"gemm/new", "the base does not have it"}};
  comparison.selections = {{"gemm/simd:m=2,dtype=f32", "algorithm: a -> b"}};
  CaseResult slower{.id = "gemm/simd:m=2,dtype=f32 warm", .latency_class = "cpu/warm/below-50us", .blocks = 2};
  slower.margins = {margin, margin, margin};
  const LatencyReading reading{.blocks = 2,
                               .estimate = std::log(1.25),
                               .interval = {-kInfinity, kInfinity},
                               .upper = kInfinity,
                               .p_slower = 0.25,
                               .p_faster = 1};
  slower.pairs[0] = {LatencyOutcome::regress, reading, true, "+25.00 % in 2 blocks"};
  slower.pairs[1] = {LatencyOutcome::pass, {.blocks = 2}, true, ""};
  slower.pairs[2] = {LatencyOutcome::inconclusive, {}, false, "the gate did not end"};
  CaseResult batched{
      .id = "gemm/simd:m=1,dtype=f32 warm", .latency_class = "cpu/warm/batched", .blocks = 1, .voids = 1};
  batched.margins = {margin, Margin{.note = "not gated: its samples are of batches"}, Margin{}};
  batched.margins[0].blind = true;
  batched.pairs[0].outcome = LatencyOutcome::invalid;
  comparison.result = {{slower, batched}, {{"voids", "one of them may cause it"}}, 1};
  return comparison;
}

std::vector<RecordedBlock> sample_blocks() {
  const SampleSet base{.nanoseconds = {1000, 1000, 1001}}, change{.nanoseconds = {1250, 1250, 1999}};
  std::vector<RecordedBlock> blocks;
  for (const BlockOrder order : {BlockOrder::abba, BlockOrder::baab}) {
    std::array<SampleSet, kProcessesOfABlock> samples;
    const auto number = std::ssize(blocks);
    RecordedBlock block{
        .latency_class = "cpu/warm/below-50us", .case_id = "gemm/simd:m=2,dtype=f32 warm", .number = number};
    for (size_t i = 0; i < samples.size(); ++i) {
      samples[i] = is_change(order, i) ? change : base;
      block.nanoseconds[i] = samples[i].nanoseconds;
    }
    block.block = block_of(order, samples);
    blocks.push_back(block);
  }
  const SampleSet batch{.nanoseconds = {4000, 4004}, .batch = 4};
  RecordedBlock of_batches{.latency_class = "cpu/warm/batched", .case_id = "gemm/simd:m=1,dtype=f32 warm"};
  of_batches.block = block_of(BlockOrder::abba, {batch, batch, batch, batch});
  blocks.push_back(of_batches);
  of_batches.number = 1;
  of_batches.void_why = "steal";
  of_batches.void_process = 2;
  blocks.push_back(of_batches);
  return blocks;
}

// The report reads these files, so that what is written here and what is read there cannot drift apart.
TEST(Comparison, TheReportsSampleIsWhatIsWritten) {
  Scratch scratch;
  write_comparison(scratch.path, sample());
  std::string lines;
  for (const RecordedBlock& block : sample_blocks()) lines += print_json(to_json(block), -1) + "\n";
  write_text(scratch.path / "blocks.jsonl", lines);
  EXPECT_EQ(read_blocks(scratch.path / "blocks.jsonl"), sample_blocks());
  const fs::path checked_in = fs::path(ASSAY_SOURCE_DIR) / "dashboards/tests/data/written";
  for (const char* name : {"latency.json", "blocks.jsonl"}) {
    const std::string written = content_of(scratch.path / name);
    if (std::getenv("ASSAY_UPDATE") != nullptr) write_text(checked_in / name, written);
    EXPECT_EQ(content_of(checked_in / name), written) << checked_in / name << " is stale: run with ASSAY_UPDATE=1";
  }
}

}  // namespace
}  // namespace assay
