// A run that is continued: with what it was asked, from what it has recorded, and not where either is damaged. Uses
// the real judge and workers with the modules of bad_modules/.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli_fixture.h"
#include "record/run_folder.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(Cli, ResumingARunThatIsCompleteRepeatsNothing) {
  ASSERT_EQ(check("good", "reduce:n=1*").status, 0);
  const std::string before = content_of(run + "/records.jsonl");
  const ProgramEnd end = assay({"check", "--resume", run});
  EXPECT_EQ(end.status, 0) << end.output;
  EXPECT_EQ(content_of(run + "/records.jsonl"), before);
  EXPECT_EQ(assay({"bench", "--resume", run}).status, 4);
  EXPECT_EQ(assay({"check", "--resume", run, "--tier", "ci"}).status, 4);
  EXPECT_EQ(check("good", "reduce:n=1*").status, 4);  // a run is there already
}

TEST_F(Cli, ResumingDoesWhatIsLeft) {
  ASSERT_EQ(check("good", "reduce:n=1*").status, 0);
  const size_t all = read_records(run).size();
  ASSERT_GT(all, 2u);
  fs::resize_file(run + "/records.jsonl", fs::file_size(run + "/records.jsonl") / 2);
  const size_t kept = read_records(run).size();
  ASSERT_LT(kept, all);
  EXPECT_EQ(assay({"check", "--resume", run}).status, 0);
  EXPECT_EQ(read_records(run).size(), all);
}

TEST_F(Cli, ARunThatGoesOnInAnotherCommitIsOfNeither) {
  const std::string root = tree();
  const auto commit = [&](const std::string& what) {
    write_text(root + "/notes.txt", what);
    ASSERT_EQ(run_program({"git", "-C", root, "init", "--quiet"}).status, 0);
    ASSERT_EQ(run_program({"git", "-C", root, "add", "."}).status, 0);
    ASSERT_EQ(run_program({"git", "-C", root, "-c", "user.name=x", "-c", "user.email=x", "commit", "--quiet",
                           "--message", what})
                  .status,
              0);
  };
  commit("one");
  ASSERT_EQ(check("good", "reduce:n=1*", {"--root", root}).status, 0);
  const std::string one = read_run(run).commit;
  ASSERT_NE(one, "");
  ASSERT_EQ(assay({"check", "--resume", run}).status, 0);
  EXPECT_EQ(read_run(run).commit, one);
  commit("two");
  ASSERT_EQ(assay({"check", "--resume", run}).status, 0);
  EXPECT_EQ(read_run(run).commit, "");
}

// What is recorded was judged with them: a known issue that is taken away would excuse it still.
TEST_F(Cli, ARunDoesNotGoOnUnderAnotherPolicyOrOtherGoldensOrProgramsOfAnotherBuild) {
  const std::string root = tree();
  const std::pair<std::string, std::string> kFiles[] = {{"policy", "/ci/policy/policy.toml"},
                                                        {"golden", "/golden/truth/reduce.txt"}};
  ASSERT_EQ(check("good", "reduce:n=1*", {"--root", root}).status, 0);
  for (const auto& [what, file] : kFiles) {
    const std::string before = content_of(root + file);
    const std::string after =
        what == "policy" ? before + "# another\n" : before.substr(0, before.rfind('\n', before.size() - 2) + 1);
    write_text(root + file, after);
    const ProgramEnd end = assay({"check", "--resume", run});
    EXPECT_EQ(end.status, 4) << end.output;
    EXPECT_EQ(end.output, "assay: --resume: " + what + " is not what its records were judged by; start a new run\n");
    write_text(root + file, before);
  }
  const assay::Run told = read_run(run);
  for (const char* program : {"assay", "assay-judge", "assay-worker"}) {
    assay::Run older = told;
    older.judged_by.at(program) += "0";
    RunFolder::resume(run).write_run(older);
    const ProgramEnd end = assay({"check", "--resume", run});
    EXPECT_EQ(end.status, 4) << end.output;
    EXPECT_THAT(end.output, HasSubstr(std::string(program) + " is not what its records were judged by"));
  }
  RunFolder::resume(run).write_run(told);
  EXPECT_EQ(assay({"check", "--resume", run}).status, 0);
}

TEST_F(Cli, AFolderOfOtherThingsIsNeitherResumedNorWrittenInto) {
  fs::create_directories(run);
  std::ofstream(run + "/notes.txt") << "mine";
  const std::vector<std::string> what{"check", "--module", module("good"), "--filter", kCase};
  for (const std::string flag : {"--resume", "--out"}) {
    std::vector<std::string> arguments = what;
    arguments.insert(arguments.end(), {flag, run});
    const ProgramEnd end = assay(arguments);
    EXPECT_EQ(end.status, 4) << end.output;
    EXPECT_EQ(line_count(end.output), 1) << end.output;
    EXPECT_THAT(end.output, AllOf(HasSubstr(run), HasSubstr("holds")));
    EXPECT_EQ(std::distance(fs::directory_iterator(run), fs::directory_iterator()), 1);
  }
}

TEST_F(Cli, ARunKilledBeforeItsFirstWordBeginsAgain) {
  fs::create_directories(run + "/samples");
  std::ofstream(run + "/records.jsonl") << "";
  const ProgramEnd end = assay({"check", "--module", module("good"), "--filter", kCase, "--resume", run});
  EXPECT_EQ(end.status, 0) << end.output;
  run = (folder / "empty").string();
  fs::create_directories(run);
  EXPECT_EQ(check("good", kCase).status, 0);
}

