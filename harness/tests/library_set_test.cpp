// Library sets: which files are one, and that what was loaded proves or contradicts it. Real libraries, made here.
#include "worker/library_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "core/error.h"
#include "gate/program.h"
#include "load/elf.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class LibrarySetTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* prefix : {"pin", "candidate"}) {
      fs::create_directories(root_ / prefix);
      make(prefix, "libinner.so.1", "");
      make(prefix, "libtiny.so.0", " -L" + (root_ / prefix).string() + " -l:libinner.so.1");
    }
    set_ = {.library = "tiny", .version = "2", .folders = {root_ / "candidate"}};
    set_.files = files_needed("libtiny.so.0", set_.folders);
  }
  void TearDown() override { fs::remove_all(root_); }

  // Builds differ by the text they hold.
  void make(const std::string& prefix, const std::string& soname, const std::string& libraries) {
    const fs::path source = root_ / "tiny.c";
    std::ofstream(source) << "const char " << (libraries.empty() ? "inner" : "tiny") << "[] = \"" << prefix << "\";\n";
    const std::string command = "cc -shared -fPIC -Wl,--build-id -Wl,--no-as-needed -Wl,-soname," + soname + " -o " +
                                (root_ / prefix / soname).string() + " " + source.string() + libraries;
    const ProgramEnd end = run_program({"sh", "-c", command});
    ASSERT_EQ(end.status, 0) << end.output;
  }

  LoadedLibrary loaded(const std::string& prefix, const std::string& soname) const {
    const fs::path file = root_ / prefix / soname;
    return {.path = file.string(), .version = "0", .build_id = build_of(file)};
  }

  const fs::path root_ = fs::path(testing::TempDir()) / ("library_set." + std::to_string(::getpid()));
  LibrarySet set_;
};

TEST_F(LibrarySetTest, AreWhatALibraryNeedsAsFarAsTheFoldersHoldIt) {
  ASSERT_EQ(set_.files.size(), 2u);  // and libc.so.6 is the machine's
  EXPECT_EQ(set_.files[0].soname, "libtiny.so.0");
  EXPECT_EQ(set_.files[0].path, fs::canonical(root_ / "candidate/libtiny.so.0"));
  EXPECT_EQ(set_.files[0].version, "0");
  EXPECT_EQ(set_.files[1].soname, "libinner.so.1");
  EXPECT_EQ(set_.files[1].build_id, build_of(root_ / "candidate/libinner.so.1"));
  EXPECT_NE(set_.files[1].build_id, build_of(root_ / "pin/libinner.so.1"));
}

TEST_F(LibrarySetTest, AFolderWithoutTheLibraryIsNoSet) {
  EXPECT_THROW(files_needed("libabsent.so.0", set_.folders), UsageError);
}

TEST_F(LibrarySetTest, WhatTheSetNamesProvesIt) {
  std::vector<LoadedLibrary> all{loaded("candidate", "libtiny.so.0"), loaded("candidate", "libinner.so.1")};
  all.push_back({.path = "/somewhere/libother.so.3", .version = "3", .build_id = "0f"});
  EXPECT_EQ(violation(set_, all), "");
}

TEST_F(LibrarySetTest, AFileUnderAnotherNameOfItsFolderIsTheSame) {
  fs::create_directory_symlink(root_ / "candidate", root_ / "again");
  EXPECT_EQ(violation(set_, std::vector{loaded("again", "libtiny.so.0"), loaded("again", "libinner.so.1")}), "");
}

TEST_F(LibrarySetTest, NothingLoadedProvesNothing) {
  EXPECT_THAT(violation(set_, std::vector<LoadedLibrary>{}),
              HasSubstr("libtiny.so.0: nothing of that name was loaded"));
  EXPECT_THAT(violation(set_, std::vector{loaded("candidate", "libtiny.so.0")}),
              HasSubstr("libinner.so.1: nothing of that name"));
}

TEST_F(LibrarySetTest, APartNeedNotBeLoadedAndMustBeItsOwn) {
  set_.files[1].part = true;
  EXPECT_EQ(violation(set_, std::vector{loaded("candidate", "libtiny.so.0")}), "");
  EXPECT_THAT(violation(set_, std::vector{loaded("candidate", "libtiny.so.0"), loaded("pin", "libinner.so.1")}),
              HasSubstr("libinner.so.1: " + (root_ / "pin/libinner.so.1").string() + " was loaded, not "));
}

TEST_F(LibrarySetTest, ThePinsFileInItsSteadIsTold) {
  const std::string why = violation(set_, std::vector{loaded("pin", "libtiny.so.0"), loaded("pin", "libinner.so.1")});
  EXPECT_THAT(why, HasSubstr("tiny 2: libtiny.so.0: " + (root_ / "pin/libtiny.so.0").string() + " was loaded, not "));
}

