// What contradicts that the arms of a canary are two versions of one library, each what it was asked to be.
#include "gate/canary_arms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "canary_sides.h"
#include "gate/program.h"
#include "load/elf.h"
#include "scratch.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

LibrarySet set_of(const std::string& version, const std::string& folder, const std::string& build) {
  return {.library = "x",
          .version = version,
          .folders = {folder},
          .files = {{.soname = "libx.so.0", .path = folder + "/libx-1.so", .version = "1", .build_id = build}}};
}

class CanaryArms : public ::testing::Test {
 protected:
  std::vector<std::string> lines() const { return contradictions(pin, candidate); }
  static CanaryArm arm_of(const std::string& name, const LibrarySet& set) {
    const LibrarySet::File& file = set.files.front();
    return {name, set, {{file.path.string(), file.version, file.build_id}}, {}};
  }
  CanaryArm pin = arm_of("pin", set_of("1", "/a", "aa"));
  CanaryArm candidate = arm_of("candidate", set_of("2", "/b", "bb"));
};

TEST_F(CanaryArms, TwoBuildsFromTwoPathsAreProved) {
  EXPECT_THAT(lines(), IsEmpty());
  EXPECT_FALSE(are_same_build(pin.set, candidate.set));
}

TEST_F(CanaryArms, OneIsProvedByItself) {
  EXPECT_THAT(contradictions(pin), IsEmpty());
  EXPECT_THAT(contradictions(CanaryArm{}), IsEmpty()) << "nothing was asked";
  pin.loaded = candidate.loaded;
  EXPECT_THAT(contradictions(pin), ElementsAre(HasSubstr("pin: x 1: libx.so.0: /b/libx-1.so was loaded")));
  pin.loaded.clear();
  pin.set.environment = {{"X_CORE", "big"}};
  pin.set.expected = {{"isa", "big"}};
  Record record;
  record.op = "gemm";
  record.kernel = "x";
  record.selection = {{"isa", "small"}};
  pin.records = {&record, 1};
  EXPECT_THAT(contradictions(pin), ElementsAre(HasSubstr("nothing of that name was loaded"),
                                               "pin: gemm/x: X_CORE=big was asked for, and isa is small, not big"));
}

TEST_F(CanaryArms, AFoldersVersionIsWhatTheLibraryTells) {
  std::vector<Record> records(4);
  records[1].selection = {{"library", "X 2.9.1  DYNAMIC_ARCH 64"}};
  records[2].selection = {{"library", "X 2.9.1  DYNAMIC_ARCH 64"}, {"algorithm", "3.1"}};
  records[3].selection = {{"library", "X, of which nothing is told"}};
  candidate.records = records;
  EXPECT_EQ(version_text(candidate), "2") << "it was asked for by its version";
  candidate.set.version = "/b";
  EXPECT_THAT(versions_told(candidate), ElementsAre("2.9.1"));
  EXPECT_EQ(version_text(candidate), "/b (tells 2.9.1)");
  records[3].selection = {{"library", "X 3.0"}};
  EXPECT_EQ(version_text(candidate), "/b (tells 2.9.1, 3.0)");
  candidate.records = {};
  EXPECT_EQ(version_text(candidate), "/b");
}

TEST_F(CanaryArms, ACandidateThatLoadsThePinsFileIsTold) {
  candidate.loaded = pin.loaded;
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("candidate: x 2: libx.so.0: /a/libx-1.so was loaded")));
  candidate = arm_of("candidate", set_of("2", "/a", "aa"));
  EXPECT_THAT(lines(), ElementsAre("candidate: loads the pin's file, /a/libx-1.so"));
}

TEST_F(CanaryArms, ALibraryThatWasNotLoadedAndAMixtureAreTold) {
  candidate.loaded.clear();
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("nothing of that name was loaded")));
  candidate = arm_of("candidate", set_of("2", "/b", "bb"));
  pin.loaded.push_back(candidate.loaded.front());
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("pin: x 1: libx.so.0: a mixture")));
}

TEST_F(CanaryArms, TheSameBuildUnderAnotherPathIsNoContradictionUnlessTwoVersionsWereAsked) {
  candidate = arm_of("candidate", set_of("/b", "/b", "aa"));
  EXPECT_THAT(lines(), IsEmpty());
  EXPECT_TRUE(are_same_build(pin.set, candidate.set));
  candidate = arm_of("candidate", set_of("1", "/b", "aa"));
  EXPECT_THAT(lines(), IsEmpty()) << "the same version from another source";
  candidate = arm_of("candidate", set_of("2", "/b", "aa"));
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("candidate: 2 was asked for and 1 is the pin, and both are build aa")));
}

