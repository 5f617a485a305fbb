// Goldens through the command: verify, diff, update, and what a run makes of them. Real judge and workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli_fixture.h"
#include "golden/observed.h"
#include "record/run_folder.h"
#include "record/verdict.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(Cli, AnOpWhoseTruthGoldenIsMissingIsNotJudged) {
  const std::string root = tree();
  const fs::path file = folder / "root" / "golden" / "truth" / "reduce.txt";
  const std::string base = root + "-base";
  fs::copy(root, base, fs::copy_options::recursive);
  fs::remove(file);
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--tier", "ci"}}) {
    std::vector<std::string> arguments{"--root", root};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramEnd end = check("good", kCase, arguments);
    EXPECT_EQ(end.status, 4) << end.output;
    EXPECT_THAT(end.output, AllOf(HasSubstr(file.string()),
                                  HasSubstr("'" + kAssay + " golden update --filter reduce --root " + root + "'")));
    EXPECT_FALSE(fs::exists(run));
  }
  EXPECT_EQ(assay({"repro", kCase, "--module", module("good"), "--root", root}).status, 4);
  // Judged by a base that has the op, it is the base's that counts; by one that has not, there can be none.
  EXPECT_EQ(check("good", kCase, {"--root", root, "--base", base}).status, 0);
  run = (folder / "missing-in-base").string();
  fs::remove(fs::path(base) / "golden" / "truth" / "reduce.txt");
  EXPECT_EQ(check("good", kCase, {"--root", root, "--base", base}).status, 0);
  run = (folder / "registered-in-base").string();
  fs::create_directories(fs::path(base) / "reference");
  std::ofstream(fs::path(base) / "reference" / "CMakeLists.txt") << "assay_op(reduce)\n";
  EXPECT_EQ(check("good", kCase, {"--root", root, "--base", base}).status, 4);
}

TEST_F(Cli, GoldensAreNotUpdatedInCi) {
  const ProgramEnd end = run_program({kAssay, "golden", "update"}, {{"CI", "true"}});
  EXPECT_EQ(end.status, 4);
  EXPECT_THAT(end.output, HasSubstr("CI is set"));
}

TEST_F(Cli, ATruthGoldenThatIsWrongIsFoundShownAndPutRight) {
  const std::string root = tree(), case_id = "reduce:kind=max,n=63,dtype=f32";
  const fs::path file = folder / "root" / "golden" / "truth" / "reduce.txt";
  const auto golden = [&](const std::string& what) {
    return assay({"golden", what, "--root", root, "--filter", case_id});
  };
  ASSERT_EQ(golden("verify").status, 0) << golden("verify").output;
  const std::string good = content_of(file);
  std::string bad = good;
  const size_t line = bad.find("\n" + case_id + " ");
  ASSERT_NE(line, std::string::npos);
  char& digit = bad[bad.find(' ', line) + 1];
  digit = digit == '0' ? '1' : '0';
  std::ofstream(file) << bad;
  EXPECT_EQ(golden("verify").status, 1);
  EXPECT_THAT(golden("diff").output, HasSubstr("~ " + case_id));
  EXPECT_EQ(content_of(file), bad);
  const ProgramEnd judged = check("good", case_id, {"--root", root});
  EXPECT_EQ(judged.status, 4);  // the oracle is not what was approved: nothing it says counts
  EXPECT_THAT(judged.output, HasSubstr("truth"));
  EXPECT_EQ(golden("update").status, 0);
  EXPECT_EQ(content_of(file), good);
}

