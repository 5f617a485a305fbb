// The folder that a command writes into: nobody else's, however close they begin, and gone again where nothing was
// written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <memory>
#include <set>

#include "cli/paths.h"
#include "scratch.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(OutFolder, ThoseOfCommandsThatBeginTogetherAreNewAndEachItsOwn) {
  const Scratch root;
  constexpr int kThreads = 8, kEach = 25;
  std::latch all_here(kThreads);
  const auto begin = [&] {
    std::vector<std::unique_ptr<OutFolder>> made;
    all_here.arrive_and_wait();
    for (int i = 0; i < kEach; ++i) made.push_back(std::make_unique<OutFolder>(fs::path(), root.path, "canary-", "-x"));
    return made;
  };
  std::vector<std::future<std::vector<std::unique_ptr<OutFolder>>>> begun;
  for (int i = 0; i < kThreads; ++i) begun.push_back(std::async(std::launch::async, begin));
  std::vector<std::unique_ptr<OutFolder>> all;
  for (auto& one : begun) {
    for (std::unique_ptr<OutFolder>& out : one.get()) all.push_back(std::move(out));
  }
  std::set<fs::path> paths;
  for (const std::unique_ptr<OutFolder>& out : all) {
    EXPECT_TRUE(paths.insert(out->path()).second) << out->path();
    EXPECT_TRUE(fs::is_empty(out->path()));
    EXPECT_EQ(out->path().parent_path(), root.path / "runs");
    EXPECT_THAT(out->path().filename().string(), AllOf(StartsWith("canary-20"), HasSubstr("Z-x")));
  }
  EXPECT_EQ(paths.size(), kThreads * kEach);
}

TEST(OutFolder, StaysWithWhatWasWrittenAndGoesWithout) {
  const Scratch root;
  fs::path written, left;
  {
    const OutFolder one(fs::path(), root.path, "", "-smoke"), other(fs::path(), root.path, "", "-smoke");
    written = one.path();
    left = other.path();
    write_text(written / "run.json", "{}");
  }
  EXPECT_TRUE(fs::exists(written / "run.json"));
  EXPECT_FALSE(fs::exists(left));
}

TEST(OutFolder, OneThatWasGivenIsNeitherMadeNorRemoved) {
  const Scratch root;
  const fs::path there = root.path / "there", not_there = root.path / "not there";
  fs::create_directory(there);
  {
    const OutFolder one(there, root.path, "", ""), other(not_there, root.path, "", "");
    EXPECT_EQ(one.path(), there);
    EXPECT_EQ(other.path(), not_there);
    EXPECT_FALSE(fs::exists(not_there));
  }
  EXPECT_TRUE(fs::exists(there));
  EXPECT_FALSE(fs::exists(root.path / "runs"));
}

TEST(OutFolder, WhereNoneCanBeMadeIsOneLine) {
  const Scratch root;
  write_text(root.path / "runs", "a file");
  EXPECT_THAT(message_of([&] { OutFolder(fs::path(), root.path, "", "-smoke"); }),
              AllOf(HasSubstr("/runs/20"), HasSubstr("cannot be made"), HasSubstr("name a folder by --out")));
}

}  // namespace
}  // namespace assay
