// The first bad version: every position of it, versions of which nothing is known, and questions that are none.
#include "gate/library_bisection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "scratch.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::vector<LibraryVersion> versions(size_t count) {
  std::vector<LibraryVersion> all;
  for (size_t i = 0; i < count; ++i) all.push_back({"wheel", "PyPI", std::to_string(i), {}});
  return all;
}
size_t number(const LibraryVersion& version) { return std::stoul(version.version); }

TEST(LibraryBisection, FindsTheFirstBadOneWhereverItIs) {
  for (const size_t count : {2u, 3u, 4u, 7u, 50u}) {
    for (size_t first_bad = 1; first_bad < count; ++first_bad) {
      const Bisection found = bisect(versions(count), [&](const LibraryVersion& one) {
        return number(one) < first_bad ? Goodness::good : Goodness::bad;
      });
      EXPECT_EQ(number(*found.first_bad), first_bad);
      EXPECT_EQ(number(*found.last_good), first_bad - 1);
      EXPECT_TRUE(found.between.empty());
      EXPECT_LE(found.steps.size(), 3 + static_cast<size_t>(std::log2(count)));
    }
  }
}

TEST(LibraryBisection, WhatIsHeldIsGoodOnlyWhereNothingCouldBeTheRejectThatIsLookedFor) {
  const auto canary = [](const char* verdict, int code, const char* kind, const char* what) {
    return nlohmann::json{{"exit_code", code}, {"reasons", {{{"asks", verdict}, {"kind", kind}, {"what", what}}}}};
  };
  const auto held = [&](const char* kind, const char* what) { return canary("HOLD", 2, kind, what); };
  const char *one = "gemm/lib:m=1", *timed = "gemm/lib:m=1 warm";
  const auto wrong = canary("REJECT", 1, "newly-wrong", one), slow = canary("REJECT", 1, "slower", timed);
  for (const auto& last : {wrong, slow}) {
    EXPECT_EQ(goodness_of(canary("PROMOTE", 0, "note", ""), last), Goodness::good);
    EXPECT_EQ(goodness_of(last, last), Goodness::bad);
    EXPECT_EQ(goodness_of(held("arithmetic", one), last), Goodness::good);
    EXPECT_EQ(goodness_of(held("coverage", ""), last), Goodness::good) << "kernels that no version is asked of";
    EXPECT_EQ(goodness_of(held("unknown", one), last), Goodness::unknown);
    EXPECT_EQ(goodness_of(canary("INVALID", 3, "arms", ""), last), Goodness::unknown);
  }
  for (const auto& [kind, what] : {std::pair{"slower", timed}, {"unknown", timed}, {"voids", ""}}) {
    EXPECT_EQ(goodness_of(held(kind, what), slow), Goodness::unknown) << kind;
    EXPECT_EQ(goodness_of(held(kind, what), wrong), Goodness::good) << kind;
  }
  EXPECT_EQ(goodness_of(held("unknown", one), held("arithmetic", one)), Goodness::bad) << "HOLD is looked for";
}

TEST(LibraryBisection, WhatIsUnknownIsSaidNotGuessed) {
  const Bisection found = bisect(versions(9), [](const LibraryVersion& one) {
    if (number(one) >= 3 && number(one) <= 5) return Goodness::unknown;
    return number(one) < 3 ? Goodness::good : Goodness::bad;
  });
  EXPECT_EQ(number(*found.last_good), 2u);
  EXPECT_EQ(number(*found.first_bad), 6u);
  ASSERT_EQ(found.between.size(), 3u);
  EXPECT_EQ(number(found.between[0]), 3u);
}

TEST(LibraryBisection, AsksOnlyOfEndsThatDiffer) {
  const auto all = [](Goodness judged) { return [judged](const LibraryVersion&) { return judged; }; };
  EXPECT_THAT(message_of([&] { bisect(versions(3), all(Goodness::bad)); }),
              HasSubstr("0 (PyPI), the first, is not good"));
  const auto first_good = [](const LibraryVersion& one) {
    return number(one) == 0 ? Goodness::good : Goodness::unknown;
  };
  EXPECT_THAT(message_of([&] { bisect(versions(3), first_good); }),
              HasSubstr("of 2 (PyPI), the last, nothing is known"));
  EXPECT_THAT(message_of([&] { bisect(versions(3), all(Goodness::unknown)); }), HasSubstr("is not good"));
  EXPECT_THAT(message_of([&] { bisect(versions(1), all(Goodness::good)); }), HasSubstr("no two versions"));
}

TEST(LibraryBisection, WithoutABadOneItEndsAfterTheEnds) {
  const Bisection found = bisect(versions(9), [](const LibraryVersion&) { return Goodness::good; });
  EXPECT_FALSE(found.first_bad);
  EXPECT_EQ(found.steps.size(), 2u);
}

class VersionsBetween : public testing::Test {
 protected:
  void SetUp() override {
    const fs::path file = scratch_.path / "ci/library";
    write_text(file, R"(#!/bin/sh
case $2 in
wheel) printf 'PyPI %s\n' 0.3.30 0.3.9 0.3.21 0.3.4 ;;
debian) printf '%s\n' 'new 0.3.29+ds-3' 'old 0.3.13+ds-1' 'kept 0.3.20+ds-1' ;;
esac
)");
    fs::permissions(file, fs::perms::owner_all);
  }
  std::vector<std::string> between(const std::string& words) {
    std::vector<std::string> notes, texts;
    for (const LibraryVersion& one : versions_between(place_, recipe_, words, notes)) texts.push_back(one.version);
    return texts;
  }
  std::string refusal(const std::string& words) {
    return message_of([&] { between(words); });
  }
  const Scratch scratch_;
  const LibraryPlace place_{.root = scratch_.path};
  const LibraryRecipe recipe_{.name = "tiny",
                              .soname = "libtiny.so.0",
                              .sources = {{.kind = "debian", .suites = {"old", "new"}, .package = "libtiny0"},
                                          {.kind = "wheel", .package = "tiny"}}};
};

TEST_F(VersionsBetween, AreThoseOfOneSourceInOrder) {
  EXPECT_THAT(between("0.3.13..new"), testing::ElementsAre("0.3.13+ds-1", "0.3.20+ds-1", "0.3.29+ds-3"));
  EXPECT_THAT(between("wheel:0.3.4..wheel:0.3.21"), testing::ElementsAre("0.3.4", "0.3.9", "0.3.21"));
}

TEST_F(VersionsBetween, OfTwoSourcesOrBackwardsAreRefused) {
  EXPECT_THAT(
      refusal("0.3.13..0.3.30"),
      HasSubstr("are not of one source with versions in order; name the source of both, as in debian:A..debian:B"));
  EXPECT_THAT(refusal("new..old"), HasSubstr("does not come before"));
  EXPECT_THAT(refusal("0.3.13"), HasSubstr("give two versions"));
  EXPECT_THAT(refusal("..new"), HasSubstr("give two versions"));
}

}  // namespace
}  // namespace assay