TEST_F(Cli, ObservedGoldensFollowFromARunAndNoticeAChange) {
  const std::string root = tree();
  ASSERT_EQ(check("good", kCase, {"--root", root}).status, 0);
  const auto golden_bits = [](const std::string& run_folder) {
    const std::vector<Record> records = read_records(run_folder);
    for (const CheckResult& result : records.at(0).checks) {
      if (result.check == "golden-bits") return result.outcome;
    }
    throw std::runtime_error("no golden-bits");
  };
  EXPECT_EQ(golden_bits(run), Outcome::no_baseline);
  EXPECT_EQ(assay({"golden", "verify", "--root", root, "--run", run}).status, 1);
  ASSERT_EQ(assay({"golden", "update", "--unpinned", "--root", root, "--run", run}).status, 0);
  EXPECT_EQ(assay({"golden", "verify", "--root", root, "--run", run}).status, 0);
  run = (folder / "approved").string();
  EXPECT_EQ(check("good", kCase, {"--root", root}).status, 0);
  EXPECT_EQ(golden_bits(run), Outcome::pass);

  // Of a run in which nothing passed they say nothing, and it nothing of them.
  run = (folder / "wrong").string();
  EXPECT_EQ(check("swallow_nan", kCase + ",fill=nan_one", {"--root", root}).status, 1);
  const ProgramEnd nothing = assay({"golden", "verify", "--root", root, "--run", run});
  EXPECT_EQ(nothing.status, 1);
  EXPECT_THAT(nothing.output, AllOf(HasSubstr("no record passed: nothing was compared"), Not(HasSubstr("hold"))));
  run = (folder / "crashed").string();
  EXPECT_EQ(check("segfault", kCase, {"--root", root}).status, 1);
  const ProgramEnd lost = assay({"golden", "verify", "--root", root, "--run", run});
  EXPECT_EQ(lost.status, 1);
  EXPECT_THAT(lost.output, AllOf(HasSubstr("1 approved cases did not pass, such as " + kCase + ": crashed"),
                                 Not(HasSubstr("hold"))));

  run = (folder / "approved").string();
  const std::string platform = read_run(run).kernels.at(0).platform;
  const fs::path file = folder / "root" / "golden" / "observed" / platform / "reduce.txt";
  std::string text = content_of(file);
  char& digit = text[text.find("bits=") + 5];
  digit = digit == '0' ? '1' : '0';
  std::ofstream(file) << text;
  run = (folder / "changed").string();
  EXPECT_EQ(check("good", kCase, {"--root", root}).status, 1);
  EXPECT_EQ(read_records(run).at(0).verdict, Verdict::changed);
}

TEST_F(Cli, AKernelWhoseLibrariesAreNotThoseItWasJudgedByIsNotApproved) {
  const std::string root = tree();
  ASSERT_EQ(check("good", kCase, {"--root", root}).status, 0);
  const std::string file = run + "/run.json", platform = read_run(run).kernels.at(0).platform;
  std::string text = content_of(file);
  const size_t at = text.find(platform);
  ASSERT_NE(at, std::string::npos);
  text[at + platform.size() - 1] = text[at + platform.size() - 1] == '0' ? '1' : '0';
  std::ofstream(file) << text;
  const ProgramEnd end = assay({"golden", "update", "--unpinned", "--root", root, "--run", run});
  EXPECT_EQ(end.status, 4) << end.output;
  EXPECT_THAT(end.output, AllOf(HasSubstr("judged by: reduce/bad"), HasSubstr("nothing in it can be approved")));
}

TEST_F(Cli, GoldensDoNotHoldOfAKernelThatWasLeftOut) {
  const std::string root = tree(), simd = "reduce/simd" + kCase.substr(kCase.find(':'));
  ASSERT_EQ(check("good", kCase,
                  {"--root", root, "--module", (kBuild / "modules" / "reduce_simd.so").string(), "--filter", simd})
                .status,
            0);
  const auto verify = [&] { return assay({"golden", "verify", "--root", root, "--run", run}); };
  ASSERT_EQ(assay({"golden", "update", "--unpinned", "--root", root, "--run", run}).status, 0);
  ASSERT_EQ(verify().status, 0);
  assay::Run told = read_run(run);
  for (KernelEntry& kernel : told.kernels) {
    if (kernel.name == "simd") kernel.platform.back() = kernel.platform.back() == '0' ? '1' : '0';
  }
  RunFolder::resume(run).write_run(told);
  const ProgramEnd end = verify();
  EXPECT_EQ(end.status, 1) << end.output;
  EXPECT_THAT(end.output, AllOf(HasSubstr("judged by: reduce/simd"), Not(HasSubstr("the goldens hold"))));
}

// A library that is loaded at the first launch counts as those do that the module brings with it.
TEST_F(Cli, ALibraryThatIsLoadedLateIsApprovedWithTheBitsAndAnotherHasNoBaseline) {
  const std::string root = tree();
  const fs::path late = folder / "modules" / "late.so", lazy = folder / "modules" / "load_late.so";
  fs::create_directories(lazy.parent_path());
  fs::copy(module("load_late"), lazy);
  const auto with_build = [&](const std::string& build) {
    fs::copy(module("late_" + build), late, fs::copy_options::overwrite_existing);
  };
  const auto judged = [&](const std::string& name, int status = 0) {
    run = (folder / name).string();
    const ProgramEnd end = assay({"check", "--module", lazy, "--filter", kCase, "--root", root, "--out", run});
    EXPECT_EQ(end.status, status) << end.output;
    const Record record = read_records(run).at(0);
    for (const CheckResult& result : record.checks) {
      if (result.check == "golden-bits") return std::pair(result.outcome, result.detail);
    }
    throw std::runtime_error("no golden-bits");
  };
  with_build("1");
  EXPECT_EQ(judged("first").first, Outcome::no_baseline);
  const std::vector<std::string> loaded = read_records(run).at(0).late_libraries;
  ASSERT_THAT(loaded, ElementsAre(HasSubstr("late.so ")));
  ASSERT_EQ(assay({"golden", "update", "--unpinned", "--root", root, "--run", run}).status, 0);
  const fs::path file = folder / "root" / "golden" / "observed" / read_run(run).kernels.at(0).platform / "reduce.txt";
  EXPECT_THAT(content_of(file), HasSubstr("\n# late reduce/bad " + loaded[0] + "\n"));
  EXPECT_EQ(judged("again").first, Outcome::pass);
  EXPECT_EQ(assay({"golden", "verify", "--root", root, "--run", run}).status, 0);
  with_build("2");
  const auto [outcome, detail] = judged("another", 2);  // a finding: approved, and not compared
  EXPECT_EQ(outcome, Outcome::no_baseline);
  EXPECT_THAT(detail, AllOf(HasSubstr("nothing approved with late.so "), HasSubstr("after the module")));
  EXPECT_THAT(detail, Not(HasSubstr(loaded[0])));
}

