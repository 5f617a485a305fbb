// The command as a person or a script meets it: exit codes, one line for each wrong input, repro lines that reproduce.
// Uses the real judge and workers with the modules of bad_modules/.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "cli_fixture.h"
#include "gate/stale.h"
#include "record/run_folder.h"
#include "record/verdict.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(Cli, WrongUseIsOneLineAndExit4) {
  struct Wrong {
    std::vector<std::string> arguments;
    std::string says;
  };
  const std::string good = module("good");
  const std::string unloadable = module("symbol_missing"), not_loaded = "; not loaded: module " + unloadable;
  std::ofstream(folder / "text.so") << "no module";
  fs::create_directories(folder / "empty");
  std::ofstream(folder / "file") << "";
  const std::vector<Wrong> wrongs{
      {{}, "subcommand is required"},
      {{"chekc"}, "did you mean 'check'?"},
      {{"check", "--fliter", "gemm"}, "did you mean '--filter'?"},
      {{"check", "--tier", "smok"}, "not one of smoke, ci, nightly"},
      {{"check", "--shard", "3/2"}, "--shard"},
      {{"check", "--threads", "none"}, "--threads"},
      {{"check", "--device", "gpu"}, "there are cpu and cuda"},
      {{"check", "--sanitizer", "memcheck"}, "--sanitizer memcheck: watches kernels of a GPU; add --device cuda"},
      {{"repro", "reduce/bad:kind=max,n=7,dtype=f32", "--sanitizer", "racecheck"}, "add --device cuda"},
      {{"check", "--device", "cuda", "--sanitizer", "leakcheck"}, "memcheck, racecheck, initcheck and synccheck"},
      {{"gate", "--sanitizer", "memcheck"}, "--sanitizer"},
      {{"check", "--filter"}, "--filter"},
      {{"check", "surplus"}, "surplus"},
      {{"golden"}, "subcommand is required"},
      {{"golden", "updat"}, "did you mean 'update'?"},
      {{"golden", "verify", "--run", run}, "run.json"},
      {{"golden", "verify", "--filter", "reduce/simd"}, "not of kernels"},
      {{"report", run}, "run.json"},
      {{"report", run, "--selftest", "nowhere"}, "--selftest"},
      {{"report", run, "--before", "nowhere"}, "--before"},
      {{"repro", "reduce/bad:kind=sum", "--module", good}, "is not one kernel id: it lacks n ("},
      {{"repro", "reduce/bad:kind=sum,n=7,dtype=f*", "--module", good}, "is not one kernel id"},
      {{"check", "--module", good, "--filter", "reduce:n=99999999999999999999"}, "is too large"},
      {{"repro", "reduce:kind=sum,n=7,dtype=f32", "--module", good}, "is not one kernel id"},
      {{"repro", kCase + ",support=x.7", "--module", good}, "x has no element 7; it has 7, from 0 on"},
      {{"repro", kCase + ",support=z", "--module", good}, "there is no input 'z' that is read; there are x"},
      {{"check", "--module", good, "--filter", kCase + ",support=x.3-1"}, "'3-1' in 'x.3-1' runs backwards"},
      {{"shrink"}, "id is required"},
      {{"shrink", kCase, "--module", good, "--out", folder.string()}, "is there already"},
      {{"shrink", "reduce/bad:kind=max,n=7", "--module", good},
       "shrink: 'reduce/bad:kind=max,n=7' is not one kernel id: it lacks dtype"},
      {{"shrink", kCase, "--module", good}, kCase + " does not fail: pass"},
      {{"shrink", "reduce/bad:kind=sum,n=7,dtype=f32", "--module", good}, "does not fail: unsupported, "},
      {{"shrink", kCase, "--module", good, "--seconds", "-1"}, "--seconds"},
      {{"shrink", kCase, "--module", good, "--seconds", "nan"}, "--seconds: nan is no number of seconds"},
      {{"sweep", "gemm/simd", "--seconds", "inf"}, "--seconds"},
      {{"sweep", "gemm/simd", "--seconds=-nan"}, "--seconds"},
      {{"check", "--fuzz", "nans"}, "--fuzz: 'nans' is neither a time nor a number of cases"},
      {{"check", "--fuzz", "infs"}, "--fuzz"},
      {{"list", "--verdicts", "--filter", "nonsense"}, "list: --verdicts and --filter do not fit together"},
      {{"list", "--checks", "--tier", "ci"}, "list: --checks and --tier do not fit together"},
      {{"list", "--cases", "--contracts"}, "list: --contracts and --cases do not fit together"},
      {{"check", "--resume", run}, "run.json"},
      {{"check", "--base", run}, "no such folder"},
      {{"check", "--base", "no-such-ref"}, "no-such-ref"},
      {{"check", "--root", run}, "ci/policy"},
      {{"check", "--modules", run}, "modules folder"},
      {{"check", "--modules", (folder / "empty").string()}, "holds no *.so"},
      {{"check", "--module", run + ".so"}, run + ".so"},
      {{"check", "--module", (folder / "text.so").string()}, "text.so"},
      {{"check", "--module", module("abi_off")}, "ABI"},
      {{"check", "--module", good, "--filter", "reduc"}, "did you mean 'reduce'?"},
      {{"check", "--module", good, "--filter", "reduce/bda"}, "did you mean 'bad'?"},
      {{"check", "--module", good, "--module", unloadable, "--filter", "reduce/bda"}, not_loaded},
      {{"list", "--module", good, "--module", unloadable, "--filter", "gemm"}, not_loaded},
      {{"repro", "reduce/simd:kind=max,n=7,dtype=f32", "--module", good, "--module", unloadable}, not_loaded},
      {{"check", "--module", good, "--filter", "reduce:knd=sum"}, "did you mean 'kind'?"},
      {{"check", "--module", good, "--filter", "reduce:n=123457"}, "matches no case"},
      {{"check", "--module", good, "--filter", "reduce/bad:"}, "'reduce/bad:': names no field; leave the colon out"},
      {{"check", "--module", good, "--filter", "red\nuce\r\x1b[2J"}, "filter 'red\\nuce\\x0d\\x1b[2J': no op"},
      {{"check", "--module", good, "--filter", kCase + ",fill=nope"}, "field 'fill' = 'nope': no generator 'nope'"},
      {{"repro", kCase + ",fill=norml", "--module", good}, "did you mean 'normal'?"},
      {{"repro", kCase + ",seeds=65537", "--module", good}, "field 'seeds' = 65537 is above 65536"},
      {{"check", "--module", good, "--module", good}, "rename one"},
      {{"check", "--module", good, "--filter", kCase, "--out", (folder / "file" / "run").string()}, "file/run"},
      {{"check", "--module", good, "--filter", kCase, "--out", "/proc/no/run"}, "/proc/no/run"},
  };
  for (const Wrong& wrong : wrongs) {
    const ProgramEnd end = assay(wrong.arguments);
    EXPECT_EQ(end.status, 4) << wrong.says << ": " << end.output;
    EXPECT_EQ(line_count(end.output), 1) << end.output;
    EXPECT_THAT(end.output, AllOf(HasSubstr("assay: "), HasSubstr(wrong.says)));
  }
}

