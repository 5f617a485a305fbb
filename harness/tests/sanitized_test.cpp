// A judge that has its workers watched, by a stand-in for compute-sanitizer and on the CPU: what the log says becomes
// the record's, and what a worker does to itself is told beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "bad_module_checks.h"
#include "scratch.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kClean = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n";
constexpr const char* kFinding =
    "========= COMPUTE-SANITIZER\n========= Invalid __global__ read of size 4 bytes\n=========     at f+0x10\n"
    "========= ERROR SUMMARY: 1 error\n";

class SanitizedJudge : public ::testing::Test {
 protected:
  Record check(const char* module, Sanitizer tool, const std::string& log, const char* case_id = bad::kNormal) {
    std::ofstream(file_) << log;
    ::setenv("ASSAY_STAND_IN_LOG", file_.c_str(), 1);
    JudgeSettings settings = bad::settings(Device::cpu, 2);
    settings.sanitizer = tool;
    settings.sanitizer_program = ASSAY_SOURCE_DIR "/harness/tests/stand_in_sanitizer";
    JudgeClient judge(settings);
    return bad::check(judge, module, case_id);
  }
  // Of the judge about a good kernel, under a tool that does only what the script says.
  std::string error_under(const std::string& script) {
    const std::filesystem::path tool = scratch_.path / "compute-sanitizer";
    std::ofstream(tool) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
    JudgeSettings settings = bad::settings(Device::cpu, 2);
    settings.sanitizer = Sanitizer::memcheck;
    settings.sanitizer_program = tool;
    JudgeClient judge(settings);
    try {
      return "a record: " + bad::details(bad::check(judge, "good", bad::kNormal));
    } catch (const Error& e) {
      return e.what();
    }
  }
  std::string arguments() const {
    std::ifstream in(file_.string() + ".arguments");
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static CheckResult result(const Record& record, std::string_view check) {
    for (const CheckResult& r : record.checks) {
      if (r.check == check) return r;
    }
    return {};
  }

  Scratch scratch_;
  std::filesystem::path file_ = scratch_.path / "log";
};

TEST_F(SanitizedJudge, ACleanLogPassesAndEveryOtherCheckIsSkipped) {
  const Record record = check("good", Sanitizer::memcheck, kClean);
  EXPECT_EQ(record.verdict, Verdict::pass) << bad::details(record);
  EXPECT_EQ(result(record, "sanitizer").outcome, Outcome::pass);
  EXPECT_EQ(result(record, "launch").outcome, Outcome::pass);
  for (const char* name : {"contract", "accuracy", "same-run", "guards", "trust"}) {
    EXPECT_EQ(result(record, name).outcome, Outcome::skipped) << name;
    EXPECT_THAT(result(record, name).detail, HasSubstr("under memcheck")) << name;
  }
  EXPECT_THAT(arguments(), HasSubstr("--tool=memcheck\n"));
  EXPECT_THAT(arguments(), HasSubstr("--padding="));
}

TEST_F(SanitizedJudge, AFindingIsTheRecordsVerdict) {
  for (const auto& [tool, verdict] : {std::pair{Sanitizer::memcheck, Verdict::memory},
                                      {Sanitizer::initcheck, Verdict::memory},
                                      {Sanitizer::racecheck, Verdict::nondeterministic},
                                      {Sanitizer::synccheck, Verdict::crashed}}) {
    const Record record = check("good", tool, kFinding);
    EXPECT_EQ(record.verdict, verdict) << bad::details(record);
    EXPECT_THAT(record.reason, HasSubstr("sanitizer: " + std::string(name_of(tool)) + ": 1 error: Invalid"));
    EXPECT_THAT(arguments(), HasSubstr("--tool=" + std::string(name_of(tool)) + "\n"));
  }
}

TEST_F(SanitizedJudge, OneCasesLogSaysNothingOfTheNext) {
  std::ofstream(file_) << kFinding;
  ::setenv("ASSAY_STAND_IN_LOG", file_.c_str(), 1);
  JudgeSettings settings = bad::settings(Device::cpu, 2);
  settings.sanitizer = Sanitizer::memcheck;
  settings.sanitizer_program = ASSAY_SOURCE_DIR "/harness/tests/stand_in_sanitizer";
  JudgeClient judge(settings);
  EXPECT_EQ(bad::check(judge, "good", bad::kNormal).verdict, Verdict::memory);
  std::ofstream(file_) << kClean;
  EXPECT_EQ(bad::check(judge, "good", bad::kZeros).verdict, Verdict::pass);
}

TEST_F(SanitizedJudge, ALogWithoutASummaryIsAnErrorNotAPass) {
  EXPECT_THROW(check("good", Sanitizer::memcheck, "========= COMPUTE-SANITIZER\n"), Error);
}

// Nor is it the kernel's failure.
TEST_F(SanitizedJudge, AToolThatStartsNothingIsAnErrorThatSaysWhatItPrinted) {
  EXPECT_THAT(
      error_under("echo no device that I know; exit 9"),
      AllOf(HasSubstr("memcheck did not start a worker: it exited with status 9"), HasSubstr("no device that I know")));
}

TEST_F(SanitizedJudge, AToolThatDoesNotEndWithItsWorkerIsEndedAndAnErrorToo) {
  // The last two of its arguments are the worker's.
  EXPECT_THAT(error_under("while [ $# -gt 2 ]; do shift; done; \"$@\"; sleep 600"),
              HasSubstr("memcheck did not watch to the end"));
}

// The summary is of a process that the kernel started: the worker's own is still to be written.
TEST_F(SanitizedJudge, ASummaryBeforeAnEndThatDoesNotComeIsNotAPass) {
  const std::string finds_log = "while [ \"$1\" != --log-file ]; do shift; done; log=$2; ";
  const std::string runs_worker = "while [ $# -gt 2 ]; do shift; done; \"$@\"; ";
  const std::string summarizes = "echo '========= ERROR SUMMARY: 0 errors' >\"$log\"; ";
  EXPECT_THAT(error_under(finds_log + summarizes + runs_worker), HasSubstr("a record: ")) << "else this shows nothing";
  EXPECT_THAT(error_under(finds_log + summarizes + runs_worker + "sleep 600"),
              HasSubstr("memcheck did not watch to the end: it did not end by itself"));
  EXPECT_THAT(error_under(finds_log + summarizes + runs_worker + "kill -9 $$"),
              HasSubstr("memcheck did not watch to the end: it did not end by itself"));
}

TEST_F(SanitizedJudge, AWorkerThatGetsNoBuffersIsAnErrorNotTheKernelsFailure) {
  // What the worker would answer.
  const std::string answers = R"sh(
while [ "$1" != --log-file ]; do shift; done
echo '========= ERROR SUMMARY: 0 errors' >"$2"
while read -r message <&3; do
  case $message in
    *'"do":"prepare"'*) echo '{"workspace": [0, 1, 0], "prepare_us": 1, "selection": {}}' ;;
    *'"do":"map"'*) echo '{"error": "no place for x"}' ;;
    *) echo '{"ok": true}' ;;
  esac >&3
