// canary.json, as it is written and as the page's reader is tested with it.
#include "gate/canary_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "canary_sides.h"
#include "gate/canary_latency.h"
#include "gate/program.h"
#include "scratch.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

LibrarySet sample_set(const std::string& version, const std::string& build) {
  LibrarySet set{.library = "lib", .version = version};
  set.files.push_back({"liblib.so.0", "/" + version + "/liblib.so.0", "0", build});
  set.packages.push_back({"deb liblib0 " + version, "5e5e"});
  return set;
}

// A case that is newly wrong, one that moved and is slower, one that both refuse, and one that the candidate lacks.
CanaryEvidence sample_evidence() {
  const std::string moved = "gemm/lib:m=4,n=4,k=4,dtype=f32", refused_id = "gemm/lib:m=5,n=5,k=5,dtype=f16",
                    lacking = "gemm/lib:m=6,n=6,k=6,dtype=f32";
  CanaryEvidence evidence = same_on_both();
  evidence.planned = {kCanaryCase, moved, refused_id, lacking};
  evidence.pin.records = {passed(), passed(moved), refused(), passed(lacking)};
  evidence.candidate.records = {failed("accuracy", "c[5] got 2, want 1"), passed(moved, "bb"), refused()};
  for (CanarySeen* side : {&evidence.pin, &evidence.candidate}) {
    side->records[2].kernel_id = refused_id;
    for (Record& record : side->records) record.repro = "assay repro '" + record.kernel_id + "'";
    side->records[1].selection["library"] = side == &evidence.pin ? "Lib 1.0.3" : "Lib 2.0.1";
  }
  Comparison latency{.blocks = 4, .seconds = 2.5};
  CaseResult slower{.id = moved + " warm", .latency_class = "cpu/warm/below-50us", .blocks = 4};
  slower.pairs[0] = {LatencyOutcome::regress,
                     {.blocks = 12, .estimate = std::log(1.3), .interval = {std::log(1.28), std::log(1.32)}},
                     true,
                     "as planted"};
  latency.result.cases = {slower};
  evidence.latency_asked = true;
  evidence.latency = latency;
  evidence.first_calls = {compare_first_calls(moved, std::vector<double>{1, 2, 3}, std::vector<double>{2, 3, 4}),
                          compare_first_calls(kCanaryCase, std::vector<double>{0}, std::vector<double>{2})};
  return evidence;
}

const ToldPaths kPaths{"/h/me/.cache/assay/libraries", "/h/me"};

TEST(CanaryReport, ThePagesSampleIsWhatIsWritten) {
  const CanaryEvidence evidence = sample_evidence();
  const CanaryResult result = judge_canary(evidence, kCanaryPolicy);
  const CanaryArm pin{"pin", sample_set("1", "aa"), {{"/1/liblib.so.0", "", "aa"}}, evidence.pin.records};
  const CanaryArm candidate{"candidate", sample_set("2", "bb"), {}, evidence.candidate.records};
  assay::Run run{.threads = 2, .environment = {{"cpu.model", "x"}}};
  run.pin = {.platform = "avx2-t2-0a1b2c3d", .state = PinState::pinned};
  Scratch scratch;
  write_canary(scratch.path, {.library = "lib",
                              .tier = "smoke",
                              .filters = {"gemm/lib"},
                              .modules = {"mine.so"},
                              .started = "2026-01-01T10:00:00Z",
                              .finished = "2026-01-01T10:01:00Z",
                              .judged_seconds = 1.5,
                              .pin = &pin,
                              .candidate = &candidate,
                              .run = &run,
                              .evidence = &evidence,
                              .result = &result,
                              .paths = &kPaths});
  const std::string written = content_of(scratch.path / kCanaryFile);
  const nlohmann::json document = nlohmann::json::parse(written);
  EXPECT_EQ(document.at("verdict"), "REJECT");
  EXPECT_EQ(document.at("pin").at("repro"), "assay repro 'ID'");
  EXPECT_EQ(document.at("reasons")[0].at("repro").at("candidate"), "assay repro '" + std::string(kCanaryCase) + "'");
  EXPECT_EQ(document.at("candidate").at("tells"), nlohmann::json({"2.0.1"}));
  EXPECT_EQ(document.at("asked").at("filters"), nlohmann::json({"gemm/lib"}));
  EXPECT_EQ(document.at("asked").at("modules"), nlohmann::json({"mine.so"}));
  EXPECT_EQ(document.at("cases")[3].at("pin"), "pass");
  EXPECT_EQ(document.at("cases")[3].at("candidate"), "none");
  for (const char* bound : {"low", "high"}) {
    EXPECT_TRUE(document.at("first_calls")[0].at(bound).is_null()) << "three processes have no interval";
  }
  EXPECT_TRUE(document.at("first_calls")[1].at("ratio").is_null()) << "the pin's took no time by the clock";
  const fs::path checked_in = fs::path(ASSAY_SOURCE_DIR) / "dashboards/tests/data/written" / kCanaryFile;
  if (std::getenv("ASSAY_UPDATE") != nullptr) write_text(checked_in, written);
  EXPECT_EQ(content_of(checked_in), written) << checked_in << " is stale: run with ASSAY_UPDATE=1";
}

