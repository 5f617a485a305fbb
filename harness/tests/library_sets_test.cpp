// Sets of a made-up library in folders, made with the tree's own ci/library: found, linked, forwarded under another
// prefix, proved by a process that loads them. No network.
#include "gate/library_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "gate/library_linking.h"
#include "gate/program.h"
#include "load/elf.h"
#include "scratch.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class LibrarySetsTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("ASSAY_LIBRARIES", (scratch_.path / "cache").c_str(), 1);
    fs::create_directories(scratch_.path / "ci");
    for (const char* name : {"library", "common.sh"}) {
      fs::copy(fs::path(ASSAY_SOURCE_DIR) / "ci" / name, scratch_.path / "ci" / name);
    }
    recipe("tiny", "symbol_prefix = 'my_'\n");
    recipe("bare", "");
    compile("int main(void) { return 0; }", "", worker_);
  }
  void TearDown() override { ::unsetenv("ASSAY_LIBRARIES"); }

  void recipe(const std::string& name, const std::string& more) {
    write_text(
        scratch_.path / "ci/libraries" / (name + ".toml"),
        "kernels = ['*/tiny']\nsoname = 'libtiny.so.0'\nfile = 'lib*tiny*.so*'\n" + more +
            "[[source]]\nkind = 'folder'\n[instruction_set]\nvariable = 'TINY'\nshown_as = 'isa'\nvalues = ['x']\n");
  }
  void compile(const std::string& text, const std::string& options, const fs::path& out) {
    fs::create_directories(out.parent_path());
    write_text(scratch_.path / "source.c", text);
    const ProgramEnd end = run_program(
        {"sh", "-c", "cc " + (scratch_.path / "source.c").string() + " " + options + " -o " + out.string()});
    ASSERT_EQ(end.status, 0) << end.output;
  }
  void library(const std::string& text, const fs::path& out, const std::string& options = "") {
    compile(text, "-shared -fPIC -Wl,--build-id -Wl,--no-as-needed " + options, out);
  }
  LibrarySet make(const std::string& name, const std::string& version, const std::string& instruction_set = "") {
    return make_library_set(place_, name, version, instruction_set, notes_);
  }
  std::string invalid(const std::string& name, const std::string& version) {
    try {
      make(name, version);
    } catch (const Invalid& e) {
      return e.what();
    }
    return "not Invalid";
  }

  const Scratch scratch_;
  const fs::path worker_ = scratch_.path / "worker", folder_ = scratch_.path / "built";
  const LibraryPlace place_{.root = scratch_.path, .worker = worker_};
  std::vector<std::string> notes_;
};

TEST_F(LibrarySetsTest, AFolderIsASetOfItsFileAlone) {
  library("int answer(void) { return 42; }", folder_ / "libtiny-r2.so", "-Wl,-soname,libtiny.so.0");
  write_text(folder_ / "libtiny.txt", "no library");
  const LibrarySet set = make("bare", folder_.string());
  EXPECT_EQ(set.library, "bare");
  EXPECT_EQ(set.version, folder_.string());
  EXPECT_EQ(set.loader, "");
  ASSERT_EQ(set.files.size(), 1u);
  EXPECT_EQ(set.files[0].soname, "libtiny.so.0");
  EXPECT_EQ(set.files[0].path, folder_ / "libtiny-r2.so");
  EXPECT_EQ(set.files[0].build_id, build_of(folder_ / "libtiny-r2.so"));
  ASSERT_EQ(set.folders.size(), 1u);
  EXPECT_EQ(make("bare", folder_.string()).folders, set.folders);  // the same one again
  library("int answer(void) { return 43; }", folder_ / "libtiny-r2.so", "-Wl,-soname,libtiny.so.0");
  EXPECT_NE(make("bare", folder_.string()).folders, set.folders);  // and another for another build
}

