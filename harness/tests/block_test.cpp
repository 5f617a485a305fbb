// measure/block and measure/blocks_file: what a block of four processes says, what it does not, and its line in a file.
#include "measure/block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/error.h"
#include "measure/blocks_file.h"
#include "record/json_text.h"
#include "scratch.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsNan;

// Samples whose median is `median` and of which `slow` are twice as long.
SampleSet samples(int64_t median, int count = 101, int slow = 0) {
  SampleSet set;
  for (int i = 0; i < count; ++i) set.nanoseconds.push_back(i < slow ? 2 * median : median);
  return set;
}

CaseBlock block(BlockOrder order, const std::array<int64_t, 4>& medians) {
  return block_of(order, {samples(medians[0]), samples(medians[1]), samples(medians[2]), samples(medians[3])});
}

double p50_of(const CaseBlock& block) { return block_deltas(block, 0)[0]; }

TEST(Block, TheOrderTellsTheArms) {
  const auto arms = [](BlockOrder order) {
    std::string word;
    for (size_t i = 0; i < kProcessesOfABlock; ++i) word += is_change(order, i) ? 'B' : 'A';
    return word;
  };
  for (const BlockOrder order : {BlockOrder::abba, BlockOrder::baab}) EXPECT_EQ(arms(order), word_of(order));
}

TEST(Block, DeltasAreOfTheChangeAgainstTheBase) {
  const CaseBlock abba = block(BlockOrder::abba, {1000, 1020, 1040, 1010});
  EXPECT_NEAR(p50_of(abba), (std::log(1020) + std::log(1040) - std::log(1000) - std::log(1010)) / 2, 1e-12);
  EXPECT_NEAR(p50_of(block(BlockOrder::baab, {1000, 1020, 1040, 1010})), -p50_of(abba), 1e-12);
  EXPECT_EQ(p50_of(block(BlockOrder::abba, {1000, 1000, 1000, 1000})), 0) << "all samples are equal";
}

// exp(a t) has a logarithm that is linear in time: whatever a is, neither order shows it.
TEST(Block, ADriftThatIsLinearInTimeCancels) {
  std::array<int64_t, 4> medians{};
  for (size_t i = 0; i < medians.size(); ++i) {
    medians[i] = std::llround(1e12 * std::exp(0.05 * static_cast<double>(i)));
  }
  for (const BlockOrder order : {BlockOrder::abba, BlockOrder::baab}) {
    EXPECT_NEAR(p50_of(block(order, medians)), 0, 1e-11);
  }
}

TEST(Block, EveryMetricOfASecondModeAndOfAStall) {
  // In the change's processes 20 of 100 samples are twice as long: beyond the ninetieth percentile and 1.05 medians.
  const CaseBlock mode = block_of(
      BlockOrder::abba, {samples(1000, 100), samples(1000, 100, 20), samples(1000, 100, 20), samples(1000, 100)});
  EXPECT_THAT(block_deltas(mode, 50), ElementsAre(0, std::log(2), 0.2, 0.2));
  // One in 100: the fractions alone see it. And the pooled p99, of 200 samples, between the last of the median and the
  // first.
  const CaseBlock stall = block_of(
      BlockOrder::baab, {samples(1000, 100, 1), samples(1000, 100), samples(1000, 100), samples(1000, 100, 1)});
  EXPECT_THAT(block_deltas(stall, 50), ElementsAre(0, 0, 0.01, 0.01));
  EXPECT_EQ(stall.pooled_p99_us[0], 1);
  EXPECT_NEAR(stall.pooled_p99_us[1], 1 + 0.01, 1e-12);  // position 199 * 0.99 = 197.01 of 198 samples of 1 us
}

// A mode of launches 1.1 times as long is in the tail, and no stall.
TEST(Block, AStallIsLongerThanASlowLaunch) {
  SampleSet mode = samples(1000, 100);
  for (size_t i = 0; i < 20; ++i) mode.nanoseconds[i] = 1100;
  mode.nanoseconds[0] = 1401;
  mode.nanoseconds[1] = 1400;
  const CaseBlock block = block_of(BlockOrder::abba, {samples(1000), mode, mode, samples(1000)});
  EXPECT_DOUBLE_EQ(block_deltas(block, 50)[2], 0.2);
  EXPECT_DOUBLE_EQ(block_deltas(block, 50)[3], 0.01);
}

TEST(Block, BatchesAndCoarseSamplesHaveAMedianOnly) {
  for (const auto& spoil : {std::function([](SampleSet& set) { set.batch = 4; }),
                            std::function([](SampleSet& set) { set.coarse = true; })}) {
    std::array<SampleSet, 4> processes{samples(1000), samples(1000), samples(1000), samples(1000)};
    spoil(processes[2]);
    const CaseBlock spoilt = block_of(BlockOrder::abba, processes);
    EXPECT_TRUE(spoilt.median_only);
    const PerMetric<double> deltas = block_deltas(spoilt, 1);
    EXPECT_FALSE(std::isnan(deltas[0]));
    EXPECT_TRUE(std::isnan(deltas[1]) && std::isnan(deltas[2]) && std::isnan(deltas[3]));
  }
}