// As of a shell's variable that nobody set: whatever the flag would have asked for must not be passed over.
TEST_F(Cli, AFlagWithoutItsValueIsRefused) {
  using Words = std::vector<std::string>;
  const auto refused = [](const Words& arguments, const std::string& name) {
    const ProgramEnd end = assay(arguments);
    EXPECT_EQ(end.status, 4) << name << ": " << end.output;
    EXPECT_EQ(end.output, "assay: " + name + ": is empty; give it a value, or leave it out\n");
  };
  for (const auto& [command, flags] : std::map<std::string, Words>{
           {"check",
            {"--library", "--filter", "--coretype", "--base", "--out", "--resume", "--root", "--module", "--modules",
             "--device", "--tier", "--shard", "--sanitizer", "--fuzz"}},
           {"canary", {"--bisect", "--candidate", "--pin", "--promote", "--coretype", "--filter", "--out", "--resume"}},
           {"selftest", {"--tier", "--out"}}}) {
    for (const std::string& flag : flags) {
      refused({command, flag, ""}, flag);
      refused({command, flag + "="}, flag);
      refused({command, flag + "=", "--json"}, flag);
    }
  }
  refused({"check", "--filter", "reduce", "--filter", ""}, "--filter");
  refused({"golden", "verify", "--run", ""}, "--run");
  refused({"env", "pin", "--out", run, "--run", ""}, "--run");
  refused({"history", "show", "--db", ""}, "--db");
  refused({"canary", "", "--list"}, "library");
  refused({"fingerprint", ""}, "kernels");
}

