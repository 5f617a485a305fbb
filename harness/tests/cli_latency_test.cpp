// assay gate --base-modules and bench --blocks where no latency can be compared: what was judged is kept, and the exit
// code is 4. And whose ledger it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <vector>

#include "cli_fixture.h"
#include "code_rule.h"
#include "gate/comparison_start.h"
#include "record/run_folder.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// One module as base and change: there is nothing to measure, and a ledger all the same.
class GateOfModules : public Cli {
 protected:
  GateOfModules() {
    for (const char* arm : {"base", "change"}) {
      fs::create_directories(folder / arm);
      fs::copy(module("good"), folder / arm / "good.so");
    }
  }
  ProgramEnd gate(const std::string& out, const std::string& base = "base", std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"gate",           "--unpinned",
                                       "--module",       (folder / "change/good.so").string(),
                                       "--filter",       kCase,
                                       "--ledgers",      ledgers.string(),
                                       "--base-modules", (folder / base).string(),
                                       "--out",          (folder / out).string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return assay(arguments);
  }
  std::vector<fs::path> kept() const {
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(ledgers)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    return files;
  }
  // Everything but a comparison is there.
  void expect_kept(const ProgramEnd& end, const std::string& out, const std::string& why) const {
    EXPECT_EQ(end.status, 4) << end.output;
    EXPECT_THAT(end.output, AllOf(HasSubstr("latency: invalid: "), HasSubstr(why), HasSubstr("\nreport: "),
                                  HasSubstr("exit 4: usage or internal error")));
    EXPECT_EQ(read_run(folder / out).exit_code, 4);
    EXPECT_THAT(read_records(folder / out), SizeIs(1));
    EXPECT_THAT(content_of(folder / out / "latency.json"), HasSubstr("\"exit_code\": 4"));
    EXPECT_THAT(content_of(folder / out / "report/index.html"), HasSubstr(why));
  }

  const fs::path ledgers = folder / "ledgers";
};

TEST_F(GateOfModules, ABaseThatCannotBeLoadedIsRefusedBeforeTheFirstCase) {
  fs::create_directories(folder / "empty");
  const ProgramEnd end = gate("run", "empty");
  EXPECT_EQ(end.status, 4);
  EXPECT_EQ(end.output, "assay: modules of the base: there are none in " + (folder / "empty").string() + "\n");
  EXPECT_FALSE(fs::exists(folder / "run"));
}

TEST_F(GateOfModules, WhatKeepsAComparisonFromBeginningLosesNothingThatWasJudged) {
  ASSERT_EQ(gate("first", "base", {"--no-report"}).status, 0);
  ASSERT_THAT(kept(), SizeIs(1));
  const fs::path ledger = kept().front();
  {
    const LedgerFile of_another_gate(ledger);
    expect_kept(gate("held"), "held", "another gate of this base and change is under way");
  }
  // As it advises.
  const ProgramEnd resumed = assay({"gate", "--resume", (folder / "held").string()});
  EXPECT_EQ(resumed.status, 0) << resumed.output;
  EXPECT_EQ(read_run(folder / "held").exit_code, 0);
  EXPECT_THAT(content_of(folder / "held" / "latency.json"), HasSubstr("\"exit_code\": 0"));
  write_text(ledger, "{");
  expect_kept(gate("spoilt"), "spoilt", ledger.filename().string() + ": is no JSON; remove it to begin anew");
}

TEST_F(GateOfModules, ALedgerIsOfThePlatform) {
  ASSERT_EQ(gate("two", "base", {"--no-report", "--threads", "2"}).status, 0);
  ASSERT_THAT(kept(), SizeIs(1));
  const std::string platform = read_run(folder / "two").pin.platform;
  EXPECT_THAT(platform, HasSubstr("-t2-"));
  EXPECT_THAT(kept().front().filename().string(), EndsWith("-" + platform + ".json"));
  ASSERT_EQ(gate("one", "base", {"--no-report", "--threads", "1"}).status, 0);
  EXPECT_THAT(kept(), SizeIs(2)) << "what is slow with two threads need not be with one";
}

TEST_F(GateOfModules, BlocksThatCannotBeHadLoseNothingThatWasJudged) {
  const ProgramEnd end = assay({"bench", "--module", module("do_nothing"), "--filter", kCase, "--blocks", "1", "--out",
                                (folder / "run").string()});
  EXPECT_EQ(end.status, 4) << end.output;
  EXPECT_THAT(end.output, AllOf(HasSubstr("blocks: --blocks: no case passed and was timed"), HasSubstr("exit 4")));
  EXPECT_EQ(read_run(folder / "run").exit_code, 4);
}

// What this machine does not give a timing worker is no fault of the kernel, and no pass.
TEST_F(GateOfModules, WhereAWorkerGetsNoPagesOfItsOwnTheKernelIsNotBlamed) {
  if (!has_code_rule()) GTEST_SKIP() << "this system has no rule that code is never written to (Linux 6.3)";
  const auto ruled = [&] {
    refuse_to_write_code();  // and all that this process starts
    const ProgramEnd end = assay({"bench", "--module", module("good"), "--filter", kCase, "--out", run});
    std::cerr << end.output;
    std::_Exit(end.status);
  };
  EXPECT_EXIT(ruled(), ::testing::ExitedWithCode(4), "passed, but has no latency: .* gets no pages of its own");
  const std::vector<Record> records = read_records(run);
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].verdict, Verdict::error);
}

}  // namespace
}  // namespace assay
