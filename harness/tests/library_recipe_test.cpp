// Recipes of libraries: the tree's own, and files that are none.
#include "gate/library_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kTop = "kernels = ['*/tiny']\nsoname = 'libtiny.so.0'\nfile = 'libtiny*.so*'\n";
const std::string kFolder = "[[source]]\nkind = 'folder'\n";
const std::string kDebian = "[[source]]\nkind = 'debian'\nsuites = ['one', 'two']\npackage = 'libtiny0'\n";
const std::string kSets = "[instruction_set]\nvariable = 'TINY_CORE'\nshown_as = 'isa'\nvalues = ['a', 'b']\n";

class LibraryRecipeTest : public testing::Test {
 protected:
  LibraryRecipe read(const std::string& text) {
    write_text(file_, text);
    return read_recipe(file_);
  }
  std::string refusal(const std::string& text) {
    return message_of([&] { read(text); });
  }
  const Scratch scratch_;
  const std::filesystem::path file_ = scratch_.path / "ci/libraries/tiny.toml";
};

TEST_F(LibraryRecipeTest, SaysWhereALibraryComesFrom) {
  const LibraryRecipe recipe =
      read(kTop + "symbol_prefix = 'my_'\nparts = 'libtiny_*.so.0'\n" + kDebian + "needs = ['libc6']\n" +
           "[[source]]\nkind = 'wheel'\nproject = 'tiny'\nleft_out = 'another interface'\n" + kSets +
           "shown = ['A', 'B']\naliases = ['OTHER']\n");
  EXPECT_EQ(recipe.name, "tiny");
  EXPECT_EQ(recipe.soname, "libtiny.so.0");
  EXPECT_EQ(recipe.symbol_prefix, "my_");
  EXPECT_EQ(recipe.parts, "libtiny_*.so.0");
  ASSERT_EQ(recipe.sources.size(), 2u);
  EXPECT_THAT(recipe.sources[0].suites, ElementsAre("one", "two"));
  EXPECT_THAT(recipe.sources[0].needs, ElementsAre("libc6"));
  EXPECT_EQ(recipe.sources[1].package, "tiny");
  EXPECT_EQ(recipe.sources[1].left_out, "another interface");
  EXPECT_THAT(recipe.instruction_sets->shown, ElementsAre("A", "B"));
  EXPECT_THAT(recipe.instruction_sets->aliases, ElementsAre("OTHER"));
  EXPECT_TRUE(recipe.concerns("gemm", "tiny"));
  EXPECT_FALSE(recipe.concerns("gemm", "tiny_too"));
}

TEST_F(LibraryRecipeTest, WhatIsLeftOutHasItsDefault) {
  const LibraryRecipe recipe = read(kTop + kDebian + kSets);
  EXPECT_EQ(recipe.symbol_prefix, "");
  EXPECT_EQ(recipe.parts, "");
  EXPECT_TRUE(recipe.sources[0].needs.empty());
  EXPECT_THAT(recipe.instruction_sets->shown, ElementsAre("a", "b"));
  EXPECT_FALSE(read(kTop + kFolder).instruction_sets);
}

struct Bad {
  std::string text, key, why;
};
class BadRecipe : public LibraryRecipeTest, public testing::WithParamInterface<Bad> {};

