// Logs of compute-sanitizer read back: what each tool writes, and what it leaves when it is cut off or made a fool of.
#include "check/sanitizer_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "record/json_text.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

constexpr const char* kMemcheck = R"(========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at unaligned_kernel()+0x50 in memcheck_demo.cu:34
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x710fdca00001 is misaligned
=========     and is inside the nearest allocation at 0x710fdca00000 of size 4 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: main [0xae61] in memcheck_demo
=========
========= Invalid __global__ read of size 16 bytes
=========     at out_of_bounds_kernel()+0x90
=========     by thread (3,0,0) in block (0,0,0)
=========     Address 0x87654320 is out of bounds
=========
========= ERROR SUMMARY: 28 errors were not printed. Use --print-limit option to adjust the number of printed errors
========= ERROR SUMMARY: 30 errors
)";

constexpr const char* kRacecheck = R"(========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at sumKernel+0x90 in block_error.cu:41
=========     and Read access at sumKernel+0x100 in block_error.cu:51 [508 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
)";

constexpr const char* kInitcheck = R"(========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 4 bytes
=========     at vectorAdd+0x70
=========     by thread (31,0,0) in block (1,0,0)
=========     Address 0x7f3c7ec000fc
=========
========= ERROR SUMMARY: 1,152 errors
)";

constexpr const char* kSynccheck = R"(========= COMPUTE-SANITIZER
========= Barrier error detected. Divergent thread(s) in block.
=========     at myKernel+0x8f0
=========     by thread (63,0,0) in block (0,0,0)
=========
========= ERROR SUMMARY: 16 errors
)";

TEST(SanitizerLog, OfMemcheckSaysWhatWhereByWhomAndWhichAddress) {
  const SanitizerReport report = read_sanitizer_log(kMemcheck);
  EXPECT_TRUE(report.ended);
  EXPECT_EQ(report.findings, 30);
  EXPECT_EQ(report.first,
            "Invalid __global__ write of size 4 bytes at unaligned_kernel()+0x50 in memcheck_demo.cu:34 by thread "
            "(0,0,0) in block (0,0,0), Address 0x710fdca00001 is misaligned and is inside the nearest allocation at "
            "0x710fdca00000 of size 4 bytes");
  EXPECT_EQ(report.trouble, "");
}

TEST(SanitizerLog, OfRacecheckNamesBothAccesses) {
  const SanitizerReport report = read_sanitizer_log(kRacecheck);
  EXPECT_TRUE(report.ended);
  EXPECT_EQ(report.findings, 1);
  EXPECT_EQ(report.warnings, 0);
  EXPECT_EQ(report.first,
            "Error: Race reported between Write access at sumKernel+0x90 in block_error.cu:41 and Read access at "
            "sumKernel+0x100 in block_error.cu:51 [508 hazards]");
}

TEST(SanitizerLog, OfInitcheckAndSynccheck) {
  const SanitizerReport init = read_sanitizer_log(kInitcheck);
  EXPECT_EQ(init.findings, 1152);
  EXPECT_EQ(init.first,
            "Uninitialized __global__ memory read of size 4 bytes at vectorAdd+0x70 by thread (31,0,0) in block "
            "(1,0,0), Address 0x7f3c7ec000fc");
  const SanitizerReport sync = read_sanitizer_log(kSynccheck);
  EXPECT_EQ(sync.findings, 16);
  EXPECT_THAT(sync.first, HasSubstr("Divergent thread(s) in block. at myKernel+0x8f0 by thread (63,0,0)"));
}

TEST(SanitizerLog, EachToolsFindingHasItsVerdict) {
  for (const auto& [tool, log, verdict] : {std::tuple{Sanitizer::memcheck, kMemcheck, Verdict::memory},
                                           {Sanitizer::initcheck, kInitcheck, Verdict::memory},
                                           {Sanitizer::racecheck, kRacecheck, Verdict::nondeterministic},
                                           {Sanitizer::synccheck, kSynccheck, Verdict::crashed}}) {
    const CheckResult result = sanitizer_check(tool, read_sanitizer_log(log), false);
    EXPECT_EQ(result.check, "sanitizer");
    EXPECT_EQ(result.outcome, Outcome::fail);
    EXPECT_EQ(result.verdict, verdict);
    EXPECT_THAT(result.detail, HasSubstr(std::string(name_of(tool)) + ": "));
    EXPECT_EQ(sanitizer_named(name_of(tool)), tool);
  }
  EXPECT_THROW(sanitizer_named("leakcheck"), UsageError);
}