done)sh";
  EXPECT_THAT(error_under(answers), HasSubstr("the worker's own buffers: no place for x"));
}

TEST_F(SanitizedJudge, AnEndThatTheToolExplainsHasItsVerdictAnotherItsOwn) {
  Record record = check("abort", Sanitizer::memcheck, kFinding);
  EXPECT_EQ(record.verdict, Verdict::memory) << bad::details(record);
  EXPECT_EQ(result(record, "launch").outcome, Outcome::fail);
  record = check("abort", Sanitizer::memcheck, kClean);
  EXPECT_EQ(record.verdict, Verdict::crashed) << bad::details(record);
  record = check("launch_error", Sanitizer::memcheck, kClean);
  EXPECT_EQ(record.verdict, Verdict::crashed) << bad::details(record);
  EXPECT_EQ(result(record, "sanitizer").outcome, Outcome::pass);
}

TEST_F(SanitizedJudge, AKernelThatNeverEndsIsEndedWithTheTool) {
  const Record record = check("infinite_loop", Sanitizer::synccheck, kClean);
  EXPECT_EQ(record.verdict, Verdict::timeout) << bad::details(record);
  EXPECT_EQ(result(record, "sanitizer").outcome, Outcome::skipped);
}

TEST_F(SanitizedJudge, ARefusalStaysARefusal) {
  const Record record = check("good", Sanitizer::memcheck, "", "reduce:kind=sum,n=7,dtype=f32");
  EXPECT_EQ(record.verdict, Verdict::unsupported) << bad::details(record);
}

}  // namespace
}  // namespace assay
