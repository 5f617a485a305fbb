// Where a run is kept that is given no --out: in a folder of its own below runs/, to which runs/latest points.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <string>
#include <vector>

#include "cli_fixture.h"
#include "record/run_folder.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(Cli, WithoutOutTheLatestRunIsPointedTo) {
  const std::string root = tree();
  const std::vector<std::string> arguments{"check", "--root", root, "--module", module("good"), "--filter", kCase};
  ASSERT_EQ(assay(arguments).status, 0);
  const fs::path latest = folder / "root" / "runs" / "latest";
  const fs::path first = fs::read_symlink(latest);
  EXPECT_EQ(read_run(latest).exit_code, 0);
  ASSERT_EQ(assay(arguments).status, 0);
  EXPECT_NE(fs::read_symlink(latest), first);
  EXPECT_EQ(check("good", kCase, {"--root", root}).status, 0);  // elsewhere: the link stays
  EXPECT_EQ(read_run(latest).asked.argv, arguments);
}

TEST_F(Cli, WhereTheLinkCannotBeSetThatIsSaidAndNothingIsLeft) {
  const std::string root = tree();
  write_text(folder / "root" / "runs" / "latest" / "file", "in the link's place");
  const ProgramEnd end = assay({"check", "--root", root, "--module", module("good"), "--filter", kCase});
  EXPECT_EQ(end.status, 0) << end.output;
  EXPECT_THAT(end.output, HasSubstr("latest is not set to this run: "));
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / "root" / "runs")) {
    EXPECT_FALSE(entry.is_symlink()) << entry.path();
  }
}

TEST_F(Cli, RunsThatBeginTogetherHaveFoldersOfTheirOwn) {
  const std::vector<std::string> arguments{"check", "--root", tree(), "--module", module("good"), "--filter", kCase};
  std::vector<std::future<ProgramEnd>> begun;
  for (int i = 0; i < 4; ++i) begun.push_back(std::async(std::launch::async, [&] { return assay(arguments); }));
  for (std::future<ProgramEnd>& one : begun) {
    const ProgramEnd end = one.get();
    EXPECT_EQ(end.status, 0) << end.output;
    EXPECT_THAT(end.output, Not(HasSubstr("is not set")));
  }
  size_t runs = 0;
  for (const fs::directory_entry& run : fs::directory_iterator(folder / "root" / "runs")) {
    if (run.is_symlink()) continue;
    ++runs;
    EXPECT_EQ(read_run(run.path()).exit_code, 0);
    EXPECT_EQ(read_records(run.path()).size(), 1);
  }
  EXPECT_EQ(runs, begun.size());
}

}  // namespace
}  // namespace assay