TEST(SanitizerLog, ACleanOnePassesAndWarningsAreCounted) {
  const auto clean = read_sanitizer_log("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n");
  EXPECT_EQ(sanitizer_check(Sanitizer::memcheck, clean, false).outcome, Outcome::pass);
  const auto warned = read_sanitizer_log(
      "========= Warning: Race reported between Write access at f+0x10\n=========     and Write access at f+0x20\n"
      "========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)\n");
  const CheckResult result = sanitizer_check(Sanitizer::racecheck, warned, false);
  EXPECT_EQ(result.outcome, Outcome::pass);
  EXPECT_EQ(result.detail, "racecheck, 1 warnings");
}

// Nothing seen is not nothing wrong.
TEST(SanitizerLog, AToolThatDidNotWatchToTheEndIsAnErrorOfTheHarness) {
  const char* never_watched =
      "========= COMPUTE-SANITIZER\n========= Error: Target application terminated before first instrumented API "
      "call\n";
  const char* lost_a_launch =
      "========= Internal Sanitizer Error: The Sanitizer encountered an error while launching f and didn't track the "
      "launch.\n========= ERROR SUMMARY: 0 errors\n";
  for (const char* log :
       {"", "========= COMPUTE-SANITIZER\n", never_watched, lost_a_launch,
        "========= Unable to find injection library libsanitizer-collection.so\n", "ERROR SUMMARY: 0 errors\n",
        "========= ERROR SUMMARY: 0 errors", "========= ERROR SUMMARY: -1 errors\n",
        "========= ERROR SUMMARY: 99999999999999999999 errors\n", "========= ERROR SUMMARY: , errors\n",
        "========= RACECHECK SUMMARY: 0 hazards displayed\n"}) {
    const SanitizerReport report = read_sanitizer_log(log);
    EXPECT_EQ(report.findings, 0) << log;
    EXPECT_THROW(sanitizer_check(Sanitizer::memcheck, report, false), Error) << log;
    EXPECT_EQ(sanitizer_check(Sanitizer::memcheck, report, true).outcome, Outcome::skipped) << log;
  }
}

TEST(SanitizerLog, CutOffAnywhereItNeverTurnsClean) {
  for (const std::string log : {kMemcheck, kRacecheck, kInitcheck, kSynccheck}) {
    const size_t told = log.find('\n', log.find('\n') + 1);  // the end of the first finding's first line
    for (size_t length = 0; length < log.size(); ++length) {
      const SanitizerReport report = read_sanitizer_log(std::string_view(log).substr(0, length));
      EXPECT_FALSE(report.ended) << length;
      EXPECT_EQ(report.findings > 0, length > told) << length;
    }
  }
}

TEST(SanitizerLog, ALaterSummaryTakesNothingBack) {
  const SanitizerReport errors = read_sanitizer_log(
      "========= Something new\n========= ERROR SUMMARY: 2 errors\n========= ERROR SUMMARY: 0 errors\n");
  EXPECT_EQ(errors.findings, 2);
  const SanitizerReport races = read_sanitizer_log(
      "========= RACECHECK SUMMARY: 3 hazards displayed (1 error, 2 warnings)\n"
      "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n");
  EXPECT_EQ(races.findings, 1);
  EXPECT_EQ(races.warnings, 2);
}

TEST(SanitizerLog, WhatItIsNotAnswerableForStaysOneLine) {
  const std::string name = "k\x01\t\xff<" + std::string(5000, 'x') + ">";
  const SanitizerReport report =
      read_sanitizer_log("========= Invalid __shared__ write of size 4 bytes\n=========     at " + name + "+0x10\n" +
                         std::string(1 << 16, '=') + "\n========= ERROR SUMMARY: 1 error\n");
  EXPECT_EQ(report.findings, 1);
  EXPECT_LT(report.first.size(), 1000u);
  EXPECT_EQ(report.first.find_first_of("\n\t\x01"), std::string::npos);
  EXPECT_EQ(report.first, valid_utf8(report.first));
}

TEST(SanitizerLog, AnErrorInAFormNotKnownHereIsStillOne) {
  const SanitizerReport report = read_sanitizer_log(
      "========= COMPUTE-SANITIZER\n========= Something new\n=========     at f+0x10\n"
      "========= ERROR SUMMARY: 2 errors\n");
  EXPECT_EQ(report.findings, 2);
  EXPECT_EQ(report.first, "Something new at f+0x10");
}

}  // namespace
}  // namespace assay