// A program that needs libtiny.so.0 for answer(): under the set it gets my_answer() of libmytiny.so.
TEST_F(LibrarySetsTest, FunctionsWithAPrefixAreForwarded) {
  library(
      "double my_answer(int a, int b, int c, int d, int e, int f, int g, double x) {"
      " return x + a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g; }\nint other(void) { return 1; }",
      folder_ / "libmytiny.so", "-Wl,-soname,libmytiny.so");
  library("double answer(int a, int b, int c, int d, int e, int f, int g, double x) { return 0; }",
          scratch_.path / "pin/libtiny.so.0", "-Wl,-soname,libtiny.so.0");
  compile(
      "double answer(int, int, int, int, int, int, int, double);\n"
      "int main(void) { return answer(1, 1, 1, 1, 1, 1, 1, 0.25) == 28.25 ? 7 : 1; }",
      (scratch_.path / "pin/libtiny.so.0").string(), scratch_.path / "user");
  const LibrarySet set = make("tiny", folder_.string());
  ASSERT_EQ(set.files.size(), 2u);
  EXPECT_EQ(set.files[0].soname, "libtiny.so.0");
  EXPECT_THAT(needed_by(set.files[0].path), ElementsAre("libmytiny.so"));
  EXPECT_EQ(set.files[1].path, folder_ / "libmytiny.so");
  const ProgramEnd end =
      run_program({(scratch_.path / "user").string()}, {{"LD_LIBRARY_PATH", set.folders.front().string()}});
  EXPECT_EQ(end.status, 7) << end.output;
  EXPECT_TRUE(notes_.empty());
  library("int answer(void) { return 1; }", folder_ / "libmytiny.so", "-Wl,-soname,libmytiny.so");
  EXPECT_EQ(make("tiny", folder_.string()).files.at(0).path, folder_ / "libmytiny.so");
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("libmytiny.so has no function my_...: loaded as it is")));
}

TEST_F(LibrarySetsTest, WhatLiesBesideItAndTheMachineLacksComesToo) {
  library("int inner(void) { return 1; }", folder_ / "libinner-0a1b.so.5", "-Wl,-soname,libinner-0a1b.so.5");
  library("int inner(void); int my_answer(void) { return inner(); }", folder_ / "libtiny.so.0",
          "-Wl,-soname,libtiny.so.0 -L" + folder_.string() + " -l:libinner-0a1b.so.5");
  const LibrarySet set = make("bare", folder_.string());
  ASSERT_EQ(set.files.size(), 2u);
  EXPECT_EQ(set.files[1].soname, "libinner-0a1b.so.5");
  fs::remove(folder_ / "libinner-0a1b.so.5");
  EXPECT_THAT(invalid("bare", folder_.string()),
              AllOf(HasSubstr("cannot be loaded here"), HasSubstr("libinner-0a1b.so.5")));
}

// As cuDNN's, which it loads by name: a program under the set gets those of the folder, whatever else there is.
TEST_F(LibrarySetsTest, PartsThatTheLibraryLoadsItselfComeFromBesideIt) {
  recipe("parted", "parts = 'libtiny_*.so.*'\n");
  const std::string calls =
      "#include <dlfcn.h>\nint answer(void) { void *part = dlopen(\"libtiny_ops.so.0\", RTLD_NOW);"
      " return part ? ((int (*)(void))dlsym(part, \"part\"))() : 9; }";
  for (const auto& [folder, number] : {std::pair{folder_, "7"}, {scratch_.path / "pin", "1"}}) {
    library(calls, folder / "libtiny.so.0", "-Wl,-soname,libtiny.so.0 -Wl,-rpath,'$ORIGIN'");
    library("int part(void) { return " + std::string(number) + "; }", folder / "libtiny_ops.so.0.1",
            "-Wl,-soname,libtiny_ops.so.0");
    fs::create_symlink("libtiny_ops.so.0.1", folder / "libtiny_ops.so.0");
  }
  compile("int answer(void);\nint main(void) { return answer(); }", (scratch_.path / "pin/libtiny.so.0").string(),
          scratch_.path / "user");
  const LibrarySet set = make("parted", folder_.string());
  ASSERT_EQ(set.files.size(), 2u);
  EXPECT_EQ(set.files[1].soname, "libtiny_ops.so.0");
  EXPECT_EQ(set.files[1].path, folder_ / "libtiny_ops.so.0.1");
  EXPECT_TRUE(set.files[1].part);
  EXPECT_FALSE(set.files[0].part);
  const std::string path = set.folders.front().string() + ":" + (scratch_.path / "pin").string();
  EXPECT_EQ(run_program({(scratch_.path / "user").string()}, {{"LD_LIBRARY_PATH", path}}).status, 7);
  library("int more(void) { return 1; }", folder_ / "libtiny_more.so.0", "-Wl,-soname,libtiny_more.so.0");
  EXPECT_EQ(make("parted", folder_.string()).files.size(), 3u) << "the set that was made before is made anew";
  EXPECT_TRUE(fs::exists(set.folders.front() / "libtiny_more.so.0"));
}