TEST_F(Cli, TheGateTellsOfLaunchesThatTakeMoreThanWasApproved) {
  const std::string root = tree();
  const auto gate = [&](const std::string& name) {
    run = (folder / name).string();
    return assay(
        {"gate", "--no-report", "--module", module("with_workspace"), "--filter", kCase, "--root", root, "--out", run});
  };
  EXPECT_EQ(gate("first").status, 0);
  ASSERT_EQ(assay({"golden", "update", "--unpinned", "--root", root, "--run", run}).status, 0);
  EXPECT_EQ(gate("equal").status, 0);
  const std::string platform = read_run(run).kernels.at(0).platform;
  const fs::path file = folder / "root" / "golden" / "observed" / platform / "reduce.txt";
  std::string text = content_of(file);
  const size_t at = text.find("workspace=64", text.find("\n" + kCase));
  ASSERT_NE(at, std::string::npos) << text;
  std::ofstream(file) << text.replace(at, 12, "workspace=32");
  const ProgramEnd grown = gate("grown");
  EXPECT_EQ(grown.status, 2) << grown.output;
  EXPECT_THAT(grown.output, HasSubstr("reduce/bad: bytes of workspace grew, 32 -> 64 in " + kCase));
  std::ofstream(file) << text.replace(at, 12, "workspace=96");
  EXPECT_EQ(gate("less").status, 0);
}

TEST_F(Cli, OnlyAWholeRunOfTheTreesOwnKernelsTakesLinesAway) {
  const std::string root = tree();
  ASSERT_EQ(check("good", kCase, {"--root", root}).status, 0);
  ASSERT_EQ(assay({"golden", "update", "--unpinned", "--root", root, "--run", run}).status, 0);
  assay::Run told = read_run(run);
  const fs::path observed = folder / "root" / "golden" / "observed" / told.kernels.at(0).platform;
  std::string text = content_of(observed / "reduce.txt");
  for (size_t at; (at = text.find("\nreduce/")) != std::string::npos;) text.replace(at, 8, "\nother_op/");
  std::ofstream(observed / "other_op.txt") << text;
  // What `golden diff` makes of the run as told; `platform` is that of kernels of another device, with a golden too.
  const Platform platform{"H200", told.threads, {}};
  write_golden_file(observed.parent_path() / platform.key() / "reduce.txt",
                    to_golden_file({.lines = {{"reduce/gpu:m=1", {.bits = "0123456789abcdef"}}}}, platform));
  told.environment["gpu.model"] = platform.isa;
  told.kernels.push_back({"reduce", "gpu", "cuda", "gpu.so", "", {}, platform.key()});
  const Asked whole{.command = "gate", .tier = "ci", .own_modules = true};
  const auto diff = [&](const Asked& asked) {
    told.asked = asked;
    RunFolder::resume(run).write_run(told);
    const ProgramEnd end = assay({"golden", "diff", "--root", root, "--run", run});
    EXPECT_EQ(end.status, 0) << end.output;
    EXPECT_THAT(end.output, Not(HasSubstr("reduce/gpu")));
    return end.output;
  };
  const auto other_op_goes = HasSubstr("other_op.txt");
  EXPECT_THAT(diff(whole), other_op_goes);
  const auto with = [&](auto Asked::*field, const auto& value) {
    Asked asked = whole;
    asked.*field = value;
    return asked;
  };
  EXPECT_THAT(diff(with(&Asked::command, "check")), Not(other_op_goes)) << "plans no bench case";
  EXPECT_THAT(diff(with(&Asked::command, "bench")), Not(other_op_goes));
  EXPECT_THAT(diff(with(&Asked::tier, "nightly")), Not(other_op_goes));
  EXPECT_THAT(diff(with(&Asked::filter, "reduce")), Not(other_op_goes));
  EXPECT_THAT(diff(with(&Asked::shard, "1/2")), Not(other_op_goes));
  EXPECT_THAT(diff(with(&Asked::own_modules, false)), Not(other_op_goes));
  told.exit_code = 4;
  EXPECT_THAT(diff(whole), Not(other_op_goes)) << "a module did not load, or a judge died";
  told.exit_code = 0;
  told.kernels.push_back(told.kernels[0]);
  told.kernels.back().name = "late";
  told.kernels.back().platform += "x";
  EXPECT_THAT(diff(whole), AllOf(HasSubstr("reduce/late"), Not(other_op_goes)));
}