// canary.json of one in which nothing but a case passed, with these arms.
nlohmann::json written_of(const CanaryArm& pin, const CanaryArm& candidate, const CanaryEvidence& evidence,
                          const assay::Run* run) {
  const CanaryResult result = judge_canary(evidence, kCanaryPolicy);
  return to_json({.library = "lib",
                  .tier = "ci",
                  .pin = &pin,
                  .candidate = &candidate,
                  .run = run,
                  .evidence = &evidence,
                  .result = &result,
                  .paths = &kPaths});
}

TEST(CanaryReport, OfOneThatDidNotRunNothingIsSaidOfTheMachine) {
  CanaryEvidence evidence;
  evidence.latency_asked = true;
  evidence.not_as_asked = {"candidate: cannot be loaded: as planted"};
  const nlohmann::json document =
      written_of({"pin", sample_set("1", "aa"), {}, {}}, {"candidate", {}, {}, {}}, evidence, nullptr);
  EXPECT_EQ(document.at("verdict"), "INVALID");
  EXPECT_EQ(document.at("asked").at("latency"), true);
  EXPECT_EQ(document.at("why_no_latency"), "nothing ran, since the sides are not what was asked for");
  EXPECT_TRUE(document.at("asked").at("threads").is_null());
  for (const char* unknown : {"environment", "environment_label", "latency"}) {
    EXPECT_TRUE(document.at(unknown).is_null()) << unknown;
  }
}

TEST(CanaryReport, EveryFileUnderTheLibrarysNameIsListedWhoseverItIs) {
  CanaryArm candidate{"candidate", sample_set("2", "bb"), {}, {}};
  candidate.loaded = {{"/2/liblib.so.0", "0", "bb"}, {"/1/liblib.so.0", "0", "aa"}, {"/lib/libc.so.6", "6", "cc"}};
  std::vector<Record> records{passed()};
  records[0].late_libraries = {"liblib.so.0 dd", "liblib.so.0 aa", "libother.so.1 ee"};
  candidate.records = records;
  const assay::Run run;
  const nlohmann::json document = written_of({"pin", sample_set("1", "aa"), {}, {}}, candidate, same_on_both(), &run);
  std::vector<std::string> told;
  for (const nlohmann::json& one : document.at("candidate").at("loaded")) {
    told.push_back(one.at("path").get<std::string>() + " " + one.at("build_id").get<std::string>());
  }
  EXPECT_THAT(told, ElementsAre("/2/liblib.so.0 bb", "/1/liblib.so.0 aa", "liblib.so.0 dd"));
}

