// The wrapper around the Python package, against stand-ins for Python that end as the package or Python would.
#include "cli/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class ReportTest : public ::testing::Test {
 protected:
  ReportTest() {
    std::string pattern = (fs::temp_directory_path() / "assay-report-XXXXXX").string();
    folder = fs::canonical(::mkdtemp(pattern.data()));
    fs::create_directories(folder / ".venv" / "bin");
  }
  ~ReportTest() override { fs::remove_all(folder); }

  // `body`: what Python does; $5 is the run's folder.
  Report report_of(const std::string& body) {
    const fs::path python = folder / ".venv" / "bin" / "python";
    std::ofstream(python) << "#!/bin/sh\n" << body << "\n";
    fs::permissions(python, fs::perms::owner_all);
    return write_report(folder, folder / "x" / ".." / "run");
  }

  fs::path folder;
};

TEST_F(ReportTest, AWrittenReportHasNothingWrong) {
  const Report report = report_of("echo \"$5/report/index.html\"");
  EXPECT_EQ(report.page, folder / "x" / ".." / "run" / "report" / "index.html");
  EXPECT_EQ(report.why, "");
}

TEST_F(ReportTest, AnEndWithoutAPageIsNoReport) {
  const Report report = report_of("exit 0");
  EXPECT_TRUE(report.page.empty());
  EXPECT_NE(report.why, "");
}

TEST_F(ReportTest, WhatThePackageRefusesIsPassedThroughAsItIs) {
  const Report report = report_of("echo 'warning' >&2; echo 'F: cannot be written: full; free space' >&2; exit 4");
  EXPECT_TRUE(report.page.empty());
  EXPECT_EQ(report.why, "report: F: cannot be written: full; free space");
}

TEST_F(ReportTest, AReportOfAnIncompleteRunIsWrittenAndStillWrong) {
  const Report report = report_of("echo \"$5/report/index.html\"; echo 'incomplete: 2 of 3 records' >&2; exit 4");
  EXPECT_FALSE(report.page.empty());
  EXPECT_EQ(report.why, "report: incomplete: 2 of 3 records");
}

TEST_F(ReportTest, SetupIsTheRemedyForAMissingPackageAlone) {
  const std::string missing = "echo \"ModuleNotFoundError: No module named 'pandas'\" >&2; exit 1";
  EXPECT_THAT(report_of(missing).why, HasSubstr("No module named 'pandas'; ci/setup installs"));
  const std::string broken = "echo 'KeyError: x' >&2; exit 1";
  EXPECT_THAT(report_of(broken).why, HasSubstr("ended with 1: KeyError: x"));
  EXPECT_THAT(report_of(broken).why, Not(HasSubstr("ci/setup")));
}

}  // namespace
}  // namespace assay