TEST_F(Cli, WithoutComputeSanitizerThereIsNothingToRunUnder) {
  const ProgramEnd end = run_program({kAssay, "check", "--device", "cuda", "--sanitizer", "memcheck", "--out", run},
                                     {{"PATH", "/nowhere"}, {"CUDA_HOME", "/nowhere"}});
  EXPECT_EQ(end.status, 4);
  EXPECT_EQ(line_count(end.output), 1) << end.output;
  EXPECT_THAT(end.output, HasSubstr("compute-sanitizer is neither on PATH nor in $CUDA_HOME/bin"));
}

TEST_F(Cli, MalformedPolicyNamesFileAndKey) {
  const std::string root = tree();
  std::ofstream(folder / "root/ci/policy/policy.toml", std::ios::app) << "surprise = 1\n";
  const ProgramEnd end = assay({"check", "--root", root, "--module", module("good")});
  EXPECT_EQ(end.status, 4);
  EXPECT_THAT(end.output, AllOf(HasSubstr("policy.toml"), HasSubstr("surprise"), HasSubstr("is not known here")));
  EXPECT_EQ(line_count(end.output), 1) << end.output;
}

TEST_F(Cli, AdviceNamesTheProgramAsItWasCalled) {
  const std::string bin = (kBuild / "bin").string();
  const auto said = [](const std::string& script) { return run_program({"sh", "-c", script}).output; };
  EXPECT_THAT(said("cd " + shell_quoted(bin) + " && ./assay check --tier"), HasSubstr("see './assay check --help'"));
  const std::string spaced = (folder / "a b").string();
  fs::create_symlink(kBuild / "bin", spaced);
  EXPECT_THAT(said(shell_quoted(spaced) + "/assay list --tier"),
              HasSubstr("see '" + shell_quoted(spaced + "/assay") + " list --help'"));
}

TEST_F(Cli, HelpIsNoError) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--help"}, {"check", "--help"}, {"golden", "update", "--help"}}) {
    const ProgramEnd end = assay(arguments);
    EXPECT_EQ(end.status, 0) << end.output;
    EXPECT_THAT(end.output, HasSubstr("Usage"));
  }
}

TEST_F(Cli, AGoodKernelPasses) {
  const ProgramEnd end = check("good", kCase);
  EXPECT_EQ(end.status, 0) << end.output;
  const std::vector<Record> records = read_records(run);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].kernel_id, kCase);
  EXPECT_EQ(records[0].verdict, Verdict::pass);
  const assay::Run told = read_run(run);
  EXPECT_EQ(told.exit_code, 0);
  EXPECT_EQ(told.planned, 1);
  EXPECT_EQ(told.recorded, 1);
  EXPECT_FALSE(told.libraries.empty());
  ASSERT_EQ(told.kernels.size(), 1u);
  EXPECT_FALSE(told.kernels[0].module_hash.empty());
}

TEST_F(Cli, AFailureIsToldWithItsOwnerAndAReproThatReproducesIt) {
  const ProgramEnd end = check("last_unwritten", kCase);
  EXPECT_EQ(end.status, 1) << end.output;
  EXPECT_THAT(end.output, AllOf(HasSubstr("memory"), HasSubstr("owner: ")));
  const std::string repro = read_records(run).at(0).repro;
  EXPECT_THAT(repro, StartsWith(kAssay + " repro '" + kCase + "' --module "));  // the program as it was called
  EXPECT_THAT(end.output, HasSubstr(repro));
  const ProgramEnd again = run_program({"sh", "-c", repro});
  EXPECT_EQ(again.status, 1) << again.output;
  EXPECT_THAT(again.output, AllOf(HasSubstr("memory"), HasSubstr("unwritten")));
  for (const CheckRow& row : check_table()) EXPECT_THAT(again.output, HasSubstr(std::string(row.check)));
}

