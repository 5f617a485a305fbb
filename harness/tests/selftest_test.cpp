// selftest with modules of bad_modules/ for seeded faults: what it says, its exit code, and that it goes on; and with a
// stand-in for `assay check`, which GPU each of its runs is given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "cli_fixture.h"
#include "record/json.h"
#include "record/run_folder.h"
#include "sample_run.h"

namespace assay {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Selftest : public Cli {
 protected:
  // A folder of faults: "good" is the module without any.
  void seed(const std::vector<std::string>& modules, const std::string& control = "good", bool whole = true) {
    fs::create_directories(folder / "faults");
    nlohmann::json list = nlohmann::json::array();
    for (const std::string& name : modules) {
      list.push_back({{"name", name},
                      {"target", "cpu"},
                      {"module", control},
                      {"family", "dropped-tail"},
                      {"precision", false},
                      {"witness", "reduce/bad:kind=max,n=77,dtype=f32"},
                      {"what", "a fault"},
                      {"survives", ""}});
      copy(name);
    }
    copy(control);
    std::ofstream(folder / "faults" / "faults.json") << nlohmann::json({{"whole", whole}, {"faults", list}});
    fs::create_directories(folder / "innocent");
    fs::copy_file(module("good"), folder / "innocent" / "good.so", fs::copy_options::skip_existing);
  }
  void copy(const std::string& name) {
    fs::copy_file(module(name), folder / "faults" / (name + ".so"), fs::copy_options::skip_existing);
  }
  ProgramEnd selftest(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{kAssay,       "selftest", "--faults", (folder / "faults").string(),
                                       "--out",      run,        "--tier",   "smoke",
                                       "--innocent", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments, {{"ASSAY_MODULES", (folder / "innocent").string()}, {"CI", ""}});
  }
};

TEST_F(Selftest, FaultsThatAreCaughtAreExit0AndTold) {
  seed({"last_unwritten"});
  const ProgramEnd end = selftest({"--minimise"});
  EXPECT_EQ(end.status, 0) << end.output;
  EXPECT_THAT(end.output, HasSubstr("| dropped-tail | 1 | 1 | 1 | 1 |"));
  EXPECT_THAT(end.output, HasSubstr("| unwritten | 1 |"));
  EXPECT_THAT(end.output, HasSubstr("False alarms: 0 in "));
  EXPECT_THAT(end.output, HasSubstr("least suite that keeps 98 %: 1 cases"));
  std::ifstream in(folder / "run" / "selftest.json");
  const nlohmann::json document = nlohmann::json::parse(in);
  EXPECT_EQ(document.at("exit_code"), 0);
  EXPECT_EQ(document.at("tier"), "smoke");
  EXPECT_EQ(document.at("faults").at(0).at("kernel"), "reduce/bad");
  EXPECT_TRUE(document.at("environment").contains("cpu.model"));
}

// Of the one the smoke tier's cases tell, of the other those of the tier that was asked for.
TEST_F(Selftest, SmokeFirstAsksTheTierOnlyOfWhatSurvivesSmoke) {
  seed({"last_unwritten", "with_workspace"});
  const ProgramEnd end = selftest({"--tier", "ci", "--smoke-first"});
  EXPECT_EQ(end.status, 1) << end.output;
  EXPECT_THAT(end.output,
              HasSubstr("Killed by the ci tier: 1 of 2 (50.0 %); of precision none; by the smoke tier 1 of 2"));
  EXPECT_THAT(end.output, HasSubstr("no other case was asked"));
  const auto judged = [&](const char* name) { return fs::exists(folder / "run" / name / "run.json"); };
  EXPECT_TRUE(judged("smoke-last_unwritten") && judged("smoke-with_workspace") && judged("smoke-good"));
  EXPECT_TRUE(judged("ci-with_workspace") && judged("ci-good"));
  EXPECT_FALSE(judged("ci-last_unwritten"));
  std::ifstream in(folder / "run" / "selftest.json");
  EXPECT_TRUE(nlohmann::json::parse(in).at("smoke_first"));
}

TEST_F(Selftest, TheLeastSuiteNeedsEveryKill) {
  seed({"last_unwritten"});
  const ProgramEnd end = selftest({"--tier", "ci", "--smoke-first", "--minimise"});
  EXPECT_EQ(end.status, 4);
  EXPECT_THAT(end.output, HasSubstr("leave out --smoke-first"));
}

TEST_F(Selftest, AFaultThatSurvivesIsExit1AndNamed) {
  seed({"last_unwritten", "with_workspace"});  // the second has no fault
  const ProgramEnd end = selftest();
  EXPECT_EQ(end.status, 1) << end.output;
  EXPECT_THAT(end.output, HasSubstr("Survivors:\n- with_workspace (dropped-tail): a fault; witness "));
}

TEST_F(Selftest, OfASampleASurvivorThatIsExplainedIsNoFailure) {
  seed({"last_unwritten", "with_workspace"}, "good", false);
  EXPECT_EQ(selftest().status, 1);  // it is not explained
  std::ifstream in(folder / "faults" / "faults.json");
  nlohmann::json document = nlohmann::json::parse(in);
  document["faults"][1]["survives"] = "it is none";
  std::ofstream(folder / "faults" / "faults.json") << document;
  const ProgramEnd end = selftest();
  EXPECT_EQ(end.status, 0) << end.output;
  EXPECT_THAT(end.output, HasSubstr("; survives because it is none"));
  document["whole"] = true;  // now the rates count
  std::ofstream(folder / "faults" / "faults.json") << document;
  EXPECT_THAT(selftest().output, HasSubstr("- killed: 1 of 2 (50.0 %), of which 99 % should be"));
}

TEST_F(Selftest, AnInnocentThatFailsIsAFalseAlarm) {
  seed({"last_unwritten"});
  fs::copy_file(module("nan_spreads"), folder / "innocent" / "good.so", fs::copy_options::overwrite_existing);
  const ProgramEnd end = selftest();
  EXPECT_EQ(end.status, 1) << end.output;
  EXPECT_THAT(end.output, HasSubstr("False alarms:\n- reduce/bad:"));
}

// The answers of yesterday are of other kernels, or were judged by other goldens.
TEST_F(Selftest, WhatHasChangedIsJudgedAgain) {
  seed({"last_unwritten"});
  const std::string root = tree();
  const auto again = [&] { return selftest({"--root", root}); };
  ASSERT_EQ(again().status, 0);
  const auto judged = [&](const char* errand) { return fs::last_write_time(fs::path(run) / errand / "run.json"); };
  const fs::file_time_type fault = judged("smoke-last_unwritten"), innocent = judged("innocent-0");
  ASSERT_EQ(again().status, 0);
  EXPECT_EQ(judged("smoke-last_unwritten"), fault);
  EXPECT_EQ(judged("innocent-0"), innocent);
  write_text(root + "/golden/README.md", "another");
  again();
  EXPECT_NE(judged("smoke-last_unwritten"), fault);
  fs::copy_file(module("nan_spreads"), folder / "innocent" / "good.so", fs::copy_options::overwrite_existing);
  const ProgramEnd end = again();
  EXPECT_EQ(end.status, 1) << end.output;
  EXPECT_THAT(end.output, HasSubstr("False alarms:\n- reduce/bad:"));
}

TEST_F(Selftest, AControlThatFailsIsTold) {
  seed({"last_unwritten"}, "nan_spreads");
  const ProgramEnd end = selftest();
  EXPECT_EQ(end.status, 1) << end.output;
  EXPECT_THAT(end.output, HasSubstr("without a fault, made as the faults are, that failed:\n- reduce/bad:"));
}

TEST_F(Selftest, AFaultThatCannotBeJudgedIsExit4) {
  seed({"last_unwritten", "abi_off"});
  const ProgramEnd end = selftest();
  EXPECT_EQ(end.status, 4) << end.output;
  EXPECT_THAT(end.output, HasSubstr("Not judged:\n- abi_off: assay: "));
}

TEST_F(Selftest, WhereNoModuleCanBeJudgedThatIsTold) {
  seed({"last_unwritten"});
  for (const char* module : {"last_unwritten.so", "good.so"}) fs::remove(folder / "faults" / module);
  const ProgramEnd end = run_program({kAssay, "selftest", "--faults", (folder / "faults").string(), "--out", run,
                                      "--tier", "smoke", "--innocent", "0"});
  EXPECT_EQ(end.status, 4) << end.output;
  EXPECT_THAT(end.output, HasSubstr("Not judged:\n- last_unwritten: assay: module "));
  EXPECT_TRUE(fs::exists(folder / "run" / "selftest.json"));
}

TEST_F(Selftest, AFaultWhoseWitnessIsBeyondTheMachineIsSaidAndNotCounted) {
  seed({"last_unwritten", "with_workspace"});
  std::ifstream in(folder / "faults" / "faults.json");
  nlohmann::json document = nlohmann::json::parse(in);
  document["faults"][1]["witness"] = "reduce/bad:kind=max,n=1000000000000,dtype=f32";
  std::ofstream(folder / "faults" / "faults.json") << document;
  const ProgramEnd end = selftest();
  EXPECT_EQ(end.status, 0) << end.output;
  EXPECT_THAT(end.output, HasSubstr("Beyond this machine, and not counted:\n- with_workspace: reduce/bad:"));
  EXPECT_THAT(end.output, HasSubstr("Killed by the smoke tier: 1 of 1"));
}

// Beside other errands memory may be what it lacked.
TEST_F(Selftest, WhatEndedAsAnErrorBesideOthersIsAskedOnceMoreAlone) {
  seed({"last_unwritten", "with_workspace"});
  std::ifstream in(folder / "faults" / "faults.json");
  nlohmann::json document = nlohmann::json::parse(in);
  const std::string large = "reduce/bad:kind=max,n=1000000000000,dtype=f32";
  document["faults"][0]["witness"] = document["faults"][1]["witness"] = large;
  std::ofstream(folder / "faults" / "faults.json") << document;
  EXPECT_EQ(selftest({"--jobs", "2"}).status, 0);
  for (const char* module : {"with_workspace", "good"}) {
    const fs::path alone = folder / "run" / (std::string("smoke-") + module + "-alone");
    const assay::Run asked = read_run(alone);
    EXPECT_EQ(asked.asked.filter, large);
    EXPECT_EQ(std::ranges::count(asked.asked.argv, "--beside-others"), 0);
    ASSERT_EQ(read_records(alone).size(), 1u);
    // What it says alone is what counts, here as if it had passed and failed.
    std::vector<Record> records = read_records(alone);
    records[0].verdict = module == std::string("good") ? Verdict::pass : Verdict::wrong;
    records[0].checks = whole_record("").checks;
    for (CheckResult& result : records[0].checks) {
      if (result.check == "accuracy" && module != std::string("good")) result.outcome = Outcome::fail;
    }
    std::ofstream(alone / "records.jsonl") << to_json(records[0]).dump() << "\n";
  }
  EXPECT_FALSE(fs::exists(folder / "run" / "smoke-last_unwritten-alone"));  // another case kills it
  const ProgramEnd end = selftest({"--jobs", "2"});
  EXPECT_EQ(end.status, 1) << end.output;
  std::ifstream told(folder / "run" / "selftest.json");
  EXPECT_EQ(nlohmann::json::parse(told).at("faults").at(1).at("witness_checks"), nlohmann::json({"accuracy"}));
}

TEST_F(Selftest, WhatWasJudgedIsNotJudgedAgain) {
  seed({"last_unwritten"});
  ASSERT_EQ(selftest().status, 0);
  const auto when = fs::last_write_time(folder / "run" / "smoke-last_unwritten" / "run.json");
  fs::remove_all(folder / "run" / "smoke-good");  // as if it had been stopped there
  ASSERT_EQ(selftest().status, 0);
  EXPECT_EQ(fs::last_write_time(folder / "run" / "smoke-last_unwritten" / "run.json"), when);
  EXPECT_TRUE(fs::exists(folder / "run" / "smoke-good" / "run.json"));
  ASSERT_EQ(selftest({"--threads", "1"}).status, 0);  // asked otherwise
  EXPECT_NE(fs::last_write_time(folder / "run" / "smoke-last_unwritten" / "run.json"), when);
}

// By several jobs at once, too, where nothing may escape a thread.
TEST_F(Selftest, WhatIsDamagedIsToldAndEndsNothingElse) {
  seed({"last_unwritten"});
  ASSERT_EQ(selftest().status, 0);
  std::ofstream(folder / "run" / "smoke-last_unwritten" / "run.json") << "{";
  const ProgramEnd end = selftest({"--jobs", "2"});
  EXPECT_EQ(end.status, 4) << end.output;
  EXPECT_THAT(end.output, HasSubstr("smoke-last_unwritten/run.json"));
}

// The machine may have changed between a run that is kept and one that is made now.
TEST_F(Selftest, AFaultIsNotSetBesideAControlOfAnotherEnvironment) {
  seed({"last_unwritten"});
  ASSERT_EQ(selftest().status, 0);
  const fs::path kept = folder / "run" / "smoke-last_unwritten";
  assay::Run told = read_run(kept);
  told.environment["os.kernel"] = "1.0";
  RunFolder::resume(kept).write_run(told);
  const ProgramEnd end = selftest();
  EXPECT_EQ(end.status, 4) << end.output;
  EXPECT_THAT(end.output, HasSubstr("Not judged:\n- last_unwritten: judged in another environment than its module "
                                    "without the fault: os.kernel: "));
  EXPECT_THAT(end.output, HasSubstr(" before, 1.0 now; remove " + kept.string() + " and "));
  fs::remove_all(kept);
  EXPECT_EQ(selftest().status, 0);
  EXPECT_THAT(content_of(folder / "run" / "selftest.json"), HasSubstr("\"libc\": \"version 6 (build-id "));
}

TEST_F(Selftest, FaultsOfAnotherTargetAreOneLineAndExit4) {
  seed({"last_unwritten"});
  const ProgramEnd end = selftest({"--device", "cuda"});
  EXPECT_EQ(end.status, 4);
  EXPECT_THAT(end.output, HasSubstr("has no fault of target cuda; harness/tests/mutants/build.py makes them"));
}

// Beside a copy of assay lies a program of its name, which notes what it is given in the folder of the run it is asked
// for, and judges nothing.
class SelftestOnGpus : public Selftest {
 protected:
  SelftestOnGpus() {
    seed({"last_unwritten", "with_workspace", "abi_off"});
    std::ifstream in(folder / "faults" / "faults.json");
    nlohmann::json list = nlohmann::json::parse(in);
    for (nlohmann::json& fault : list["faults"]) fault["target"] = "cuda";
    std::ofstream(folder / "faults" / "faults.json") << list;
    for (const char* name : {"assay-judge", "assay-worker"}) write_text(folder / "bin" / name, "");
    fs::copy_file(kAssay, folder / "bin" / "copy");
    write_text(
        folder / "bin" / "assay",
        "#!/bin/sh\nasked=\"$*\"\nwhile [ \"$1\" != --out ]; do shift; done\nmkdir -p \"$2\"\n"
        "printf %s \"${CUDA_VISIBLE_DEVICES-none}\" > \"$2/gpu\"\nprintf %s \"$asked\" > \"$2/asked\"\nsleep 0.5\n");
    fs::permissions(folder / "bin" / "assay", fs::perms::owner_all);
  }