TEST_P(BadRecipe, IsRefusedInOneLineThatNamesFileAndKey) {
  const std::string said = refusal(GetParam().text);
  EXPECT_THAT(said, AllOf(HasSubstr("tiny.toml"), HasSubstr(GetParam().key), HasSubstr(GetParam().why)));
  EXPECT_EQ(said.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Each, BadRecipe,
    testing::Values(
        Bad{"kernels = [", "tiny.toml:1", "not TOML"}, Bad{"", "kernels", "is missing"},
        Bad{"kernels = ['*/a']", "soname", "is missing"}, Bad{"kernels = ['*/a']\nsoname = 'l'", "file", "is missing"},
        Bad{kTop, "source", "is missing; say where"},
        Bad{kTop + "prefix = 'x'\n" + kFolder, "prefix", "not known here"},
        Bad{"kernels = 'a/b'\n", "kernels", "must be a list"}, Bad{"kernels = ['gemm']\n", "kernels", "op/kernel"},
        Bad{"kernels = ['a/b', 'a/b']\n", "kernels", "twice"},
        Bad{"kernels = ['a/b']\nsoname = '../x'\n", "soname", "must be of letters"},
        Bad{"kernels = ['a/b']\nsoname = 'x y'\n", "soname", "must be of letters"},
        Bad{"kernels = ['a/b']\nsoname = 3\n", "soname", "a text in quotes"},
        Bad{"kernels = ['a/b']\nsoname = 'a'\nfile = 'a/*'\n", "file", "must be of letters"},
        Bad{kTop + "symbol_prefix = '$(x)'\n" + kFolder, "symbol_prefix", "must be of letters"},
        Bad{kTop + "parts = '../*'\n" + kFolder, "parts", "must be of letters"},
        Bad{kTop + "[source]\nkind = 'folder'\n", "source", "list of tables"},
        Bad{kTop + "[[source]]\nkind = 'debia'\n", "source[0].kind", "did you mean 'debian'"},
        Bad{kTop + "[[source]]\nkind = 'debian'\npackage = 'a'\n", "source[0].suites", "is missing"},
        Bad{kTop + "[[source]]\nkind = 'debian'\nsuites = ['-x']\npackage = 'a'\n", "source[0].suites",
            "begin with none"},
        Bad{kTop + "[[source]]\nkind = 'debian'\nsuites = ['x']\n", "source[0].package", "is missing"},
        Bad{kTop + "[[source]]\nkind = 'wheel'\n", "source[0].project", "is missing"},
        Bad{kTop + "[[source]]\nkind = 'wheel'\nproject = 'a b'\n", "source[0].project", "must be of letters"},
        Bad{kTop + "[[source]]\nkind = 'folder'\nsuites = ['x']\n", "source[0].suites", "\"debian\" alone"},
        Bad{kTop + kDebian + "project = 'x'\n", "source[0].project", "\"wheel\" alone"},
        Bad{kTop + kFolder + "left_out = ''\n", "source[0].left_out", "not empty"},
        Bad{kTop + kFolder + "[instruction_set]\n", "instruction_set.variable", "is missing"},
        Bad{kTop + kFolder + "[instruction_set]\nvariable = 'LD_PRELOAD'\n", "instruction_set.variable", "no variable"},
        Bad{kTop + kFolder + kSets + "shown = ['A']\n", "instruction_set.shown", "1 texts for 2 values"},
        Bad{kTop + kFolder + kSets + "shows = ['A']\n", "instruction_set.shows", "not known here"}));

TEST_F(LibraryRecipeTest, AnUnknownNameGetsTheNearest) {
  write_text(file_, kTop + kFolder);
  EXPECT_EQ(find_recipe(scratch_.path, "tiny").name, "tiny");
  EXPECT_THAT(message_of([&] { find_recipe(scratch_.path, "tinny"); }), HasSubstr("did you mean 'tiny'?"));
  EXPECT_THAT(message_of([&] { find_recipe(scratch_.path / "elsewhere", "tiny"); }), HasSubstr("there is no"));
}

TEST_F(LibraryRecipeTest, ThoseOfThisTreeAreRead) {
  const std::vector<std::string> names = recipe_names(ASSAY_SOURCE_DIR);
  EXPECT_THAT(names, testing::IsSupersetOf({"onednn", "openblas", "scipy-openblas32"}));
  for (const std::string& name : names) {
    const LibraryRecipe recipe = find_recipe(ASSAY_SOURCE_DIR, name);
    EXPECT_FALSE(recipe.sources.empty()) << name;
  }
  EXPECT_TRUE(find_recipe(ASSAY_SOURCE_DIR, "openblas").concerns("gemm", "openblas"));
  EXPECT_TRUE(find_recipe(ASSAY_SOURCE_DIR, "onednn").concerns("gemm", "onednn_bf16"));
}

}  // namespace
}  // namespace assay