TEST(Block, ABatchIsDividedByItsLaunches) {
  SampleSet batch = samples(8000);
  batch.batch = 8;
  EXPECT_NEAR(p50_of(block_of(BlockOrder::abba, {samples(1000), batch, batch, samples(1000)})), 0, 1e-12);
}

TEST(Block, ATailNeedsSamplesInEveryProcess) {
  const CaseBlock few =
      block_of(BlockOrder::abba, {samples(1000, 50), samples(1000, 50), samples(1000, 49), samples(1000, 50)});
  EXPECT_TRUE(std::isnan(block_deltas(few, 50)[2]));
  EXPECT_TRUE(std::isnan(block_deltas(few, 50)[3]));
  EXPECT_EQ(block_deltas(few, 49)[2], 0);
  EXPECT_EQ(block_deltas(few, 50)[1], 0) << "the others do not";
}

TEST(Block, SamplesThatAreNoneAreRefused) {
  EXPECT_THROW(process_latency({}), Error);
  EXPECT_THROW(process_latency({1, -1, 1}), Error);
  EXPECT_THROW(process_latency({1, NAN, 1}), Error);
  EXPECT_THROW(process_latency({1, INFINITY, 1}), Error);
  EXPECT_THROW(process_latency({0, 0, 1}), Error) << "a median of 0 has no logarithm";
  EXPECT_EQ(process_latency({0, 1, 1}).p50_us, 1) << "a zero beside it does no harm";
  EXPECT_EQ(process_latency({2}).p90_us, 2) << "one sample is what it is";
  SampleSet no_batch = samples(1000);
  no_batch.batch = 0;
  EXPECT_THROW(block_of(BlockOrder::abba, {no_batch, samples(1), samples(1), samples(1)}), Error);
}

TEST(Block, MetricsHaveNames) {
  for (const LatencyMetric metric : kLatencyMetrics) EXPECT_EQ(metric_named(word_of(metric)), metric);
  EXPECT_THAT(message_of([] { metric_named("p99"); }),
              HasSubstr("no latency metric 'p99'; there are p50, p90, tail and stall"));
}

RecordedBlock recorded(bool keep) {
  const std::array<SampleSet, 4> processes{samples(1000, 100, 1), samples(1010, 100), samples(1030, 100, 3),
                                           samples(990, 100)};
  RecordedBlock one{.latency_class = "cpu/short", .case_id = "softmax/simd:rows=3", .number = 7};
  one.block = block_of(BlockOrder::baab, processes);
  one.conditions[2] = {.stolen = 0.01, .foreign = -0.002, .sentinel_us = 61.5, .event = "slowdown"};
  for (size_t i = 0; keep && i < processes.size(); ++i) one.nanoseconds[i] = processes[i].nanoseconds;
  return one;
}

std::string line_of(const RecordedBlock& block) { return print_json(to_json(block)) + "\n"; }

TEST(BlocksFile, ALineReadsBackAsItWas) {
  for (const bool keep : {false, true}) {
    EXPECT_EQ(block_from_json(parse_json(line_of(recorded(keep)))), recorded(keep));
  }
  RecordedBlock voided = recorded(false);
  voided.void_why = "steal";
  voided.void_process = 2;
  voided.block.median_only = true;
  EXPECT_EQ(block_from_json(parse_json(line_of(voided))), voided);
}

TEST(BlocksFile, OnlyAVoidBlockMayHaveMeasuredNothing) {
  RecordedBlock failed{.latency_class = "cpu/short", .case_id = "softmax/simd:rows=3", .number = 7};
  failed.block.order = BlockOrder::baab;
  failed.void_why = "failed";
  failed.void_process = 1;
  EXPECT_FALSE(failed.block.is_measured());
  EXPECT_THAT(block_deltas(failed.block, 0), Each(IsNan()));
  const std::string line = line_of(failed);
  EXPECT_EQ(block_from_json(parse_json(line)), failed);
  nlohmann::json json = parse_json(line);
  json["pooled_p99_us"][1] = 3;
  EXPECT_THAT(message_of([&] { block_from_json(json); }), HasSubstr("processes: holds something that is no duration"));
  json = parse_json(line);
  json["void"] = nullptr;
  EXPECT_THAT(message_of([&] { block_from_json(json); }), HasSubstr("processes: holds something that is no duration"));
}

TEST(BlocksFile, AStallThatNobodyKeptIsNotKnown) {
  nlohmann::json json = to_json(recorded(false));
  for (auto& process : json["processes"]) process[5] = "nan";
  EXPECT_THAT(message_of([&] { block_from_json(json); }), HasSubstr("deltas.stall: does not follow"));
  json["deltas"]["stall"] = "nan";
  const CaseBlock block = block_from_json(json).block;
  EXPECT_TRUE(std::isnan(block_deltas(block, 0)[3]));
  EXPECT_EQ(block_deltas(block, 0)[2], block_deltas(recorded(false).block, 0)[2]);
  EXPECT_EQ(to_json(block_from_json(json)), json);
}