TEST_F(Cli, AFailureShrinksToTheSmallestCaseWithAReproThatReproducesIt) {
  const std::string large = "reduce/bad:kind=max,outer=7,n=33,inner=5,dtype=f32,offset=1",
                    smallest = "reduce/bad:kind=max,n=1,dtype=f32,fill=zeros";
  for (const char* name : {"last_unwritten", "segfault", "exit_mid_case"}) {
    const ProgramEnd end = assay({"shrink", large, "--module", module(name), "--out", (folder / name).string()});
    EXPECT_EQ(end.status, 1) << end.output;
    EXPECT_THAT(end.output, AllOf(StartsWith(large + "\n"), HasSubstr("\n" + smallest + "\n"), HasSubstr("owner: ")));
    // Whoever runs it waits as the policy says, however briefly smaller cases were waited for.
    EXPECT_THAT(content_of(folder / name / "repro.cpp"), HasSubstr("kDeadlineSeconds = 20;"));
    const size_t begin = end.output.find(kAssay + " repro '" + smallest + "'");
    ASSERT_NE(begin, std::string::npos) << end.output;
    const ProgramEnd again = run_program({"sh", "-c", end.output.substr(begin)});
    EXPECT_EQ(again.status, 1) << again.output;
    EXPECT_THAT(again.output, StartsWith(smallest + "\n"));
  }
  const ProgramEnd told = assay({"shrink", large, "--module", module("last_unwritten"), "--json", "--out", run});
  const nlohmann::json document = nlohmann::json::parse(told.output);
  EXPECT_EQ(document.at("kernel_id"), smallest);
  EXPECT_EQ(document.at("verdict"), "memory");
  EXPECT_EQ(document.at("output_elements"), 1);
  EXPECT_EQ(document.at("cases_drawn"), 0);
  EXPECT_EQ(document.at("finished"), true);
  const ProgramEnd stopped = assay({"shrink", large, "--module", module("last_unwritten"), "--seconds", "0", "--out",
                                    (folder / "stopped").string()});
  EXPECT_EQ(stopped.status, 1) << stopped.output;
  EXPECT_THAT(stopped.output, AllOf(HasSubstr("not finished"), HasSubstr(" repro '" + large + "'")));
}

TEST_F(Cli, ARunThatJudgedNothingIsInconclusive) {
  const ProgramEnd end = check("good", "reduce/bad:kind=sum,n=7,dtype=f32");
  EXPECT_EQ(end.status, 2) << end.output;
  EXPECT_THAT(end.output, HasSubstr("nothing was judged"));
}

TEST_F(Cli, ACaseTooLargeForTheMachineIsAnErrorOfItsOwn) {
  const std::string large = "reduce/bad:kind=max,n=1000000000000,dtype=f32";
  const std::string beyond = "reduce/bad:kind=max,outer=1099511627776,n=1099511627776,dtype=f32";
  const ProgramEnd end = check("good", kCase, {"--filter", large, "--filter", beyond});
  EXPECT_EQ(end.status, 4) << end.output;
  for (const Record& record : read_records(run)) {
    if (record.kernel_id == kCase) {
      EXPECT_EQ(record.verdict, Verdict::pass);
      continue;
    }
    EXPECT_EQ(record.verdict, Verdict::error);
    EXPECT_THAT(record.reason, AllOf(HasSubstr("the case needs "), HasSubstr(" bytes"), Not(HasSubstr(".cpp"))));
  }
  EXPECT_EQ(read_records(run).size(), 3u);
}

TEST_F(Cli, ABrokenModuleCostsItselfAlone) {
  const ProgramEnd end =
      assay({"check", "--module", module("abi_off"), "--module", module("good"), "--filter", kCase, "--out", run});
  EXPECT_EQ(end.status, 4) << end.output;
  EXPECT_THAT(end.output, AllOf(HasSubstr("abi_off.so"), HasSubstr("wrong with the run itself")));
  EXPECT_EQ(read_records(run).at(0).verdict, Verdict::pass);
}

TEST_F(Cli, JsonIsOneDocumentOnStdout) {
  const ProgramEnd end = check("segfault", kCase, {"--json"});
  const nlohmann::json document = nlohmann::json::parse(end.output);
  EXPECT_EQ(end.status, 1);
  EXPECT_EQ(document.at("exit_code"), 1);
  EXPECT_EQ(document.at("verdicts").at("crashed"), 1);
  EXPECT_EQ(document.at("failures").at(0).at("kernel_id"), kCase);
  const nlohmann::json list =
      nlohmann::json::parse(assay({"list", "--json", "--cases", "--module", module("good")}).output);
  EXPECT_EQ(list.at("kernels").at(0).at("op"), "reduce");
  EXPECT_GT(list.at("cases").size(), 1u);
}

