// What a selftest is told to have found, from trials made up here.
#include "gate/selftest_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "record/json_text.h"
#include "record/verdict.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

FaultTrial trial(const std::string& name, const std::string& family, std::vector<Kill> kills,
                 const std::string& survives = "") {
  return {{.name = name,
           .target = "cpu",
           .module = "gemm_simd",
           .family = family,
           .witness = "gemm/simd:m=9",
           .what = "what " + name + " does",
           .precision = family == "tf32",
           .survives = survives},
          std::move(kills)};
}

// Two killed, one of them in the smoke tier; one survivor that its witness shows, and one that is explained.
SelftestResult sample() {
  SelftestResult result;
  result.device = "cpu";
  result.finished = "2025-01-01T00:00:00Z";
  result.environment = {{"cpu.model", "Example CPU"}};
  result.libraries = {{"libm", "version 6 (build-id ab)"}};
  result.cases = {{"gemm:m=1", "gemm:m=2"}, {"gemm:m=1"}};
  const auto kill = [](const std::string& id, std::set<std::string> checks) {
    return Kill{id, Verdict::wrong, std::move(checks), 0.5};
  };
  result.trials = {
      trial("tail", "dropped-tail", {kill("gemm/simd:m=1", {"accuracy"}), kill("gemm/simd:m=2", {"unwritten"})}),
      trial("cut", "tf32", {kill("gemm/simd:m=2", {"golden-bits"}), kill("gemm/simd:m=9", {"accuracy"})}),
      trial("edge", "dropped-tail", {kill("gemm/simd:m=9", {"guards"})}),
      trial("same", "race", {}, "it is none on this machine")};
  result.beyond = {{"large", "gemm/simd:m=8 is error without the fault"}};
  return result;
}

TEST(SelftestResult, IsShortOfATargetOnlyWhereAllFaultsWereJudged) {
  SelftestResult result = sample();
  EXPECT_THAT(shortfalls(result), testing::ElementsAre("edge survives, and nobody said why"));
  EXPECT_EQ(exit_code_of(result), 1);
  result.whole = true;
  EXPECT_THAT(shortfalls(result), Contains("killed: 2 of 4 (50.0 %), of which 99 % should be"));
  result.trials.resize(1);
  EXPECT_THAT(shortfalls(result), IsEmpty());
  EXPECT_EQ(exit_code_of(result), 0);
  result.alarms = {"gemm/simd:m=1: wrong, x"};
  EXPECT_THAT(shortfalls(result), testing::ElementsAre("false alarms"));
  result.not_judged = {{"tail", "exit 4"}};
  EXPECT_EQ(exit_code_of(result), 4);
}

TEST(SelftestResult, WhateverKeepsAGateFromPassingIsAnAlarm) {
  for (const Verdict verdict : {Verdict::wrong, Verdict::crashed, Verdict::mistrusted, Verdict::error}) {
    EXPECT_TRUE(is_alarm(verdict)) << word_of(verdict);
    EXPECT_TRUE(may_alarm(verdict)) << word_of(verdict);
  }
  EXPECT_FALSE(is_alarm(Verdict::pass));
  EXPECT_TRUE(may_alarm(Verdict::pass));
  for (const Verdict verdict : {Verdict::unsupported, Verdict::known}) {
    EXPECT_FALSE(is_alarm(verdict)) << word_of(verdict);
    EXPECT_FALSE(may_alarm(verdict)) << word_of(verdict) << " would flatter the rate";
  }
}

TEST(SelftestResult, OfFaultsThatAreAllBeyondTheMachineNothingIsKnown) {
  SelftestResult result = sample();
  result.trials.clear();
  EXPECT_THAT(shortfalls(result), testing::ElementsAre(testing::HasSubstr("nothing is known of the checks")));
  EXPECT_EQ(exit_code_of(result), 1);
}

TEST(SelftestResult, TellsOfAFaultWhatTheTierAndItsWitnessSaw) {
  const nlohmann::json faults = to_json(sample()).at("faults");
  EXPECT_EQ(faults[0].at("checks"), nlohmann::json({"accuracy", "unwritten"}));
  EXPECT_EQ(faults[0].at("cases"), 2);
  EXPECT_EQ(faults[0].at("first"), "gemm/simd:m=1");
  EXPECT_EQ(faults[1].at("checks"), nlohmann::json({"golden-bits"})) << "the witness is no case of the tier";
  EXPECT_EQ(faults[1].at("without_goldens"), false);
  EXPECT_THAT(faults[2].at("checks"), IsEmpty());
  EXPECT_EQ(faults[2].at("witness_checks"), nlohmann::json({"guards"}));
  EXPECT_EQ(faults[3].at("survives"), "it is none on this machine");
}

TEST(SelftestResult, ListsChecksThatKilledNothingToo) {
  const nlohmann::json document = to_json(sample());
  EXPECT_EQ(document.at("checks").at("same-run").at("kills"), 0);
  EXPECT_EQ(document.at("checks").at("golden-bits").at("alone"), 1);
  EXPECT_EQ(document.at("checks").at("guards").at("kills"), 0) << "what only the witness shows";
  EXPECT_THAT(markdown(sample()), HasSubstr("Killed by the ci tier: 2 of 4 (50.0 %)"));
}

// The report reads this file, so that what is written here and what is read there cannot drift apart.
TEST(SelftestResult, TheReportsSampleIsWhatIsWritten) {
  const fs::path file = fs::path(ASSAY_SOURCE_DIR) / "dashboards/tests/data/written/selftest.json";
  const std::string written = print_json(to_json(sample()), 1) + "\n";
  if (std::getenv("ASSAY_UPDATE") != nullptr) std::ofstream(file) << written;
  std::ifstream in(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), written)
      << file << " is stale: run with ASSAY_UPDATE=1";
}

}  // namespace
}  // namespace assay