TEST_F(LibrarySetsTest, AFolderWithoutTheLibraryOrWithSeveralIsInvalid) {
  fs::create_directories(folder_);
  EXPECT_THAT(invalid("bare", folder_.string()), HasSubstr("holds no library lib*tiny*.so*"));
  write_text(folder_ / "libtiny.so", "no ELF");
  EXPECT_THAT(invalid("bare", folder_.string()), HasSubstr("libtiny.so is no shared library"));
  library("int a(void) { return 1; }", folder_ / "libtiny-a.so");
  library("int b(void) { return 1; }", folder_ / "libtiny-b.so");
  EXPECT_THAT(invalid("bare", folder_.string()), HasSubstr("libtiny-a.so, libtiny-b.so; make the recipe's"));
}

TEST_F(LibrarySetsTest, OneThatAsksForANewerLibcThanThereIsIsInvalid) {
  write_text(scratch_.path / "map", "GLIBC_9.99 { global: from_the_future; };\n");
  library("int from_the_future(void) { return 1; }", scratch_.path / "future/libc.so.6",
          "-nostdlib -Wl,-soname,libc.so.6 -Wl,--version-script," + (scratch_.path / "map").string());
  library("int from_the_future(void); int answer(void) { return from_the_future(); }", folder_ / "libtiny.so.0",
          "-nostdlib -Wl,-soname,libtiny.so.0 -L" + (scratch_.path / "future").string() + " -l:libc.so.6");
  EXPECT_THAT(invalid("bare", folder_.string()),
              AllOf(HasSubstr("version `GLIBC_9.99' not found"), HasSubstr("needs")));
}

TEST_F(LibrarySetsTest, AnotherRecipesVersionIsNamedByIt) {
  library("int my_answer(void) { return 42; }", folder_ / "libtiny.so.1", "-Wl,-soname,libtiny.so.1");
  EXPECT_EQ(make("bare", "tiny:" + folder_.string()).library, "tiny");
  write_text(scratch_.path / "ci/libraries/else.toml",
             "kernels = ['*/e']\nsoname = 'libelse.so.0'\nfile = 'x*'\n[[source]]\nkind = 'folder'\n");
  EXPECT_THAT(message_of([&] { make("bare", "else:" + folder_.string()); }), HasSubstr("modules need libtiny.so.0"));
}

TEST_F(LibrarySetsTest, AnInstructionSetGoesToTheEnvironmentAndIsExpected) {
  library("int answer(void) { return 42; }", folder_ / "libtiny.so.0", "-Wl,-soname,libtiny.so.0");
  const LibrarySet set = make("bare", folder_.string(), "x");
  EXPECT_EQ(set.environment.at("TINY"), "x");
  EXPECT_EQ(set.expected.at("isa"), "x");
  EXPECT_THAT(message_of([&] { make("bare", folder_.string(), "y"); }), HasSubstr("There are: x"));
}

TEST(Lacking, IsReadFromWhatTheLoaderSays) {
  std::string rest;
  const std::string old = "/a/libx.so.0: /lib/libc.so.6: version `GLIBC_2.38' not found (required by /a/libx.so.0)";
  EXPECT_THAT(lacking_in("\tlibc.so.6 => /lib/libc.so.6 (0x1)\n" + old + "\n" + old + "\n", rest),
              ElementsAre(Lacking{"libc.so.6", old}));
  EXPECT_EQ(rest, "");
  const std::string absent = "ld: error while loading shared libraries: libq.so.1: cannot open shared object file: No";
  EXPECT_THAT(lacking_in(absent + "\n", rest), ElementsAre(Lacking{"libq.so.1", absent}));
  EXPECT_THAT(lacking_in("x: error while loading shared libraries: x: invalid ELF header\n", rest), ElementsAre());
  EXPECT_THAT(rest, HasSubstr("invalid ELF header"));
}

}  // namespace
}  // namespace assay