// What the sampler gives, through block_of(), into a line and back.
TEST(BlocksFile, BlocksOfCoarseSamplesReadBack) {
  SampleSet coarse = samples(1000);
  coarse.coarse = true;
  RecordedBlock one{.latency_class = "cpu/coarse", .case_id = "softmax/simd:rows=3", .number = 7};
  one.block = block_of(BlockOrder::abba, {coarse, coarse, coarse, coarse});
  EXPECT_TRUE(one.block.median_only);
  EXPECT_EQ(block_from_json(parse_json(line_of(one))), one);
}

TEST(BlocksFile, ReadsWholeLinesAndLeavesATornOneOut) {
  const Scratch scratch;
  const auto file = scratch.path / "blocks.jsonl";
  RecordedBlock second = recorded(true);
  second.number = 8;
  const std::string last = line_of(second);
  write_text(file, line_of(recorded(false)) + last.substr(0, last.size() / 2));
  EXPECT_EQ(read_blocks(file).size(), 1u);
  write_text(file, line_of(recorded(false)) + last);
  EXPECT_EQ(read_blocks(file).size(), 2u);
  EXPECT_THAT(parse_blocks("", "empty"), IsEmpty());
  EXPECT_THAT(message_of([&] { read_blocks(scratch.path / "none"); }), HasSubstr("none"));
}

TEST(BlocksFile, WhatIsNoBlockIsRefusedByFileLineAndKey) {
  const auto refusal = [](const std::function<void(nlohmann::json&)>& spoil) {
    nlohmann::json json = to_json(recorded(true));
    spoil(json);
    return message_of([&] { parse_blocks(line_of(recorded(false)) + json.dump() + "\n", "f.jsonl"); });
  };
  EXPECT_THAT(refusal([](auto& json) { json["block"] = 9; }), "no UsageError");
  EXPECT_THAT(refusal([](auto&) {}),
              AllOf(HasSubstr("f.jsonl:2: block: 7 of this case twice"), HasSubstr("take the line out")));
  EXPECT_THAT(refusal([](auto& json) { json.erase("case"); }), HasSubstr("case: is missing"));
  EXPECT_THAT(refusal([](auto& json) { json["order"] = "AABB"; }), HasSubstr("order: 'AABB' is neither ABBA nor BAAB"));
  EXPECT_THAT(refusal([](auto& json) { json["processes"].erase(3); }), HasSubstr("processes: not an array of 4"));
  EXPECT_THAT(refusal([](auto& json) { json["processes"][1] = 3; }), HasSubstr("processes: not four of"));
  EXPECT_THAT(refusal([](auto& json) { json["processes"][1].erase(5); }), HasSubstr("processes: not four of"));
  EXPECT_THAT(refusal([](auto& json) { json["processes"][1][1] = 0; }), HasSubstr("no duration"));
  EXPECT_THAT(refusal([](auto& json) { json["processes"][1][1] = "nan"; }), HasSubstr("no duration"));
  EXPECT_THAT(refusal([](auto& json) { json["processes"][1][0] = 0; }), HasSubstr("a process without samples"));
  EXPECT_THAT(refusal([](auto& json) { json["processes"][1][4] = 1.5; }), HasSubstr("a tail that is no fraction"));
  EXPECT_THAT(refusal([](auto& json) { json["processes"][1][5] = 0.5; }), HasSubstr("a stall that is no fraction of"));
  EXPECT_THAT(refusal([](auto& json) { json["processes"][1][5] = "0"; }), HasSubstr("processes: not four of"));
  EXPECT_THAT(refusal([](auto& json) { json["deltas"]["p50"] = 0.0; }),
              HasSubstr("deltas.p50: does not follow from the block's processes"));
  EXPECT_THAT(refusal([](auto& json) { json["pooled_p99_us"][0] = -1; }), HasSubstr("pooled_p99_us"));
  EXPECT_THAT(refusal([](auto& json) {
                json["void"] = {{"why", "steal"}, {"process", 4}};
              }),
              HasSubstr("void.process: not from -1 to 3"));
  EXPECT_THAT(refusal([](auto& json) { json["void"] = {{"why", ""}, {"process", 1}}; }), HasSubstr("void.why: empty"));
  EXPECT_THAT(refusal([](auto& json) { json.erase("conditions"); }), HasSubstr("conditions: not an array of 4"));
  EXPECT_THAT(refusal([](auto& json) { json["conditions"][1][3] = 1; }), HasSubstr("conditions: not four of"));
  EXPECT_THAT(refusal([](auto& json) { json["nanoseconds"][0][0] = 3; }), HasSubstr("do not follow"));
  EXPECT_THAT(refusal([](auto& json) { json["nanoseconds"][0][0] = -3; }), HasSubstr("no duration"));
  EXPECT_THAT(refusal([](auto& json) { json["nanoseconds"][0].clear(); }), HasSubstr("do not follow"));
  EXPECT_THAT(refusal([](auto& json) {
                json["median_only"] = true;
                json["deltas"]["p90"] = json["deltas"]["tail"] = json["deltas"]["stall"] = "nan";
              }),
              HasSubstr("nanoseconds: given of a block of medians"));
}

}  // namespace
}  // namespace assay