TEST_F(LibrarySetTest, AMixtureOfPrefixesIsTold) {
  EXPECT_THAT(violation(set_, std::vector{loaded("candidate", "libtiny.so.0"), loaded("pin", "libinner.so.1")}),
              HasSubstr("libinner.so.1: " + (root_ / "pin/libinner.so.1").string() + " was loaded, not "));
  EXPECT_THAT(violation(set_, std::vector{loaded("candidate", "libtiny.so.0"), loaded("pin", "libtiny.so.0"),
                                          loaded("candidate", "libinner.so.1")}),
              HasSubstr("libtiny.so.0: a mixture: "));
}

TEST_F(LibrarySetTest, ALibraryOfThatNameInAFileOfAnotherIsTold) {
  fs::copy(root_ / "pin/libtiny.so.0", root_ / "pin/libtinyp-r2.so");
  EXPECT_THAT(violation(set_, std::vector{loaded("pin", "libtinyp-r2.so"), loaded("candidate", "libinner.so.1")}),
              HasSubstr("libtinyp-r2.so was loaded, not "));
}

TEST_F(LibrarySetTest, WhatBearsItsNamesIsFoundWhoseverItIs) {
  const LoadedLibrary own = loaded("candidate", "libtiny.so.0"), pins = loaded("pin", "libinner.so.1"),
                      late{.path = "libtiny.so.0", .version = "0", .build_id = "0e"},
                      other{.path = "/somewhere/libother.so.3", .version = "3", .build_id = "0f"};
  fs::copy(root_ / "pin/libtiny.so.0", root_ / "pin/libtinyp-r2.so");
  const LoadedLibrary renamed = loaded("pin", "libtinyp-r2.so");
  std::vector<std::string> builds;
  for (const LoadedLibrary& one : named_in(set_, std::vector{own, other, pins, own, late, renamed})) {
    builds.push_back(one.build_id);
  }
  EXPECT_THAT(builds, testing::ElementsAre(own.build_id, "0e", renamed.build_id, pins.build_id));
}

TEST_F(LibrarySetTest, AnotherBuildAtThePathIsTold) {
  LoadedLibrary other = loaded("candidate", "libtiny.so.0");
  other.build_id = "00ff";
  EXPECT_THAT(violation(set_, std::vector{other, loaded("candidate", "libinner.so.1")}),
              HasSubstr("was loaded as build 00ff, and the set was made of build " + set_.files[0].build_id));
}

TEST_F(LibrarySetTest, ASetOfNoFilesProvesNothing) {
  set_.files.clear();
  EXPECT_THAT(violation(set_, std::vector{loaded("candidate", "libtiny.so.0")}), HasSubstr("names no files"));
  EXPECT_EQ(violation(LibrarySet{}, std::vector{loaded("pin", "libtiny.so.0")}), "");  // none was asked for
}

TEST_F(LibrarySetTest, AnInstructionSetThatDidNotRunIsTold) {
  const std::map<std::string, std::string> ran{{"isa", "Zen"}};
  EXPECT_EQ(environment_refused(set_, ran), "");
  set_.environment = {{"OPENBLAS_CORETYPE", "Haswell"}};
  EXPECT_THAT(environment_refused(set_, ran), HasSubstr("nothing is known by which it would show"));
  set_.expected = {{"isa", "Haswell"}};
  EXPECT_EQ(environment_refused(set_, ran), "OPENBLAS_CORETYPE=Haswell was asked for, and isa is Zen, not Haswell");
  EXPECT_THAT(environment_refused(set_, {}), HasSubstr("does not say which isa"));
  EXPECT_EQ(environment_refused(set_, {{"isa", "Haswell"}}), "");
}

TEST_F(LibrarySetTest, IsTheSameByTheBuildsOfAllItsFilesAndWhatIsAsked) {
  ASSERT_EQ(set_.files.size(), 2u);
  LibrarySet elsewhere = set_, other = set_, asked = set_;
  elsewhere.files[1].path = "/elsewhere/libinner.so.1";
  other.files[1].build_id = std::string(40, '0');
  asked.environment = {{"OPENBLAS_CORETYPE", "Haswell"}};
  EXPECT_EQ(identity_of(elsewhere), identity_of(set_));
  EXPECT_NE(identity_of(other), identity_of(set_));
  EXPECT_EQ(identity_of(asked), identity_of(set_) + "-Haswell");
}

TEST_F(LibrarySetTest, GoesThroughJsonWhole) {
  set_.loader = "/sets/ld.so";
  set_.environment = {{"A", "b"}};
  set_.expected = {{"isa", "b"}};
  set_.packages = {{"deb tiny 2-1", std::string(64, 'a')}};
  EXPECT_EQ(to_json(library_set_from_json(to_json(set_))), to_json(set_));
}

}  // namespace
}  // namespace assay