TEST_F(Cli, ARunIsReadWhereItsArgumentsMeanNothing) {
  const std::string root = tree();
  ASSERT_EQ(check("good", kCase, {"--root", root}).status, 0);
  assay::Run told = read_run(run);
  told.asked.argv = {"gate", "--history", (folder / "of-the-runner").string()};
  RunFolder::resume(run).write_run(told);
  EXPECT_EQ(assay({"golden", "update", "--unpinned", "--root", root, "--run", run}).status, 0);
  EXPECT_EQ(assay({"golden", "verify", "--root", root, "--run", run}).status, 0);
}

// With the programs beside a modules folder of their own, as in a build.
TEST_F(Cli, ARunSaysWhetherItJudgedTheModulesOfItsOwnBuild) {
  const fs::path build = folder / "build", others = folder / "others";
  fs::create_directories(build / "bin");
  for (const char* program : {"assay", "assay-judge", "assay-worker"})
    fs::copy(kBuild / "bin" / program, build / "bin");
  for (const fs::path& modules : {build / "modules", others}) {
    fs::create_directories(modules);
    fs::copy(module("good"), modules);
  }
  if (fs::exists(kBuild / "library_path.txt")) fs::copy(kBuild / "library_path.txt", build);
  int runs = 0;
  const auto is_own = [&](const std::string& variable, const std::vector<std::string>& more) {
    run = (folder / ("run" + std::to_string(++runs))).string();
    std::vector<std::string> arguments{(build / "bin" / "assay").string(), "check", "--filter", kCase, "--out", run};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramEnd end = run_program(arguments, {{"ASSAY_MODULES", variable}});
    EXPECT_EQ(end.status, 0) << end.output;
    const bool own = read_run(run).asked.own_modules;
    EXPECT_EQ(own, read_records(run).at(0).repro.find("--module") == std::string::npos);
    return own;
  };
  EXPECT_TRUE(is_own("", {}));
  EXPECT_TRUE(is_own((build / "modules").string(), {}));
  EXPECT_FALSE(is_own(others.string(), {}));
  EXPECT_FALSE(is_own("", {"--modules", others.string()}));
  EXPECT_FALSE(is_own("", {"--module", (build / "modules" / "good.so").string()}));
}

TEST_F(Cli, ARunThatLostRecordsApprovesNothing) {
  const std::string root = tree();
  ASSERT_EQ(check("good", "reduce:n=1*", {"--root", root}).status, 0);
  const std::string file = run + "/records.jsonl", whole = content_of(file);
  const std::vector<std::string> update{"golden", "update", "--unpinned", "--root", root, "--run", run};
  for (const std::string& left :
       {whole.substr(0, whole.find('\n') + 1), whole.substr(0, whole.size() - 9), whole + "{\"schema\":"}) {
    std::ofstream(file) << left;
    const ProgramEnd end = assay(update);
    EXPECT_EQ(end.status, 4) << end.output;
    EXPECT_THAT(end.output, AllOf(HasSubstr("records.jsonl: holds"), HasSubstr("resume")));
  }
  const std::string platform = read_run(run).kernels.at(0).platform;
  const fs::path golden = folder / "root" / "golden" / "observed" / platform / "reduce.txt";
  const fs::path source = fs::path(ASSAY_SOURCE_DIR) / "golden" / "observed" / platform / "reduce.txt";
  ASSERT_EQ(fs::exists(golden), fs::exists(source));
  EXPECT_EQ(content_of(golden), content_of(source));  // untouched, absent or not
  std::ofstream(file) << whole;
  EXPECT_EQ(assay(update).status, 0);
}

TEST_F(Cli, ApprovingSaysWhatItLeavesOut) {
  const std::string root = tree();
  ASSERT_EQ(check("last_unwritten", kCase, {"--root", root}).status, 1);
  const ProgramEnd end = assay({"golden", "diff", "--root", root, "--run", run});
  EXPECT_THAT(end.output, HasSubstr("1 of 1 records left out, which did not pass: 1 memory"));
}

TEST_F(Cli, VerifyCountsTheOpsItRecomputed) {
  EXPECT_THAT(assay({"golden", "verify", "--filter", "reduce:kind=max,n=63"}).output, HasSubstr("of 1 ops recomputed"));
}

}  // namespace
}  // namespace assay
