// assay canary over the real OpenBLAS: what is planted in a candidate is found, for exactly that; the same library
// under another path is promoted; what cannot be loaded, or is the pin, is invalid.
#include <gmock/gmock.h>

#include "canary_fixture.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(CanaryCli, TheSameLibraryUnderAnotherPathIsPromotedAndSaidToBeTheSame) {
  const fs::path same = scratch.path / "same";
  copy(same / "libopenblas.so.0", "libopenblas.so.0");
  const std::vector<std::string> timed{"--filter", "gemm/openblas:m=1,n=128,k=896,tb=t,dtype=f32"};
  EXPECT_EQ(canary(same, timed).status, 0);
  EXPECT_THAT(written().at("why_no_latency"), HasSubstr("the same files, byte for byte"));
  fs::remove_all(out());
  const ProgramEnd end = canary(same, kFewCases);
  EXPECT_EQ(end.status, 0) << end.output;
  EXPECT_THAT(end.output, HasSubstr("PROMOTE: openblas"));
  EXPECT_THAT(end.output, HasSubstr("are the same build, by build-id, loaded from two paths"));
  EXPECT_THAT(grave(), IsEmpty());
  const nlohmann::json document = written();
  EXPECT_EQ(document.at("verdict"), "PROMOTE");
  EXPECT_EQ(document.at("same_build"), true);
  for (const char* side : {"pin", "candidate"}) {
    const nlohmann::json& file = document.at(side).at("set").at("files")[0];
    bool is_loaded = false;
    for (const nlohmann::json& library : document.at(side).at("loaded")) {
      is_loaded = is_loaded || library.at("path") == file.at("path");
    }
    EXPECT_TRUE(is_loaded) << side;
  }
}

// What calls the library is a part of what was slow or failed: mended, it is asked anew.
TEST_F(CanaryCli, ALedgerIsOfTheLibrariesTheModulesAndThePlatform) {
  const fs::path same = edited_copy(), ledgers = scratch.path / "ledgers";
  const std::vector<std::string> untimed{"--filter", kFewCases.back(), "--ledgers", ledgers.string()};
  EXPECT_EQ(canary(same, untimed).status, 0);
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(ledgers)) names.push_back(entry.path().filename());
  const std::string platform = written().at("environment_label").at("platform");
  EXPECT_THAT(names, Contains(MatchesRegex("openblas-[0-9a-f]{16}-openblas-[0-9a-f]{16}-modules-[0-9a-f]{16}-" +
                                           platform + "\\.json")));
}

// What was judged is told.
TEST_F(CanaryCli, ALatencyThatCannotBeComparedIsInvalidAndAnError) {
  const fs::path same = edited_copy(), ledgers = scratch.path / "ledgers";
  write_text(ledgers, "a file where the folder should be");
  const ProgramEnd end = canary(same, {"--filter", kFewCases.back(), "--ledgers", ledgers.string()});
  EXPECT_EQ(end.status, 4) << end.output;
  EXPECT_THAT(end.output, AllOf(HasSubstr("INVALID: openblas"), HasSubstr("1 cases of 1 kernels")));
  EXPECT_THAT(grave(), ElementsAre("voids "));
  EXPECT_THAT(written().at("why_no_latency"), HasSubstr("cannot be written: Not a directory"));
}

TEST_F(CanaryCli, AWrongResultOnOneShapeIsRejectedForExactlyThat) {
  const ProgramEnd end = canary(planted("PLANT_WRONG"), kFewCases);
  EXPECT_EQ(end.status, 1) << end.output;
  EXPECT_THAT(end.output, HasSubstr("REJECT: openblas"));
  EXPECT_THAT(grave(), ElementsAre("newly-wrong gemm/openblas:m=33,n=17,k=65,dtype=f32"));
  const nlohmann::json reason = written().at("reasons")[0];
  EXPECT_THAT(reason.at("text"), HasSubstr("accuracy"));
  // The candidate's line replays it, the pin's does not.
  const auto replayed = [&](const char* side) {
    const std::string line = reason.at("repro").at(side);
    return run_program({"sh", "-c", line}, {{"NO_COLOR", "1"}}).status;
  };
  EXPECT_EQ(replayed("candidate"), 1);
  EXPECT_EQ(replayed("pin"), 0);
}

