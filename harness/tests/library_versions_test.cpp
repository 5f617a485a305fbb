// Which version a person's words mean. The sources are a script that answers as ci/library does.
#include "gate/library_versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(LibraryVersions, AreMeantByTheirFirstNumbers) {
  EXPECT_TRUE(is_meant_by("0.3.29", "0.3.29"));
  EXPECT_TRUE(is_meant_by("0.3.29+ds-3", "0.3.29"));
  EXPECT_TRUE(is_meant_by("0.3.29.265.1", "0.3.29"));
  EXPECT_TRUE(is_meant_by("0.3.29+ds-3", "0.3.29+"));
  EXPECT_FALSE(is_meant_by("0.3.29", "0.3.2"));
  EXPECT_FALSE(is_meant_by("0.3.2", "0.3.29"));
  EXPECT_FALSE(is_meant_by("0.3.29", ""));
}

TEST(LibraryVersions, ComeInTheOrderOfTheirNumbers) {
  const std::vector<std::string> order{"~",          "",       "0.3.2~rc1",   "0.3.2",     "0.3.9+ds-1~bpo12+1",
                                       "0.3.9+ds-1", "0.3.21", "0.3.21+ds-4", "0.3.021.5", "0.10",
                                       "1"};
  for (size_t i = 0; i < order.size(); ++i) {
    for (size_t j = 0; j < order.size(); ++j) EXPECT_EQ(is_earlier(order[i], order[j]), i < j) << order[i] << order[j];
  }
}

class LibraryVersionsTest : public testing::Test {
 protected:
  void SetUp() override { script("true"); }
  // `body` has the arguments.
  void script(const std::string& body) {
    const fs::path file = scratch_.path / "ci/library";
    write_text(file, "#!/bin/sh\n" + body + "\n");
    fs::permissions(file, fs::perms::owner_all);
  }
  LibraryVersion find(const std::string& words) { return find_library_version(place_, recipe_, words, notes_); }
  std::string refusal(const std::string& words) {
    return message_of([&] { find(words); });
  }

  const Scratch scratch_;
  const LibraryPlace place_{.root = scratch_.path, .installed = {scratch_.path / "installed"}};
  std::vector<std::string> notes_;
  LibraryRecipe recipe_{
      .name = "tiny",
      .kernels = {"*/tiny"},
      .soname = "libtiny.so.0",
      .file = "libtiny*",
      .sources = {{.kind = "debian", .suites = {"old", "new"}, .package = "libtiny0"},
                  {.kind = "wheel", .package = "tiny"},
                  {.kind = "debian", .suites = {"older"}, .package = "libtiny", .left_out = "too old"},
                  {.kind = "folder"}}};
  static constexpr const char* kAnswers = R"(case "$*" in
"versions debian libtiny0 old new") echo "old 0.3.1+ds-1"; echo "new 0.3.12+ds-1"; echo "note: new is of yesterday" ;;
"versions wheel tiny") echo "PyPI 0.4.1"; echo "PyPI 0.4.2"; echo "PyPI 0.3.12" ;;
"versions debian libtiny older") echo "older 0.1" ;;
*) echo "no: $*"; exit 4 ;;
esac)";
};

TEST_F(LibraryVersionsTest, AreWhatTheSourcesSay) {
  script(kAnswers);
  std::vector<std::string> all;
  for (const LibraryVersion& one : library_versions(place_, recipe_, notes_)) all.push_back(text_of(one));
  EXPECT_THAT(all, ElementsAre("0.3.1+ds-1 (old)", "0.3.12+ds-1 (new)", "0.4.1 (PyPI)", "0.4.2 (PyPI)", "0.3.12 (PyPI)",
                               "0.1 (older)"));
  EXPECT_THAT(notes_, ElementsAre("new is of yesterday"));
}

TEST_F(LibraryVersionsTest, AreNamedByNumberSuiteOrSource) {
  script(kAnswers);
  EXPECT_EQ(find("0.3.1").from, "old");
  EXPECT_EQ(find("0.3.12").from, "new");  // the first source that has it
  EXPECT_EQ(find("new").version, "0.3.12+ds-1");
  EXPECT_EQ(find("wheel:0.3.12").from, "PyPI");
  EXPECT_EQ(find("0.4.2").version, "0.4.2");
  fs::create_directories(scratch_.path / "own");
  EXPECT_EQ(find((scratch_.path / "own").string()).kind, "folder");
  EXPECT_EQ(find("folder:" + (scratch_.path / "own").string()).version, (scratch_.path / "own").string());
}

TEST_F(LibraryVersionsTest, HaveWordsThatFindEachAgain) {
  script(kAnswers);
  for (const LibraryVersion& one : library_versions(place_, recipe_, notes_)) {
    if (!one.source.left_out.empty()) continue;
    const LibraryVersion again = find(words_for(one));
    EXPECT_EQ(again.from, one.from) << words_for(one);
    EXPECT_EQ(again.version, one.version);
  }
}

TEST_F(LibraryVersionsTest, ThatNoSuiteHasIsNoted) {
  script("true");
  library_versions(place_, recipe_, notes_);
  EXPECT_THAT(notes_,
              ::testing::Contains("no suite has libtiny0; see to 'package' and 'suites' in ci/libraries/tiny.toml"));
}

TEST_F(LibraryVersionsTest, ThatSeveralAreOrNoneOrLeftOutAreRefusedWithTheReason) {
  script(kAnswers);
  EXPECT_THAT(refusal("0.4"), AllOf(HasSubstr("may be any of these"), HasSubstr("0.4.1 (PyPI), 0.4.2 (PyPI)")));
  EXPECT_THAT(refusal("9"), AllOf(HasSubstr("no source has it"), HasSubstr("0.3.12+ds-1 (new)")));
  EXPECT_THAT(refusal("0.1"), HasSubstr("tiny 0.1 (older): is left out: too old"));
  EXPECT_THAT(refusal("system"), HasSubstr("has no [[source]] of kind \"system\""));
  EXPECT_THAT(refusal("/no/such/folder"), HasSubstr("is no folder"));
}

TEST_F(LibraryVersionsTest, ASourceThatCannotBeAskedIsTold) {
  script("echo noise; echo 'library: no network; mend it' >&2; exit 4");
  EXPECT_EQ(refusal("0.3.1"), "library: no network; mend it");
  script("echo one-word");
  EXPECT_THROW(find("0.3.1"), Error);
}

TEST_F(LibraryVersionsTest, WhatIsInstalledIsFoundWhereWorkersLook) {
  EXPECT_EQ(find_installed(place_, "libtiny.so.0"), "");
  write_text(scratch_.path / "installed/libtiny.so.0", "no ELF");
  EXPECT_EQ(find_installed(place_, "libtiny.so.0"), scratch_.path / "installed/libtiny.so.0");
  EXPECT_NE(find_installed(place_, "libc.so.6"), "");  // by the loader's cache
  recipe_.sources = {{.kind = "system"}};
  EXPECT_EQ(find("system").from, scratch_.path / "installed/libtiny.so.0");
}

}  // namespace
}  // namespace assay
