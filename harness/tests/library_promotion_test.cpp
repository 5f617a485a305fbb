// A promoted candidate in the pin file: what takes whose place, and the diff a person reviews.
#include "gate/library_promotion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "gate/package.h"
#include "pin_samples.h"
#include "scratch.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class LibraryPromotionTest : public testing::Test {
 protected:
  LibraryPromotionTest() {
    pin_.libraries = {entry("libc.so.6", "c0", "6"), entry("libother.so.1", "0e", "1"),
                      entry("libtinyp-r0.3.1.so", "a1", "0.3.1")};
    pin_.libraries[2].late = true;
    write_text(pinned_, "the pinned file");
    write_text(tree_ / ".package", "deb libtiny0 0.3.9-1 " + std::string(64, 'd') + "\n");
    write_text(tree_ / "usr/lib/libtinyp-r0.3.9.so", "the candidate's file");
    write_text(tree_ / "usr/lib/libc.so.6", "another libc");
  }
  static PinnedLibrary entry(const std::string& file, const std::string& build_id, const std::string& version) {
    return {.file = file,
            .version = version,
            .build_id = build_id,
            .package = "unknown",
            .package_sha256 = "unknown",
            .sha256 = "unknown"};
  }
  LibrarySet::File file(const std::string& soname, const fs::path& path, const std::string& build) const {
    return {soname, path, soname == "libc.so.6" ? "6" : "0.3.9", build};
  }

  const Scratch scratch_;
  const fs::path tree_ = scratch_.path / "libtiny0_0.3.9-1", pinned_ = scratch_.path / "libtinyp-r0.3.1.so";
  Pin pin_ = sample_pin();
  const LibrarySet from_{.library = "tiny", .version = "0.3.1", .files = {{"libtiny.so.0", pinned_, "0.3.1", "a1"}}};
  LibrarySet to_{.library = "tiny",
                 .version = "0.3.9",
                 .files = {{"libtiny.so.0", tree_ / "usr/lib/libtinyp-r0.3.9.so", "0.3.9", "b2"}}};
};

TEST_F(LibraryPromotionTest, TheCandidatesFileTakesThePlaceOfThePinned) {
  const Pin after = promoted(pin_, from_, to_);
  ASSERT_EQ(after.libraries.size(), 3u);
  EXPECT_EQ(after.libraries[0], pin_.libraries[0]);
  EXPECT_EQ(after.libraries[1], pin_.libraries[1]);
  const PinnedLibrary& now = after.libraries[2];
  EXPECT_EQ(now.file, "libtinyp-r0.3.9.so");
  EXPECT_EQ(now.version, "0.3.9");
  EXPECT_EQ(now.build_id, "b2");
  EXPECT_TRUE(now.late);
  EXPECT_EQ(now.package, "deb libtiny0 0.3.9-1");
  EXPECT_EQ(now.package_sha256, std::string(64, 'd'));
  EXPECT_EQ(now.sha256, sha256_of(to_.files[0].path));
  EXPECT_EQ(after.facts, pin_.facts);
}

TEST_F(LibraryPromotionTest, ALibcOfItsOwnTakesThePlaceOfTheMachines) {
  to_.files.push_back({"libc.so.6", tree_ / "usr/lib/libc.so.6", "6", "c9"});
  const Pin after = promoted(pin_, from_, to_);
  ASSERT_EQ(after.libraries.size(), 3u);
  EXPECT_EQ(after.libraries[0].build_id, "c9");
}

// No kernel made the library load it: env verify would miss it.
TEST_F(LibraryPromotionTest, APartThatWasNotPinnedIsNot) {
  write_text(tree_ / "usr/lib/libtiny_part.so.0", "a part");
  to_.files.push_back({"libtiny_part.so.0", tree_ / "usr/lib/libtiny_part.so.0", "0", "e5", true});
  EXPECT_EQ(promoted(pin_, from_, to_).libraries.size(), 3u);
  LibrarySet from = from_;
  from.files.push_back({"libtiny_part.so.0", scratch_.path / "libtiny_part.so.0", "0", "e4", true});
  pin_.libraries.push_back(entry("libtiny_part.so.0", "e4", "0"));
  const Pin after = promoted(pin_, from, to_);
  ASSERT_EQ(after.libraries.size(), 4u);
  EXPECT_EQ(after.libraries[2].build_id, "e5");
}

// Nothing will load it: env verify would miss it for good.
TEST_F(LibraryPromotionTest, APartThatTheCandidateLacksIsPinnedNoMore) {
  LibrarySet from = from_;
  from.files.push_back({"libtiny_part.so.0", scratch_.path / "libtiny_part.so.0", "0", "e4", true});
  pin_.libraries.push_back(entry("libtiny_part.so.0", "e4", "0"));
  pin_.libraries.push_back(entry("libtiny_part.so.0", "e5", "0"));  // another build, which is not of the set
  from.files.push_back({"libc.so.6", scratch_.path / "libc.so.6", "6", "c0"});  // the machine's
  const Pin after = promoted(pin_, from, to_);
  ASSERT_EQ(after.libraries.size(), 4u);
  EXPECT_EQ(after.libraries[0].build_id, "c0");
  EXPECT_EQ(after.libraries[2].build_id, "e5");
}

TEST_F(LibraryPromotionTest, WhatWasNotPinnedIsNotReplaced) {
  pin_.libraries[2].build_id = "ff";
  EXPECT_THAT(message_of([&] { promoted(pin_, from_, to_); }), HasSubstr("lists no libtinyp-r0.3.1.so of build a1"));
  EXPECT_THAT(message_of([&] { promoted(pin_, LibrarySet{}, to_); }), HasSubstr("no pin's"));
}

TEST_F(LibraryPromotionTest, RewritesTheFileAndShowsTheDiff) {
  const fs::path file = scratch_.path / (pin_.platform.name() + ".toml");
  write_text(file, print_pin(pin_));
  const std::string diff = promote(file, from_, to_);
  EXPECT_THAT(diff, AllOf(HasSubstr("--- a/ci/pins/" + file.filename().string()), HasSubstr("\n-build_id = \"a1\"\n"),
                          HasSubstr("\n+build_id = \"b2\"\n"), Not(HasSubstr("\n-build_id = \"0e\"\n"))));
  EXPECT_EQ(read_pin(file).libraries, promoted(pin_, from_, to_).libraries);
  EXPECT_EQ(promote(file, to_, to_), "");
  EXPECT_THAT(message_of([&] { promote(file, from_, to_); }), HasSubstr("lists no"));  // it is not the pinned one now
}

TEST_F(LibraryPromotionTest, WithoutADiffThePinIsAsItWas) {
  const fs::path file = scratch_.path / (pin_.platform.name() + ".toml");
  write_text(file, print_pin(pin_));
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", scratch_.path.c_str(), 1);
  EXPECT_THROW(promote(file, from_, to_), Error);
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(content_of(file), print_pin(pin_));
  EXPECT_FALSE(fs::exists(file.string() + ".promoted"));
}

}  // namespace
}  // namespace assay
