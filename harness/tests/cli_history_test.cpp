// assay history: what it hands to the Python package, against a stand-in for Python, and how the package's end is told.
#include <gmock/gmock.h>

#include <fstream>

#include "cli_fixture.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class CliHistory : public Cli {
 protected:
  // `body`: what Python does.
  ProgramEnd history(const std::string& body, std::vector<std::string> arguments) {
    const fs::path python = folder / "root" / ".venv" / "bin" / "python";
    fs::create_directories(python.parent_path());
    fs::create_directories(folder / "root" / "ci" / "policy");
    std::ofstream(python) << "#!/bin/sh\n" << body << "\n";
    fs::permissions(python, fs::perms::owner_all);
    arguments.insert(arguments.begin(), "history");
    arguments.insert(arguments.end(), {"--root", (folder / "root").string()});
    return assay(arguments);
  }
  const std::string root = "--root=" + (folder / "root").string() + "\n";
  const std::string echo = "shift 3; printf '%s\\n' \"$@\"";
};

TEST_F(CliHistory, TheRunsAndTheDatabaseAreHandedOver) {
  const ProgramEnd end = history(echo, {"import", "/a run", "-b", "--db", "-x://$(reboot)"});
  EXPECT_EQ(end.status, 4);
  const ProgramEnd good = history(echo, {"import", "/a run", "b", "--db=-x://$(reboot)"});
  EXPECT_EQ(good.status, 0);
  EXPECT_EQ(good.output, "assay_dashboards.history\nimport\n" + root + "--db=-x://$(reboot)\n/a run\n" +
                             (fs::current_path() / "b").string() + "\n");
}

// Files beside it stand in for nothing that it imports.
TEST_F(CliHistory, ThePackageIsTakenFromItsFolderAndNothingElseIs) {
  const fs::path root = folder / "tree", package = root / "dashboards" / "assay_dashboards";
  fs::create_directories(package);
  fs::create_directories(root / "ci" / "policy");
  std::ofstream(package / "__init__.py") << "";
  std::ofstream(package / "history.py") << "import json, sys\nprint(json.dumps(sys.argv[1:]))\n";
  std::ofstream(root / "dashboards" / "json.py") << "raise SystemExit('another json')\n";
  const ProgramEnd end = assay({"history", "show", "--root", root.string()});
  EXPECT_EQ(end.output, "[\"show\", \"--root=" + root.string() + "\"]\n");
}

TEST_F(CliHistory, WhatToShowIsHandedOver) {
  const ProgramEnd end = history(echo, {"show", "--kernel", "gemm/*", "--out", "/tmp/x y"});
  EXPECT_EQ(end.status, 0);
  EXPECT_EQ(end.output, "assay_dashboards.history\nshow\n" + root + "--kernel=gemm/*\n--out=/tmp/x y\n");
  EXPECT_EQ(history(echo, {"show"}).output, "assay_dashboards.history\nshow\n" + root);
}

TEST_F(CliHistory, WhatWentWellIsToldBeforeWhatDidNot) {
  const ProgramEnd end =
      history("echo 'a: 3 points'; echo 'b/run.json: damaged' >&2; echo '1 of 2' >&2; exit 4", {"import", "a", "b"});
  EXPECT_EQ(end.status, 4);
  EXPECT_THAT(end.output, HasSubstr("a: 3 points\nb/run.json: damaged\n"));
  EXPECT_THAT(end.output, HasSubstr("assay: history: 1 of 2\n"));
}

TEST_F(CliHistory, APythonThatFailsIsOneLine) {
  const ProgramEnd end = history("echo Traceback >&2; echo 'KeyError: 1' >&2; exit 1", {"show"});
  EXPECT_EQ(end.status, 4);
  EXPECT_THAT(end.output, HasSubstr("-m assay_dashboards.history ended with 1: KeyError: 1\n"));
  EXPECT_THAT(end.output, Not(HasSubstr("Traceback")));
}

TEST_F(CliHistory, WrongUseIsOneLineAndExit4) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrongs{
      {{"history"}, "subcommand is required"},
      {{"history", "import"}, "runs is required"},
      {{"history", "shwo"}, "did you mean 'show'?"},
      {{"history", "show", "--kernels", "x"}, "did you mean '--kernel'?"},
      {{"history", "show", "--root", folder.string()}, "ci/policy"},
  };
  for (const auto& [arguments, says] : wrongs) {
    const ProgramEnd end = assay(arguments);
    EXPECT_EQ(end.status, 4) << says;
    EXPECT_THAT(end.output, HasSubstr(says));
    EXPECT_EQ(std::count(end.output.begin(), end.output.end(), '\n'), 1) << end.output;
  }
}

}  // namespace
}  // namespace assay
