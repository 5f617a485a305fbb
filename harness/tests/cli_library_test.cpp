// check --library, canary --bisect and canary --promote over versions of the real OpenBLAS that have something planted.
// They lie where ci/library keeps what it has fetched, so that nothing is asked of a network.
#include <gmock/gmock.h>

#include <chrono>

#include "canary_fixture.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kShape = "gemm/openblas:m=33,n=17,k=65,dtype=f32";  // the one that PLANT_WRONG makes wrong
const std::string kRecipe = "scipy-openblas32";

// One line for a person, and the exit code of what was asked wrongly.
void expect_refused(const ProgramEnd& end, const std::string& why) {
  EXPECT_EQ(end.status, 4) << end.output;
  EXPECT_THAT(end.output, AllOf(::testing::StartsWith("assay: "), HasSubstr(why)));
  EXPECT_EQ(std::ranges::count(end.output, '\n'), 1) << end.output;
}

// The line of a program's output that has `text`, without what stands before the program's own name.
std::string repro_line_with(const std::string& output, const std::string& text) {
  const size_t at = output.find(text);
  if (at == std::string::npos) return {};
  const size_t begin = output.rfind('\n', at) + 1;
  const std::string line = output.substr(begin, output.find('\n', at) - begin);
  const size_t program = line.find(kAssay);
  return program == std::string::npos ? std::string() : line.substr(program);
}

ProgramEnd run_line(const std::string& line) { return run_program({"sh", "-c", line}, {{"NO_COLOR", "1"}}); }

class LibraryCli : public CanaryCli {
 protected:
  // A version that the recipe's source gives, newer than those before.
  void publish(const std::string& version, const std::string& what) {
    const fs::path real = scratch.path / "libplantedb.so.0", tree = tree_of(version);
    if (!fs::exists(real)) copy(real, "libplantedb.so.0");
    fs::create_directories(tree);
    fs::create_hard_link(real, tree / "libplantedb.so.0");
    const ProgramEnd end =
        run_program({"cc", "-O2", "-shared", "-fPIC", "-Wl,--build-id=0x" + build_id(version),
                     "-Wl,-soname,libopenblas.so.0", "-Wl,--no-as-needed", "-D" + what, "-D_GNU_SOURCE", "-o",
                     (tree / "libopenblas.so").string(), kPlant, (tree / "libplantedb.so.0").string()});
    ASSERT_EQ(end.status, 0) << end.output;
    list(version);
  }
  // One that holds no library.
  void publish_broken(const std::string& version) {
    write_text(tree_of(version) / "libopenblas.so", "no library\n");
    list(version);
  }

  static std::string build_id(const std::string& version) {
    std::string digits = version;
    std::erase(digits, '.');
    return std::string(40 - digits.size(), 'b') + digits;
  }
  fs::path tree_of(const std::string& version) const { return wheels() / (kRecipe + "-" + version); }