TEST(CanaryReport, NoPathSaysWhoseTheCacheIs) {
  LibrarySet set = sample_set("/h/me/own", "aa");
  set.folders = {"/h/me/.cache/assay/libraries/sets/lib"};
  set.loader = "/h/me/.cache/assay/libraries/sets/lib/ld.so";
  set.files[0].path = "/h/me/.cache/assay/libraries/debian/lib_1/liblib.so.0";
  const LoadedLibrary loaded{set.files[0].path.string(), "", "aa"};
  CanaryEvidence evidence = same_on_both();
  evidence.not_as_asked = {"pin: /h/me/x.so was loaded, not " + loaded.path};
  for (Record& record : evidence.pin.records) record.repro = "assay repro 'ID' --library 'lib=/h/me/own'";
  const assay::Run run;
  const nlohmann::json document =
      written_of({"pin", set, {{loaded}}, evidence.pin.records}, {"candidate", set, {}, {}}, evidence, &run);
  EXPECT_THAT(document.dump(), Not(HasSubstr("/h/me")));
  const nlohmann::json& pin = document.at("pin");
  EXPECT_EQ(pin.at("set").at("version"), "~/own");
  EXPECT_EQ(pin.at("set").at("loader"), "cache:sets/lib/ld.so");
  EXPECT_EQ(pin.at("set").at("files")[0].at("path"), "cache:debian/lib_1/liblib.so.0");
  EXPECT_EQ(pin.at("loaded")[0].at("path"), "cache:debian/lib_1/liblib.so.0");
  EXPECT_EQ(pin.at("repro"), R"(assay repro 'ID' --library 'lib='"$HOME"'/own')");
  EXPECT_EQ(document.at("reasons")[0].at("text"), "pin: ~/x.so was loaded, not cache:debian/lib_1/liblib.so.0");

  // What promotes it has other folders.
  const ToldPaths others{"/data/libraries", "/h/you"};
  const LibrarySet read = others.read(library_set_from_json(pin.at("set")));
  EXPECT_EQ(read.files[0].path, "/data/libraries/debian/lib_1/liblib.so.0");
  EXPECT_EQ(read.folders, std::vector<fs::path>{"/data/libraries/sets/lib"});
  EXPECT_EQ(read.loader, "/data/libraries/sets/lib/ld.so");
}

TEST(ToldPaths, AreThoseOfWholeNames) {
  for (const char* other : {"/h/melanie/x", "/opt/h/me/x", "/usr/lib/libx.so.0", "a/h/me", "", "/"}) {
    EXPECT_EQ(kPaths.in_text(other), other);
    EXPECT_EQ(kPaths.in_command(other), other);
    EXPECT_EQ(kPaths.read(other), other);
  }
  EXPECT_EQ(kPaths.in_text("in /h/me, and /h/me/x"), "in ~, and ~/x");
  EXPECT_EQ(kPaths.in_text("/h/me/.cache/assay/libraries"), "cache:");
  EXPECT_EQ(kPaths.in_text("/h/me/.cache/assay/libraries-2/x"), "~/.cache/assay/libraries-2/x");
  EXPECT_EQ(ToldPaths("", "/").in_text("/h/me/x"), "/h/me/x") << "a home of '/' would be in every path";
  EXPECT_EQ(kPaths.read("cache:debian/x"), "/h/me/.cache/assay/libraries/debian/x");
  EXPECT_EQ(kPaths.read("~/x"), "/h/me/x");
}

TEST(ToldPaths, OfACommandMeanTheSameToAShell) {
  Scratch scratch;
  const fs::path home = scratch.path / "home";
  fs::create_directories(home);
  const ToldPaths paths("", home);
  const std::string words = shell_quoted((home / "it's \\ here").string()) + " " + (home / "plain").string() + " " +
                            shell_quoted("x=" + home.string()) + " 'a\' \' " + shell_quoted((home / "z").string());
  const std::string told = paths.in_command(words);
  EXPECT_THAT(told, Not(HasSubstr(home.string())));
  const auto heard = [&](const std::string& command) {
    return run_program({"sh", "-c", "printf '%s\n' " + command}, {{"HOME", home.string()}}).output;
  };
  EXPECT_EQ(heard(told), heard(words));
}

}  // namespace
}  // namespace assay