TEST_F(Cli, APipeGetsPlainLines) {
  const ProgramEnd end = check("good", kCase);
  EXPECT_THAT(end.output, AllOf(Not(HasSubstr("\033")), Not(HasSubstr("\r")), HasSubstr("pass             " + kCase)));
}

TEST_F(Cli, ARunNamesTheCommitOfTheTreeThatIsJudged) {
  const std::string root = tree();
  const auto named = [&](const std::string& out) {
    run = (folder / out).string();
    EXPECT_EQ(check("good", kCase, {"--root", root}).status, 0);
    return read_run(run).commit;
  };
  EXPECT_EQ(named("without"), "");
  const ProgramEnd git = run_program({"sh", "-c",
                                      "cd " + shell_quoted(root) +
                                          " && git init -q && git add . && git -c user.name=a -c user.email=a@b "
                                          "commit -q -m base && git rev-parse HEAD"});
  ASSERT_EQ(git.status, 0) << git.output;
  const std::string commit = git.output.substr(0, git.output.size() - 1);
  EXPECT_EQ(named("clean"), commit);
  write_text(root + "/ci/policy/new.toml", "");
  EXPECT_EQ(named("dirty"), commit + "-dirty");
}

TEST_F(Cli, ATemporaryBaseIsRemovedHoweverTheCommandEnds) {
  const std::string root = tree(), tmp = (folder / "tmp").string();
  const ProgramEnd committed = run_program({"sh", "-c",
                                            "cd " + shell_quoted(root) +
                                                " && git init -q && git add . && git -c user.name=a -c "
                                                "user.email=a@b commit -q -m base && command -v git"});
  ASSERT_EQ(committed.status, 0) << committed.output;
  fs::create_directories(tmp);
  const std::map<std::string, std::string> variables{{"TMPDIR", tmp}, {"CI", ""}};
  const std::vector<std::string> given{"--root", root, "--base", "HEAD", "--module"};
  const auto against_base = [&](std::vector<std::string> asked, const std::string& of, const std::string& path) {
    asked.insert(asked.begin(), kAssay);
    asked.insert(asked.end(), given.begin(), given.end());
    asked.push_back(module(of));
    std::map<std::string, std::string> with = variables;
    with["PATH"] = path;
    const ProgramEnd end = run_program(asked, with);
    EXPECT_TRUE(fs::is_empty(tmp)) << end.output;
    return end.status;
  };
  const std::string path = std::getenv("PATH");
  EXPECT_EQ(against_base({"repro", kCase}, "good", path), 0);
  EXPECT_EQ(against_base({"repro", "reduce/bad:kind=max"}, "good", path), 4);
  EXPECT_EQ(against_base({"repro", "reduce/bad:kind=sum,n=7,dtype=f32"}, "good", path), 0) << "which is refused";
  EXPECT_EQ(against_base({"repro", kCase}, "segfault", path), 1);
  // Stopped while git reads the base.
  write_text(folder / "bin" / "git", "#!/bin/sh\n" + committed.output.substr(0, committed.output.find('\n')) +
                                         " \"$@\" || exit\ncase \"$*\" in *archive*) kill -TERM $PPID ;; esac\n");
  fs::permissions(folder / "bin" / "git", fs::perms::owner_all);
  EXPECT_EQ(against_base({"repro", kCase}, "good", (folder / "bin").string() + ":" + path), 128 + SIGTERM);
  EXPECT_EQ(against_base({"env", "verify"}, "good", (folder / "bin").string() + ":" + path), 3);
  // Of what it prints nobody reads a line.
  const std::string unread = shell_quoted(kAssay) + " shrink " + shell_quoted(kCase) + " --seconds 5 --root " +
                             shell_quoted(root) + " --base HEAD --module " + shell_quoted(module("segfault"));
  const ProgramEnd end = run_program({"sh", "-c", "{ " + unread + "; echo $? >&2; } | true"}, variables);
  EXPECT_EQ(end.output, std::to_string(128 + SIGPIPE) + "\n");
  EXPECT_TRUE(fs::is_empty(tmp));
}

TEST_F(Cli, AFullDiskIsOneLine) {
  // The second prints more than is kept back until the end.
  for (const std::string& what :
       std::vector<std::string>{" list --verdicts", " list --json --cases --tier ci --module " + module("good")}) {
    const ProgramEnd end = run_program({"sh", "-c", kAssay + what + " > /dev/full"});
    EXPECT_EQ(end.status, 4);
    EXPECT_EQ(end.output, "assay: cannot write to standard output\n");
  }
}