TEST_F(CanaryCli, AnotherOrderOfSummationIsHeldForExactlyThat) {
  const ProgramEnd end = canary(planted("PLANT_ORDER"), kFewCases);
  EXPECT_EQ(end.status, 2) << end.output;
  ASSERT_THAT(grave(), ElementsAre("arithmetic gemm/openblas:dtype=f32"));
  EXPECT_THAT(written().at("reasons")[0].at("text"), HasSubstr("computes in another way: "));
}

TEST_F(CanaryCli, ACandidateThatLoadsThePinsFileIsInvalid) {
  const fs::path linked = scratch.path / "linked";
  fs::create_directories(linked);
  fs::create_symlink(installed(), linked / "libopenblas.so.0");
  const ProgramEnd end = canary(linked, kFewCases);
  EXPECT_EQ(end.status, 3) << end.output;
  EXPECT_THAT(end.output, HasSubstr("candidate: loads the pin's file"));
  EXPECT_EQ(written().at("verdict"), "INVALID");
}

TEST_F(CanaryCli, ACandidateThatCannotBeLoadedIsInvalid) {
  const fs::path text = scratch.path / "text", other = scratch.path / "other";
  write_text(text / "libopenblas.so.0", "no library\n");
  copy(other / "libopenblas.so.0", "libopenblas.so.0");
  constexpr long kMachine = 18, kAArch64 = 0xb7;
  std::fstream file(other / "libopenblas.so.0", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(kMachine).put(static_cast<char>(kAArch64));
  file.close();
  for (const fs::path& folder : {text, other}) {
    fs::remove_all(out());
    const ProgramEnd end = canary(folder, kFewCases);
    EXPECT_EQ(end.status, 3) << end.output;
    EXPECT_THAT(end.output, HasSubstr("candidate: cannot be loaded: "));
    EXPECT_THAT(grave(), ElementsAre("arms "));
  }
}

TEST_F(CanaryCli, AModuleThatIsNoneIsInvalidAndNotPassedOver) {
  const fs::path text = scratch.path / "text.so", absent = scratch.path / "absent.so";
  write_text(text, "no module");
  std::vector<std::string> more = kFewCases;
  more.insert(more.end(), {"--module", text.string(), "--module", absent.string()});
  const ProgramEnd end = canary(installed().parent_path(), more);
  EXPECT_EQ(end.status, 3) << end.output;
  EXPECT_THAT(end.output,
              AllOf(HasSubstr("pin: cannot be loaded: module " + text.string()), HasSubstr("and 1 more modules")));
}

// A build of its own, that has one of the modules which the tree lists.
TEST_F(CanaryCli, KernelsWithoutAModuleAreCountedAndKeepItFromPromotion) {
  const fs::path build = scratch.path / "build", same = scratch.path / "same";
  for (const char* part : {"bin/assay", "bin/assay-judge", "bin/assay-worker", "modules/gemm_openblas.so"}) {
    fs::create_directories((build / part).parent_path());
    fs::copy(kBuild / part, build / part);
  }
  copy(same / "libopenblas.so.0", "libopenblas.so.0");
  const auto judged = [&](const std::string& filter) {
    fs::remove_all(out());
    return run_program({(build / "bin/assay").string(), "canary", "openblas", "--candidate", same.string(),
                        "--unpinned", "--no-report", "--no-latency", "--filter", filter, "--out", out().string()},
                       {{"NO_COLOR", "1"}, {"CI", ""}});
  };
  const ProgramEnd part = judged("*/openblas:m=33,n=17,k=65,dtype=f32");
  EXPECT_EQ(part.status, 2) << part.output;
  EXPECT_THAT(part.output, HasSubstr("16 kernels that compute with it have no module"));
  EXPECT_THAT(part.output, AllOf(HasSubstr("blas_dot/openblas"), HasSubstr("blas_trsm/openblas")));
  EXPECT_THAT(grave(), ElementsAre("coverage "));
  EXPECT_EQ(judged("gemm/openblas:m=33,n=17,k=65,dtype=f32").status, 0) << "the others were not asked for";
}

TEST_F(CanaryCli, OfOneThatDidNotRunWhatWasAskedIsSaidAndWhatIsNotKnown) {
  write_text(scratch.path / "text/libopenblas.so.0", "no library\n");
  const ProgramEnd end = canary(scratch.path / "text");
  EXPECT_EQ(end.status, 3) << end.output;
  const nlohmann::json document = written(), &asked = document.at("asked");
  EXPECT_EQ(asked.at("latency"), true);
  EXPECT_EQ(asked.at("filters"), nlohmann::json::array());
  EXPECT_EQ(asked.at("modules"), nlohmann::json({"gemm_openblas.so"}));
  EXPECT_EQ(document.at("why_no_latency"), "nothing ran, since the sides are not what was asked for");
  for (const nlohmann::json& unknown :
       {asked.at("threads"), document.at("environment"), document.at("environment_label"), document.at("latency")}) {
    EXPECT_TRUE(unknown.is_null()) << unknown;
  }
}

TEST_F(CanaryCli, TheFileThatCameInTheCandidatesPlaceIsListed) {
#ifdef ASSAY_SANITIZED
  GTEST_SKIP() << "no library may be loaded before the sanitizer's";
#endif
  const fs::path candidate = scratch.path / "candidate";
  copy(candidate / "libopenblas.so.0", "libopenblas.so.0");
  ::setenv("LD_PRELOAD", installed().c_str(), 1);
  const ProgramEnd end = canary(candidate, kFewCases);
  ::unsetenv("LD_PRELOAD");
  EXPECT_EQ(end.status, 3) << end.output;
  EXPECT_THAT(end.output, HasSubstr(installed().string() + " was loaded, not " + candidate.string()));
  const nlohmann::json document = written(), &loaded = document.at("candidate").at("loaded");
  ASSERT_EQ(loaded.size(), 1u) << loaded;
  EXPECT_EQ(loaded[0].at("path"), installed().string());
  EXPECT_EQ(loaded[0].at("build_id"), build_of(installed()));
  for (const nlohmann::json& folder : document.at("candidate").at("set").at("folders")) {
    EXPECT_THAT(folder, AllOf(StartsWith("cache:"), Not(HasSubstr(scratch.path.filename().string()))));
  }
}

TEST_F(CanaryCli, WithoutAPinnedEnvironmentItIsInvalidUnlessAsked) {
  fs::create_directories(scratch.path / "root");
  for (const char* part : {"ci", "golden"}) {
    fs::copy(fs::path(ASSAY_SOURCE_DIR) / part, scratch.path / "root" / part, fs::copy_options::recursive);
  }
  fs::remove_all(scratch.path / "root/ci/pins");
  std::vector<std::string> arguments{"canary",   "openblas",    "--candidate", planted("PLANT_WRONG").string(),
                                     "--module", kModule,       "--root",      (scratch.path / "root").string(),
                                     "--out",    out().string()};
  arguments.insert(arguments.end(), kFewCases.begin(), kFewCases.end());
  const ProgramEnd end = assay(arguments);
  EXPECT_EQ(end.status, 3) << end.output;
  EXPECT_THAT(end.output, HasSubstr("canary: invalid here, the environment is unpinned"));
  EXPECT_FALSE(fs::exists(out())) << "nothing was run";
}

TEST_F(CanaryCli, OneThatWasKilledGoesOnAndRepeatsNothing) {
  const fs::path candidate = planted("PLANT_WRONG");
  // Killed as soon as each side has a record.
  const std::string command = kAssay + " canary openblas --candidate " + candidate.string() + " --module " + kModule +
                              " --unpinned --no-latency --filter gemm/openblas --out " + out().string() +
                              " & pid=$!; until [ -s " + (out() / "candidate/records.jsonl").string() +
                              " ]; do sleep 0.05; done; kill -9 $pid";
  run_program({"sh", "-c", command});
  const auto lines = [&](const char* side) {
    const std::string text = content_of(out() / side / "records.jsonl");
    return text.substr(0, text.rfind('\n') + 1);
  };
  const std::string before = lines("candidate");
  EXPECT_FALSE(fs::exists(out() / "canary.json"));
  ASSERT_FALSE(before.empty());
  const ProgramEnd end = assay({"canary", "--resume", out().string()});
  EXPECT_EQ(end.status, 1) << end.output;
  EXPECT_TRUE(lines("candidate").starts_with(before));
  EXPECT_THAT(grave(), ElementsAre("newly-wrong gemm/openblas:m=33,n=17,k=65,dtype=f32"));
  const nlohmann::json document = written();
  for (const nlohmann::json& one : document.at("cases")) EXPECT_NE(one.at("change"), "undecided");
}

TEST_F(CanaryCli, WhatLiesInItsFolderIsNotWrittenOver) {
  const fs::path same = scratch.path / "same";
  copy(same / "libopenblas.so.0", "libopenblas.so.0");
  ASSERT_EQ(canary(same, kFewCases).status, 0);
  const std::string before = content_of(out() / "canary.json");
  const ProgramEnd again = canary(same, kFewCases);
  EXPECT_EQ(again.status, 4);
  EXPECT_THAT(again.output, HasSubstr("--out " + out().string() + ": holds files already"));
  EXPECT_EQ(content_of(out() / "canary.json"), before);
  fs::remove(out() / "candidate/run.json");  // which says under what its records were judged
  const ProgramEnd end = assay({"canary", "--resume", out().string()});
  EXPECT_EQ(end.status, 4);
  EXPECT_THAT(end.output, HasSubstr("candidate/run.json: is missing"));
}

// Of a tree without dashboards/ no page is written.
TEST_F(CanaryCli, WithoutItsReportItEndsAsItSaysAndKeepsTheVerdict) {
  const fs::path same = scratch.path / "same", root = scratch.path / "root";
  copy(same / "libopenblas.so.0", "libopenblas.so.0");
  fs::create_directories(root);
  for (const char* part : {"ci", "golden"}) {
    fs::copy(fs::path(ASSAY_SOURCE_DIR) / part, root / part, fs::copy_options::recursive);
  }
  const ProgramEnd end =
      assay({"canary", "openblas", "--candidate", same.string(), "--module", kModule, "--unpinned", "--no-latency",
             "--root", root.string(), "--filter", kFewCases.back(), "--out", out().string()});
  EXPECT_EQ(end.status, 4) << end.output;
  EXPECT_THAT(end.output, AllOf(HasSubstr("PROMOTE: openblas"), HasSubstr("assay: report: "),
                                HasSubstr("\nexit 4: the report could not be written; the verdict is in canary.json\n"),
                                Not(HasSubstr("exit 0"))));
  EXPECT_EQ(written().at("verdict"), "PROMOTE");
  for (const char* side : {"pin", "candidate"}) {
    const fs::path records = out() / side / "records.jsonl";
    const std::string kept = content_of(records);
    fs::remove(records);
    const ProgramEnd again = assay({"canary", "--resume", out().string()});
    EXPECT_EQ(again.status, 4) << again.output;
    EXPECT_THAT(again.output, AllOf(StartsWith("assay: " + records.string() + ": is gone"),
                                    HasSubstr("put it back, or begin anew in another folder\n")));
    write_text(records, kept);
  }
}

// Left over in a shell it would have both sides judged under another core than the one that users get.
TEST_F(CanaryCli, AVariableThatChoosesForTheLibraryIsRefused) {
  const std::vector<std::string> words{"canary", "openblas", "--candidate", "system"};
  ::setenv("OPENBLAS_CORETYPE", "Nehalem", 1);
  const ProgramEnd end = assay(words);
  ::unsetenv("OPENBLAS_CORETYPE");
  EXPECT_EQ(end.status, 4);
  EXPECT_THAT(end.output, HasSubstr("OPENBLAS_CORETYPE=Nehalem in the environment chooses for the library; unset it, "
                                    "or ask with --coretype"));
}

TEST_F(CanaryCli, WhatIsAskedWronglyIsTold) {
  EXPECT_THAT(assay({"canary"}).output, HasSubstr("which library?"));
  EXPECT_EQ(assay({"canary"}).status, 4);
  EXPECT_THAT(assay({"canary", "openblas"}).output, HasSubstr("--candidate: is missing"));
  const ProgramEnd none = assay({"canary", "--resume", scratch.path.string()});
  EXPECT_EQ(none.status, 4);
  EXPECT_THAT(none.output, HasSubstr("holds no canary"));
}

}  // namespace
}  // namespace assay