TEST_F(Cli, ARecordNobodyPlannedIsAnError) {
  ASSERT_EQ(check("good", kCase).status, 0);
  Record stray = read_records(run).at(0);
  stray.kernel_id = "reduce/bad:kind=max,n=8,dtype=f32";
  RunFolder::resume(run).append(stray);
  const ProgramEnd end = assay({"check", "--resume", run});
  EXPECT_EQ(end.status, 4);
  EXPECT_THAT(end.output, HasSubstr("recorded but not planned: " + stray.kernel_id));
}

// Started as a child of this one would be: `where` is its working folder.
ProgramEnd assay_in(const fs::path& where, const std::string& arguments) {
  return run_program({"sh", "-c", "cd " + shell_quoted(where.string()) + " && " + kAssay + " " + arguments});
}

TEST_F(Cli, PathsOfARunMeanTheSameWhereverItIsContinued) {
  tree();
  fs::create_directories(folder / "elsewhere");
  fs::copy(module("good"), folder / "good.so");
  const std::string what = "check --root root --module=./good.so --filter 'reduce:n=1*' --out run";
  ASSERT_EQ(assay_in(folder, what).status, 0);
  fs::resize_file(run + "/records.jsonl", fs::file_size(run + "/records.jsonl") / 2);
  const ProgramEnd end = assay_in(folder / "elsewhere", "check --resume ../run");
  EXPECT_EQ(end.status, 0) << end.output;
  EXPECT_EQ(assay_in(folder, what.substr(0, what.find(" --out")) + " --resume run").status, 0)
      << "the same flags beside it";
  for (const std::string& word : read_run(run).asked.argv) {
    EXPECT_THAT(word, AllOf(Not(StartsWith("root")), Not(StartsWith("--module=.")), Not(StartsWith("run"))));
  }
}

TEST_F(Cli, ARunThatIsContinuedStaysInItsFolder) {
  ASSERT_EQ(check("good", kCase).status, 0);
  const std::string other = (folder / "other").string();
  const ProgramEnd end = assay({"check", "--resume", run, "--out", other});
  EXPECT_EQ(end.status, 4);
  EXPECT_EQ(end.output, "assay: --out " + other + ": a run that --resume continues stays in its folder, " + run +
                            "; leave --out out\n");
  EXPECT_FALSE(fs::exists(other));
  fs::create_symlink(run, other);
  EXPECT_EQ(assay({"check", "--resume", run, "--out", other}).status, 0);
}

TEST_F(Cli, WordsOfARunThatAreDamagedAreRefused) {
  ASSERT_EQ(check("good", kCase).status, 0);
  const std::string file = run + "/run.json";
  const nlohmann::json good = nlohmann::json::parse(content_of(file));
  using Words = std::vector<std::string>;
  for (const auto& [words, why] :
       std::vector<std::pair<Words, std::string>>{{{"check", "--help"}, "asks for help, which no run does"},
                                                  {{"check", "--fliter", "reduce"}, "unknown flag --fliter"},
                                                  {{"bench"}, "is of 'bench', not of 'check'"},
                                                  {{}, "subcommand is required"}}) {
    nlohmann::json bad = good;
    bad["asked"]["argv"] = words;
    write_text(file, bad.dump());
    const ProgramEnd end = assay({"check", "--resume", run});
    EXPECT_EQ(end.status, 4) << end.output;
    EXPECT_EQ(line_count(end.output), 1) << end.output;
    EXPECT_THAT(end.output, AllOf(StartsWith("assay: " + file + ": asked.argv: "), HasSubstr(why),
                                  HasSubstr("; start a new run in another folder\n")));
  }
}

TEST_F(Cli, ARunWhoseRecordsAreGoneSaysWhatToDo) {
  ASSERT_EQ(check("good", kCase).status, 0);
  fs::remove(run + "/records.jsonl");
  const ProgramEnd end = assay({"check", "--resume", run});
  EXPECT_EQ(end.status, 4);
  EXPECT_EQ(end.output, "assay: " + run +
                            "/records.jsonl: is gone, and what was judged with it; put it back, or begin anew in "
                            "another folder\n");
  EXPECT_FALSE(fs::exists(run + "/records.jsonl"));
}

// What would be believed is a verdict that its own checks do not give.
TEST_F(Cli, ARecordThatContradictsItselfIsNotBelieved) {
  ASSERT_EQ(check("last_unwritten", kCase).status, 1);
  const std::string file = run + "/records.jsonl";
  nlohmann::json record = nlohmann::json::parse(content_of(file));
  record["verdict"] = "pass";
  write_text(file, record.dump() + "\n");
  const std::string says = "assay: " + file + ":1: verdict: 'pass', but by its checks it is 'memory'; start a new run";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"check", "--resume", run}, {"report", run}}) {
    const ProgramEnd end = assay(arguments);
    EXPECT_EQ(end.status, 4) << end.output;
    EXPECT_THAT(end.output, StartsWith(says));
    EXPECT_EQ(line_count(end.output), 1) << end.output;
  }
}

// Whatever a kernel does, its record is whole.
TEST_F(Cli, EveryRecordThatIsWrittenIsRead) {
  for (const char* name : {"good", "last_unwritten", "segfault", "exit_mid_case", "crash_in_prepare",
                           "refuse_everything", "not_available", "claim_too_much", "nondeterministic"}) {
    run = (folder / name).string();
    check(name, kCase, {"--filter", "reduce/bad:kind=sum,n=7,dtype=f32"});
    EXPECT_EQ(read_records(run).size(), 2u) << name;
    EXPECT_THAT(assay({"check", "--resume", run}).output, HasSubstr("exit ")) << name;
  }
}

}  // namespace
}  // namespace assay