TEST_F(Cli, ALimitIsNoFailureOfAKernel) {
  const std::string command = kAssay + " check --module " + module("good") + " --filter " + kCase + " --out " + run;
  // A file that may not grow: as a full disk, and what is left is done later.
  const ProgramEnd size = run_program({"sh", "-c", "ulimit -f 1; " + command});
  EXPECT_EQ(size.status, 4) << size.output;
  EXPECT_THAT(size.output, HasSubstr("File too large"));
  EXPECT_EQ(assay({"check", "--module", module("good"), "--filter", kCase, "--resume", run}).status, 0);
#ifdef ASSAY_SANITIZED
  GTEST_SKIP() << "a limit of addresses is below what a sanitizer's shadow memory takes";
#endif
  fs::remove_all(run);
  const ProgramEnd memory = run_program({"sh", "-c", "ulimit -v 4000000; " + command});
  EXPECT_EQ(memory.status, 4) << memory.output;
  EXPECT_THAT(memory.output, Not(HasSubstr("crashed")));
}

// Else a file of the run would get what is printed.
TEST_F(Cli, ClosedStandardStreamsAreNobodysFiles) {
  const std::string command = kAssay + " check --module " + module("good") + " --filter " + kCase + " --out " + run;
  EXPECT_EQ(run_program({"sh", "-c", command + " 0<&- 1>&- 2>&-"}).status, 0);
  EXPECT_EQ(read_run(run).exit_code, 0);
  ASSERT_EQ(read_records(run).size(), 1u);
  EXPECT_EQ(read_records(run)[0].verdict, Verdict::pass);
}

TEST_F(Cli, WhatCannotBeLookedAtIsOneLineThatNamesIt) {
  fs::create_symlink("loop", folder / "loop");
  write_text(folder / "file", "");
  const std::string loop = (folder / "loop").string(), file = (folder / "file").string();
  struct Wrong {
    std::vector<std::string> arguments;
    std::string says;
  };
  for (const Wrong& wrong : std::vector<Wrong>{
           {{"report", loop}, loop + "/run.json: Too many levels"},
           {{"report", file}, file + "/run.json: Not a directory"},
           {{"canary", "--resume", loop}, loop + "/pin/run.json: Too many levels"},
           {{"canary", "--promote", loop}, loop + "/canary.json: Too many levels"},
           {{"canary", "--promote", file}, "has no canary.json"},
           {{"check", "--resume", loop}, loop},
           {{"check", "--base", loop}, loop},
           {{"check", "--module", loop + "/m.so"}, loop + "/m.so"},
           {{"check", "--module", module("good"), "--filter", kCase, "--out", loop}, loop},
           {{"golden", "verify", "--run", loop}, loop + "/run.json: Too many levels"},
       }) {
    const ProgramEnd end = assay(wrong.arguments);
    EXPECT_EQ(end.status, 4) << end.output;
    EXPECT_EQ(line_count(end.output), 1) << end.output;
    EXPECT_THAT(end.output, AllOf(HasSubstr(wrong.says), Not(HasSubstr("internal error"))));
  }
  const auto with_base = [&](const std::string& place) {
    return run_program({kAssay, "check", "--module", module("good"), "--base", "HEAD"}, {{"TMPDIR", place}});
  };
  for (const std::string& place : {loop, file, (folder / "nowhere").string()}) {
    EXPECT_EQ(with_base(place).status, 4);
    EXPECT_EQ(with_base(place).output,
              "assay: TMPDIR: is no folder that is there; set it to one, or leave it out for /tmp\n");
  }
}

TEST_F(Cli, TheGateListsEditsOfWhatJudgesItAndWantsApproval) {
  const fs::path base = tree();
  std::ofstream(base / "ci/policy/policy.toml", std::ios::app) << "# an older word\n";
  const std::vector<std::string> gate{"gate", "--no-report", "--module",    module("good"), "--filter",
                                      kCase,  "--base",      base.string(), "--no-latency"};
  std::vector<std::string> first = gate, second = gate;
  first.insert(first.end(), {"--out", run});
  second.insert(second.end(), {"--approve-findings", "--out", run + "2"});
  const ProgramEnd end = assay(first);
  EXPECT_EQ(end.status, 2) << end.output;
  EXPECT_THAT(end.output, AllOf(HasSubstr("findings for the owner to approve"), HasSubstr("policy.toml is edited")));
  EXPECT_FALSE(read_run(run).findings.empty());
  EXPECT_EQ(assay(second).status, 0);
}