  // What stands in the file `what` of each of the four runs.
  std::multiset<std::string> told(const std::string& what, const std::vector<std::string>& variables,
                                  const std::vector<std::string>& more) const {
    std::vector<std::string> command{"env", "-u", "CUDA_VISIBLE_DEVICES"};
    command.insert(command.end(), variables.begin(), variables.end());
    command.insert(command.end(), {(folder / "bin" / "copy").string(), "selftest", "--device", "cuda", "--tier",
                                   "smoke", "--innocent", "0", "--faults", (folder / "faults").string(), "--out", run});
    command.insert(command.end(), more.begin(), more.end());
    EXPECT_THAT(run_program(command).output, HasSubstr("Not judged:\n"));
    std::multiset<std::string> all;
    for (const char* module : {"last_unwritten", "with_workspace", "abi_off", "good"}) {
      all.insert(content_of(fs::path(run) / (std::string("smoke-") + module) / what));
    }
    return all;
  }
  static std::set<std::string> different(const std::multiset<std::string>& all) { return {all.begin(), all.end()}; }
};

TEST_F(SelftestOnGpus, EachJobHasOneOfThoseThatAreVisible) {
  const std::vector<std::string> two{"CUDA_VISIBLE_DEVICES=GPU-a,3"};
  EXPECT_THAT(different(told("gpu", two, {"--jobs", "2"})), ElementsAre("3", "GPU-a"));
  EXPECT_THAT(different(told("gpu", two, {"--jobs", "4"})), ElementsAre("3", "GPU-a"));
  EXPECT_THAT(told("gpu", two, {"--jobs", "1"}), Each("GPU-a,3")) << "one job has all";
  EXPECT_THAT(different(told("gpu", two, {})), ElementsAre("3", "GPU-a"));
  EXPECT_THAT(told("gpu", {"CUDA_VISIBLE_DEVICES=3"}, {"--jobs", "2"}), Each("3"));
  EXPECT_THAT(told("gpu", {"CUDA_VISIBLE_DEVICES="}, {"--jobs", "2"}), Each(""));
}

TEST_F(SelftestOnGpus, WhereNobodySaysThoseThereAreAreAsked) {
  const std::vector<std::string> fake{std::string("LD_LIBRARY_PATH=") + ASSAY_FAKE_NVML};
  EXPECT_THAT(different(told("gpu", fake, {"--jobs", "3"})), ElementsAre("GPU-0", "MIG-1", "MIG-2"));
  EXPECT_THAT(different(told("gpu", fake, {})), ElementsAre("GPU-0", "MIG-1", "MIG-2"));
  EXPECT_THAT(told("gpu", fake, {"--jobs", "1"}), Each("none"));
}

TEST_F(SelftestOnGpus, NoJobIsBesideOthersWhereEachHasItsOwn) {
  const std::vector<std::string> two{"CUDA_VISIBLE_DEVICES=0,1"};
  EXPECT_THAT(told("asked", two, {"--jobs", "2"}), Each(Not(HasSubstr("--beside-others"))));
  EXPECT_THAT(told("asked", two, {"--jobs", "3"}), Each(HasSubstr("--beside-others")));
}

TEST_F(Selftest, OtherSeedsAreOtherInputsAndOtherIds) {
  const ProgramEnd end = check("good", "reduce/bad:n=65,kind=max", {"--reseed", "41"});
  EXPECT_EQ(end.status, 0) << end.output;
  const std::vector<Record> records = read_records(run);
  ASSERT_FALSE(records.empty());
  for (const Record& record : records) EXPECT_THAT(record.kernel_id, HasSubstr(",seed=42"));
}

}  // namespace
}  // namespace assay