TEST_F(CanaryArms, TheSameBuildIsThatOfEveryFileThatBothName) {
  LibrarySet other = set_of("2", "/b", "aa");
  other.files.push_back({.soname = "libinner.so.1", .path = "/b/libinner.so.1", .build_id = "cc"});
  EXPECT_TRUE(are_same_build(pin.set, other)) << "the pin's set does not name what else it takes";
  pin.set.files.push_back({.soname = "libinner.so.1", .path = "/a/libinner.so.1", .build_id = "dd"});
  EXPECT_FALSE(are_same_build(pin.set, other));
  pin.set.files.back().soname = "libinside.so.1";
  EXPECT_FALSE(are_same_build(pin.set, other)) << "a shim over two libraries";
}

TEST_F(CanaryArms, AnotherBuildThatCameLaterIsTold) {
  std::vector<Record> records{passed()};
  records[0].late_libraries = {"libx-1.so bb"};
  candidate.records = records;
  EXPECT_THAT(lines(), IsEmpty());
  records[0].late_libraries = {"liby.so.3 version 9", "libx.so.0 cc"};
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("loaded libx.so.0 cc in the place of its own")));
  pin.set.files[0].path = "/a/libx-0.so";  // each version's file is called otherwise
  pin.loaded[0].path = "/a/libx-0.so";
  records[0].late_libraries = {"libx-0.so aa"};
  EXPECT_THAT(lines(),
              ElementsAre(HasSubstr("candidate: " + records[0].kernel_id + ": loaded the other side's libx-0")));
}

TEST_F(CanaryArms, AFileWithoutABuildIdIsTheSameByAllThatIsLoadedOfIt) {
  const Scratch scratch;
  const auto library = [&](const std::string& name, const std::string& text) {
    const std::filesystem::path file = scratch.path / name;
    write_text(scratch.path / "source.c", text);
    const ProgramEnd end = run_program(
        {"cc", "-shared", "-fPIC", "-Wl,--build-id=none", "-o", file.string(), (scratch.path / "source.c").string()});
    EXPECT_EQ(end.status, 0) << end.output;
    LibrarySet set = set_of(name, scratch.path.string(), build_of(file));
    set.files[0].path = file;
    return set;
  };
  const std::string code = "int answer(void) { extern int here[]; return here[0]; }\nint here[] = {";
  const LibrarySet one = library("one.so", code + "1};"), again = library("again.so", code + "1};"),
                   two = library("two.so", code + "2};");
  ASSERT_EQ(one.files[0].build_id, two.files[0].build_id) << "the code is the same, the data are not";
  EXPECT_TRUE(are_same_build(one, again));
  EXPECT_TRUE(are_same_bytes(one, again));
  EXPECT_FALSE(are_same_bytes(one, two));
  LibrarySet asked = again, under_another = again, edited = again;
  asked.environment = {{"CORE", "a"}};
  under_another.loader = "/suite/ld.so";
  edited.files[0].path = scratch.path / "edited.so";
  write_text(edited.files[0].path, content_of(again.files[0].path) + "x");
  for (const LibrarySet& other : {asked, under_another, edited}) EXPECT_FALSE(are_same_bytes(one, other));
  EXPECT_FALSE(are_same_build(one, two));
  LibrarySet gone = one;
  gone.files[0].path = scratch.path / "gone.so";
  EXPECT_FALSE(are_same_build(one, gone)) << "nothing is known of it";
}

TEST_F(CanaryArms, ARequestThatTheLibraryTurnedIntoAnotherIsTold) {
  candidate.set.environment = {{"X_CORETYPE", "Haswell"}};
  candidate.set.expected = {{"isa", "Haswell"}};
  std::vector<Record> records{passed(), passed()};
  for (Record& record : records) record.selection = {{"isa", "Haswell"}};
  candidate.records = records;
  EXPECT_THAT(lines(), IsEmpty());
  for (Record& record : records) record.selection = {{"isa", "Sandybridge"}};
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("gemm/lib: X_CORETYPE=Haswell was asked for, and isa is Sandybridge")))
      << "once, though two cases say so";
  for (Record& record : records) record.selection.clear();
  EXPECT_THAT(lines(), IsEmpty()) << "nothing was planned";
}

}  // namespace
}  // namespace assay