TEST_F(Cli, BothArmsAreBuiltByTheScriptOfTheBase) {
  const fs::path base = tree();
  write_text(base / "ci/arm", "#!/bin/sh\necho \"arm: the base's script, $ASSAY_VENV\"\nexit 4\n");
  fs::permissions(base / "ci/arm", fs::perms::owner_all);
  const ProgramEnd end = assay({"gate", "--no-report", "--unpinned", "--module", module("good"), "--filter", kCase,
                                "--base", base.string(), "--out", run});
  EXPECT_EQ(end.status, 4);
  EXPECT_THAT(end.output, HasSubstr("arm: the base's script, " ASSAY_SOURCE_DIR "/.venv"));
}

TEST_F(Cli, TheGateTellsOfAKnownIssueThatTwentyRunsDidNotShow) {
  const std::string root = tree();
  std::ofstream(fs::path(root) / "ci/policy/policy.toml", std::ios::app)
      << "[[known_issue]]\nkernel = \"reduce/bad:*\"\nverdict = \"wrong\"\nreason = \"upstream\"\nowner = \"me\"\n"
         "expires = 2999-01-01\n";
  const fs::path history = folder / "history";
  fs::create_directories(history);
  const auto gate = [&](const std::string& name) {
    run = (folder / name).string();
    return assay({"gate", "--no-report", "--tier", "ci", "--module", module("good"), "--filter", kCase, "--root", root,
                  "--history", history.string(), "--out", run});
  };
  EXPECT_EQ(gate("first").status, 0);
  for (int i = 0; i < kCleanRuns - 1; ++i) {
    assay::Run past = read_run(folder / "first");
    past.started = "2020-01-01T00:00:" + std::to_string(10 + i) + "Z";
    RunFolder copy = RunFolder::create(history / std::to_string(i));
    for (const Record& record : read_records(folder / "first")) copy.append(record);
    copy.write_run(past);
    if (i == kCleanRuns - 3) {
      EXPECT_EQ(gate("before").status, 0);
    }
  }
  const ProgramEnd end = gate("last");
  EXPECT_EQ(end.status, 2) << end.output;
  EXPECT_THAT(end.output, HasSubstr("known issue of reduce/bad:* (me) is stale"));
}

TEST_F(Cli, TablesAreWhatTheCodeHolds) {
  const std::string checks = assay({"list", "--checks"}).output;
  for (const CheckRow& row : check_table()) EXPECT_THAT(checks, HasSubstr(std::string(row.meaning)));
  const nlohmann::json tables = nlohmann::json::parse(assay({"list", "--checks", "--verdicts", "--json"}).output);
  EXPECT_EQ(tables.at("checks").size(), check_table().size());
  EXPECT_EQ(tables.at("checks").at(0).at("meaning"), check_table()[0].meaning);
  EXPECT_EQ(tables.at("verdicts").size(), verdict_table().size());
  EXPECT_EQ(tables.at("verdicts").back().at("exit_code"), 4);
  EXPECT_FALSE(nlohmann::json::parse(assay({"list", "--verdicts", "--json"}).output).contains("checks"));
  const std::string contracts = assay({"list", "--contracts", "--module", module("good")}).output;
  EXPECT_THAT(contracts, AllOf(HasSubstr("| reduce/bad | cpu |"), HasSubstr("| --- |"), Not(HasSubstr("REFUSED"))));
}

TEST_F(Cli, AContractThatItsOpDoesNotAllowIsListedAsRefused) {
  const std::string bad = module("claim_too_much"), why = "depth_divisor 1 is below";
  EXPECT_THAT(assay({"list", "--module", bad}).output, HasSubstr("REFUSED: " + why));
  EXPECT_THAT(assay({"list", "--contracts", "--module", bad}).output, HasSubstr("| REFUSED: " + why));
  const nlohmann::json list = nlohmann::json::parse(assay({"list", "--json", "--module", bad}).output);
  EXPECT_THAT(list.at("kernels").at(0).at("refused"), ::testing::StartsWith(why));
}

}  // namespace
}  // namespace assay