  ProgramEnd check(const std::string& library,
                   std::vector<std::string> more = {"--module", kModule, "--filter", kShape}) const {
    std::vector<std::string> arguments{"check", "--library", library, "--out", out().string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return assay(arguments);
  }
  ProgramEnd bisect(const std::string& words, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"canary",   kRecipe, "--bisect",     words,          "--module",
                                       kModule,    "--out", out().string(), "--no-latency", "--unpinned",
                                       "--filter", kShape,  "--no-report"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return assay(arguments);
  }

  // The build-ids of the files of that name in run.json.
  std::vector<std::string> builds_loaded(const std::string& name) const {
    std::vector<std::string> builds;
    const nlohmann::json run = nlohmann::json::parse(content_of(out() / "run.json"));
    for (const nlohmann::json& library : run.at("libraries")) {
      const std::string file = fs::path(library.at("path").get<std::string>()).filename().string();
      if (file.starts_with(name)) builds.push_back(library.at("build_id"));
    }
    return builds;
  }

 private:
  fs::path wheels() const { return scratch.path / "libraries" / "wheel"; }

  // The list stays fresh for as long as a test takes.
  void list(const std::string& version) {
    write_text(tree_of(version) / ".package", "wheel " + kRecipe + " " + version + " " + std::string(64, 'd') + "\n");
    const std::string line = "PyPI " + version + "\n";
    if (listed_.find(line) == std::string::npos) listed_ = line + listed_;
    const fs::path file = wheels() / (kRecipe + ".versions");
    write_text(file, listed_);
    fs::last_write_time(file, fs::file_time_type::clock::now() + std::chrono::hours(24));
  }

  std::string listed_;
};

TEST_F(LibraryCli, AVersionIsJudgedAndTheRunNamesItsBuild) {
  publish("9.8", "PLANT_NOTHING");
  const ProgramEnd end = check(kRecipe + "=9.8");
  EXPECT_EQ(end.status, 0) << end.output;
  EXPECT_THAT(builds_loaded("libopenblas"), ElementsAre(build_id("9.8")));
}

TEST_F(LibraryCli, AWrongVersionFailsWithALineThatReplaysIt) {
  publish("9.8", "PLANT_NOTHING");
  publish("9.9", "PLANT_WRONG");
  const ProgramEnd end = check(kRecipe + "=9.9");
  EXPECT_EQ(end.status, 1) << end.output;
  EXPECT_THAT(builds_loaded("libopenblas"), ElementsAre(build_id("9.9")));
  const std::string flag = "--library '" + kRecipe + "=9.9'";
  std::string line = repro_line_with(end.output, flag);
  ASSERT_THAT(line, HasSubstr(" repro '" + kShape)) << end.output;
  const ProgramEnd replayed = run_line(line);
  EXPECT_EQ(replayed.status, 1) << replayed.output;
  EXPECT_THAT(replayed.output, HasSubstr("wrong"));
  line.replace(line.find("=9.9'"), 5, "=9.8'");
  EXPECT_EQ(run_line(line).status, 0) << line;
}

TEST_F(LibraryCli, TheLineNamesTheTreeThatJudged) {
  const fs::path root = scratch.path / "a tree";
  for (const char* part : {"ci", "golden"}) {
    fs::create_directories(root);
    fs::copy(fs::path(ASSAY_SOURCE_DIR) / part, root / part, fs::copy_options::recursive);
  }
  publish("9.9", "PLANT_WRONG");
  const ProgramEnd end = check(kRecipe + "=9.9", {"--module", kModule, "--filter", kShape, "--root", root.string()});
  EXPECT_EQ(end.status, 1) << end.output;
  const std::string line = repro_line_with(end.output, " --root '" + root.string() + "'");
  ASSERT_THAT(line, HasSubstr(" repro '" + kShape)) << end.output;
  EXPECT_EQ(run_line(line).status, 1) << line;
  fs::remove_all(root / "ci");
  EXPECT_EQ(run_line(line).status, 4) << "it is that tree that is read";
}

TEST_F(LibraryCli, AFolderIsAVersionToo) {
  const std::string folder = planted("PLANT_WRONG").string();
  const ProgramEnd end = check("openblas=" + folder);
  EXPECT_EQ(end.status, 1) << end.output;
  const std::string line = repro_line_with(end.output, "--library 'openblas=" + folder + "'");
  EXPECT_EQ(run_line(line).status, 1) << line;
  expect_refused(check("openblas=" + folder + "/absent"), "is no folder");
}

TEST_F(LibraryCli, AVersionThatThereIsNotIsRefusedWithThoseThereAre) {
  publish("9.8", "PLANT_NOTHING");
  publish("9.10", "PLANT_NOTHING");
  expect_refused(check(kRecipe + "=9.7"), kRecipe + " 9.7: no source has it; there are: 9.10 (PyPI), 9.8 (PyPI)");
  expect_refused(check(kRecipe + "=9"), kRecipe + " 9: may be any of these; say which: 9.10 (PyPI), 9.8 (PyPI)");
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(LibraryCli, ALibraryWithoutARecipeIsRefusedWithTheNearest) {
  expect_refused(check("scipy-openblas=9.8"),
                 "library 'scipy-openblas': there is no ci/libraries/scipy-openblas.toml; "
                 "did you mean '" +
                     kRecipe + "'? There are: ");
  for (const char* words : {"openblas", "openblas=", "=9.8"}) {
    expect_refused(check(words), std::string("--library ") + words + ": give LIBRARY=VERSION, such as openblas=0.3.29");
  }
}

TEST_F(LibraryCli, AVersionThatCannotBeLoadedOrWasNotIsInvalid) {
  publish_broken("9.8");
  const ProgramEnd broken = check(kRecipe + "=9.8");
  EXPECT_EQ(broken.status, 3) << broken.output;
  EXPECT_THAT(broken.output, HasSubstr("libopenblas.so is no shared library"));
  publish("9.9", "PLANT_NOTHING");
  const ProgramEnd unused = check(kRecipe + "=9.9", {"--module", module("good"), "--filter", kCase});
  EXPECT_EQ(unused.status, 3) << unused.output;
  EXPECT_THAT(unused.output, HasSubstr("libopenblas.so.0: nothing of that name was loaded"));
}

TEST_F(LibraryCli, ABisectionFindsTheFirstBadVersionAndWhatItBreaks) {
  publish("9.8", "PLANT_NOTHING");
  publish("9.9", "PLANT_NOTHING");
  publish("9.10", "PLANT_WRONG");
  publish("9.11", "PLANT_WRONG");
  const ProgramEnd end = bisect("9.8..9.11");
  EXPECT_EQ(end.status, 0) << end.output;
  EXPECT_THAT(end.output, AllOf(HasSubstr("bisection: " + kRecipe + " of 4 versions, in " + out().string()),
                                HasSubstr("first REJECT: 9.10 (PyPI); last without: 9.9 (PyPI)\n"),
                                HasSubstr("\n  " + kShape + ": "), Not(HasSubstr("not known"))));
  const std::string line = repro_line_with(end.output, "--library '" + kRecipe + "=wheel:9.10'");
  ASSERT_THAT(line, HasSubstr(" repro '" + kShape)) << end.output;
  EXPECT_EQ(run_line(line).status, 1) << line;
  // Each version's canary is kept, against the first, and the same question is answered from them.
  for (const char* version : {"9.9", "9.10", "9.11"}) {
    const nlohmann::json canary = nlohmann::json::parse(content_of(out() / version / "canary.json"));
    EXPECT_EQ(canary.at("pin").at("set").at("files")[0].at("build_id"), build_id("9.8"));
    EXPECT_EQ(canary.at("candidate").at("set").at("files")[0].at("build_id"), build_id(version));
  }
  const auto written = fs::last_write_time(out() / "9.10/canary.json");
  const ProgramEnd again = bisect("9.8..9.11");
  const auto answer = [](const std::string& output) { return output.substr(output.find("bisection: ")); };
  EXPECT_EQ(answer(again.output), answer(end.output));
  EXPECT_EQ(fs::last_write_time(out() / "9.10/canary.json"), written);
}

TEST_F(LibraryCli, ABisectionLooksForTheVerdictOfTheLast) {
  publish("9.8", "PLANT_NOTHING");
  publish("9.9", "PLANT_ORDER");
  const ProgramEnd end = bisect("wheel:9.8..wheel:9.9");
  EXPECT_EQ(end.status, 0) << end.output;
  EXPECT_THAT(end.output, AllOf(HasSubstr("first HOLD: 9.9 (PyPI); last without: 9.8 (PyPI)\n"),
                                HasSubstr("gemm/openblas:dtype=f32: computes in another way: ")));
}

TEST_F(LibraryCli, ABisectionSaysOfWhichVersionsNothingIsKnown) {
  publish("9.8", "PLANT_NOTHING");
  publish_broken("9.9");
  publish("9.10", "PLANT_WRONG");
  publish_broken("9.11");
  const ProgramEnd end = bisect("9.8..9.10");
  EXPECT_EQ(end.status, 0) << end.output;
  EXPECT_THAT(end.output, AllOf(HasSubstr("first REJECT: 9.10 (PyPI); last without: 9.8 (PyPI)\n"),
                                HasSubstr("not known of 9.9 (PyPI), which comes before it\n")));
  const ProgramEnd last = bisect("9.8..9.11");
  EXPECT_EQ(last.status, 3) << last.output;
  EXPECT_THAT(last.output, HasSubstr("the canary of 9.11 (PyPI) is INVALID: see " + (out() / "9.11").string()));
  EXPECT_EQ(bisect("9.8..9.11").status, 3) << "as before";
  publish("9.11", "PLANT_WRONG");
  const ProgramEnd mended = bisect("9.8..9.11");
  EXPECT_EQ(mended.status, 0) << mended.output;
  EXPECT_THAT(mended.output, HasSubstr("first REJECT: 9.10 (PyPI)"));
}

// What answered yesterday may have been of other kernels.
TEST_F(LibraryCli, ABisectionBelievesNoCanaryOfWhatCannotBeLoadedNow) {
  publish("9.8", "PLANT_NOTHING");
  publish("9.9", "PLANT_WRONG");
  ASSERT_EQ(bisect("9.8..9.9").status, 0);
  publish_broken("9.9");
  fs::remove_all(scratch.path / "libraries" / "sets");
  const ProgramEnd end = bisect("9.8..9.9");
  EXPECT_EQ(end.status, 3) << end.output;
  EXPECT_THAT(end.output, AllOf(HasSubstr("--bisect: what is to be judged now cannot be loaded: "),
                                Not(HasSubstr("first REJECT"))));
}

TEST_F(LibraryCli, ABisectionWithoutABadVersionSaysSo) {
  publish("9.8", "PLANT_NOTHING");
  publish("9.9", "PLANT_NOTHING");
  const ProgramEnd end = bisect("9.8..9.9");
  EXPECT_EQ(end.status, 0) << end.output;
  EXPECT_THAT(end.output,
              AllOf(HasSubstr("\nnothing to find: the canary of 9.9 (PyPI) against 9.8 (PyPI) says PROMOTE\n"),
                    Not(HasSubstr("first "))));
}

TEST_F(LibraryCli, ABisectionBelievesNoCanaryOfAnotherQuestion) {
  publish("9.7", "PLANT_NOTHING");
  publish("9.8", "PLANT_NOTHING");
  publish("9.9", "PLANT_WRONG");
  const std::string holds = "--bisect: " + (out() / "9.9").string() + " holds ", remedy = "; give another --out";
  const std::string other = holds + "the canary of another question, 'canary ";
  ASSERT_EQ(bisect("9.8..9.9").status, 0);
  ASSERT_EQ(bisect("9.8..9.9").status, 0) << "the same question";
  const std::string written = content_of(out() / "9.9/canary.json");
  for (const ProgramEnd& end : {bisect("9.7..9.9"), bisect("9.8..9.9", {"--filter", "gemm/openblas:m=1,n=1"}),
                                bisect("9.8..9.9", {"--tier", "ci"}), bisect("9.8..9.9", {"--coretype", "Haswell"}),
                                bisect("9.8..9.9", {"--threads", "1"})}) {
    EXPECT_THAT(end.output, AllOf(HasSubstr(other), HasSubstr("--pin wheel:9.8 --candidate wheel:9.9"),
                                  HasSubstr(remedy), Not(HasSubstr("REJECT"))));
    EXPECT_EQ(end.status, 4);
  }
  EXPECT_EQ(content_of(out() / "9.9/canary.json"), written);

  // The same words of a module that was built anew since.
  nlohmann::json run = nlohmann::json::parse(content_of(out() / "9.9/pin/run.json"));
  const nlohmann::json as_it_was = run;
  run["kernels"][0]["module_hash"] = "0123";
  write_text(out() / "9.9/pin/run.json", run.dump());
  const ProgramEnd rebuilt = bisect("9.8..9.9");
  EXPECT_EQ(rebuilt.status, 4);
  EXPECT_THAT(rebuilt.output, AllOf(HasSubstr(holds + "a canary of another build or machine: kernel gemm/openblas has "
                                                      "changed since"),
                                    HasSubstr(remedy)));
  // What cannot be read, and a verdict of no runs.
  write_text(out() / "9.9/pin/run.json", as_it_was.dump());
  write_text(out() / "9.9/canary.json", "{}");
  EXPECT_THAT(bisect("9.8..9.9").output, AllOf(HasSubstr(holds + "a canary.json that is none"), HasSubstr(remedy)));
  write_text(out() / "9.9/canary.json", written);
  fs::remove_all(out() / "9.9/pin");
  EXPECT_THAT(bisect("9.8..9.9").output, AllOf(HasSubstr(holds + "a verdict without the runs"), HasSubstr(remedy)));
}

TEST_F(LibraryCli, WhatABisectionCannotAskIsToldInOneLineBeforeAnyWork) {
  publish("9.8", "PLANT_NOTHING");
  publish("9.9", "PLANT_NOTHING");
  bisect("9.8..9.9", {"--filter", "gemm/opnblas"});  // makes the sets, of which there is something to tell
  expect_refused(bisect("9.8..9.9", {"--filter", "gemm/opnblas"}), "did you mean 'openblas'?");
  EXPECT_FALSE(fs::exists(out()));
  // One that shows with a canary alone.
  write_text(out() / "9.9/pin/notes.txt", "somebody's\n");
  const ProgramEnd end = bisect("9.8..9.9");
  EXPECT_EQ(end.status, 4) << end.output;
  EXPECT_THAT(end.output, AllOf(HasSubstr("\nassay: --out " + (out() / "9.9").string() + ": holds files already"),
                                Not(HasSubstr("internal error"))));
  EXPECT_EQ(std::ranges::count(end.output, '\n'), 2) << "after the line that names versions and folder";
}

TEST_F(LibraryCli, FlagsThatDoNotFitTogetherAreRefused) {
  publish("9.8", "PLANT_NOTHING");
  publish("9.9", "PLANT_NOTHING");
  using Flags = std::vector<std::string>;
  for (const Flags& more : {Flags{"--json"}, Flags{"--list"}, Flags{"--resume", "x"}, Flags{"--promote", "x"},
                            Flags{"--candidate", "9.9"}, Flags{"--pin", "9.8"}}) {
    expect_refused(bisect("9.8..9.9", more), "canary: --bisect and " + more[0] + " do not fit together");
  }
  for (const Flags& more : {Flags{"--json"}, Flags{"--resume", "x"}, Flags{"--promote", "x"}}) {
    Flags arguments{"canary", kRecipe, "--list"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_refused(assay(arguments), "canary: --list and " + more[0] + " do not fit together");
  }
  for (const Flags& more : {Flags{"--json"}, Flags{"--filter", "gemm"}, Flags{"--out", "x"}, Flags{"--unpinned"}}) {
    Flags arguments{"canary", "--promote", "x"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_refused(assay(arguments), "canary: --promote and " + more[0] + " do not fit together");
  }
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(LibraryCli, ARangeThatIsNoneIsRefused) {
  publish("9.8", "PLANT_NOTHING");
  publish("9.9", "PLANT_NOTHING");
  for (const char* words : {"9.8", "9.8..", "..9.9"}) {
    expect_refused(bisect(words), std::string("--bisect ") + words + ": give two versions, such as 0.3.21..0.3.29");
  }
  expect_refused(bisect("9.9..9.8"), "--bisect 9.9..9.8: 9.9 (PyPI) does not come before 9.8 (PyPI)");
  expect_refused(bisect("9.8..9.7"), kRecipe + " 9.7: no source has it; there are: 9.9 (PyPI), 9.8 (PyPI)");
  const std::string folder = planted("PLANT_NOTHING").string();
  for (const std::string& words : {"folder:" + folder + "..9.9", "9.8..folder:" + folder}) {
    expect_refused(bisect(words), "judge a folder by itself, with --candidate or --pin FOLDER");
  }
  expect_refused(assay({"canary", "--bisect", "9.8..9.9"}), "canary --bisect: which library?");
  EXPECT_FALSE(fs::exists(out()));
}

// A tree whose pin is of this machine, and a canary of two cases that said PROMOTE there.
class PromoteCli : public CanaryCli {
 protected:
  void SetUp() override {
    for (const char* part : {"ci", "golden"}) {
      fs::create_directories(root_);
      fs::copy(fs::path(ASSAY_SOURCE_DIR) / part, root_ / part, fs::copy_options::recursive);
    }
    fs::remove_all(root_ / "ci/pins");
    fs::create_directories(scratch.path / "modules");
    fs::copy(kModule, scratch.path / "modules");
    const ProgramEnd pinned =
        assay({"env", "pin", "--root", root_.string(), "--modules", (scratch.path / "modules").string()});
    ASSERT_EQ(pinned.status, 0) << pinned.output;
    std::vector<std::string> more = kFewCases;
    more.insert(more.end(), {"--tier", "ci", "--root", root_.string()});
    const ProgramEnd end = canary(candidate_, more);
    ASSERT_EQ(end.status, 0) << end.output;
    ASSERT_EQ(written().at("environment_label").at("state"), "pinned") << written().at("environment_label");
  }

  ProgramEnd promote(const std::string& ci = "") const {
    return run_program({kAssay, "canary", "--root", root_.string(), "--promote", out().string()},
                       {{"NO_COLOR", "1"}, {"CI", ci}});
  }
  void write(const nlohmann::json& canary) const { write_text(out() / "canary.json", canary.dump()); }
  // As if it had judged the whole corpus.
  nlohmann::json whole() const {
    nlohmann::json canary = written();
    canary["asked"]["filters"] = canary["asked"]["modules"] = nlohmann::json::array();
    canary["asked"]["latency"] = true;
    canary["why_no_latency"] = "";
    return canary;
  }
  fs::path pin() const { return fs::directory_iterator(root_ / "ci/pins")->path(); }
  std::string candidate_build() const { return build_of(candidate_ / "libopenblas.so.0"); }

  const fs::path root_ = scratch.path / "root", candidate_ = planted("PLANT_NOTHING", scratch.path / "libraries");
};

TEST_F(PromoteCli, TheCandidateTakesThePinsPlaceInADiff) {
  write(whole());
  const std::string before = content_of(pin()), file = installed().filename().string();
  ASSERT_THAT(before, AllOf(HasSubstr("file = \"" + file + "\""), Not(HasSubstr(candidate_build()))));
  expect_refused(promote("true"), "canary --promote: CI is set; pins are written by a person");
  EXPECT_EQ(content_of(pin()), before);

  const ProgramEnd end = promote();
  EXPECT_EQ(end.status, 0) << end.output;
  EXPECT_THAT(end.output,
              AllOf(HasSubstr("--- a/ci/pins/" + pin().filename().string()), HasSubstr("\n-file = \"" + file + "\"\n"),
                    HasSubstr("\n+build_id = \"" + candidate_build() + "\"\n"),
                    HasSubstr(pin().string() + ": review the diff and commit it\n")));
  EXPECT_THAT(content_of(pin()), AllOf(HasSubstr(candidate_build()), Not(HasSubstr(file))));
  expect_refused(promote(), "judge it against the pinned one");
}

TEST_F(PromoteCli, FilesAreFoundInWhoeversCacheItIs) {
  const fs::path cache = scratch.path / "libraries", other = scratch.path / "other";
  write(whole());
  EXPECT_EQ(written().at("candidate").at("set").at("files")[0].at("path"), "cache:PLANT_NOTHING/libopenblas.so.0");
  EXPECT_THAT(written().at("candidate").at("set").dump(), Not(HasSubstr(scratch.path.filename().string())));
  ::setenv("ASSAY_LIBRARIES", other.c_str(), 1);
  expect_refused(promote(),
                 (other / "PLANT_NOTHING/libopenblas.so.0").string() + " is not there; judge the candidate anew");
  fs::remove_all(other);
  fs::rename(cache, other);
  const ProgramEnd end = promote();
  EXPECT_EQ(end.status, 0) << end.output;
  EXPECT_THAT(content_of(pin()), HasSubstr(build_of(other / "PLANT_NOTHING/libopenblas.so.0")));
}

TEST_F(PromoteCli, OfLessThanEverythingThereIsNoPromotion) {
  const std::string before = content_of(pin());
  expect_refused(promote(), "it judged what --filter chose; judge the whole corpus");
  const nlohmann::json promotable = whole();
  const auto refused_with = [&](const char* place, const nlohmann::json& value) {
    nlohmann::json canary = promotable;
    canary[nlohmann::json::json_pointer(place)] = value;
    write(canary);
    return promote();
  };
  expect_refused(refused_with("/verdict", "HOLD"), "its verdict is HOLD, and only PROMOTE makes a pin");
  expect_refused(refused_with("/asked/latency", false), "it measured no latency");
  expect_refused(refused_with("/why_no_latency", "no block of it was measured"),
                 "no latency: no block of it was measured");
  expect_refused(refused_with("/out_of_time", true), "its time for latency was up with shapes undecided");
  expect_refused(refused_with("/asked/modules", {"mine.so"}), "it judged the modules of --module");
  expect_refused(refused_with("/asked/tier", "smoke"), "it judged the smoke tier; judge --tier ci");
  expect_refused(refused_with("/environment_label/state", "unpinned"), "was not the pinned one");
  expect_refused(refused_with("/environment_label/platform", "other"), "there is no ");
  write_text(out() / "canary.json", "{");
  expect_refused(promote(), "canary.json: ");
  fs::remove(out() / "canary.json");
  expect_refused(promote(), "has no canary.json; give the folder of a finished canary");

  write(promotable);
  expect_refused(run_program({kAssay, "canary", "onednn", "--root", root_.string(), "--promote", out().string()},
                             {{"NO_COLOR", "1"}, {"CI", ""}}),
                 "is a canary of openblas, not of onednn; leave the name out");
  const fs::path run = out() / "candidate" / "run.json";
  const std::string told = content_of(run);
  nlohmann::json none = nlohmann::json::parse(told);
  none["libraries"] = nlohmann::json::array();
  write_text(run, none.dump());
  expect_refused(promote(), "does not list the library among what was loaded");
  write_text(run, told);
  const std::string judged = content_of(candidate_ / "libopenblas.so.0");
  write_text(candidate_ / "libopenblas.so.0", judged + "0");
  expect_refused(promote(), "was edited since it was judged");
  fs::remove(candidate_ / "libopenblas.so.0");
  copy(candidate_ / "libopenblas.so.0", "libopenblas.so.0");
  expect_refused(promote(), "is another build by now");
  EXPECT_EQ(content_of(pin()), before);
}

}  // namespace
}  // namespace assay
