// Pins through the command: env pin, env verify, and what a pin makes of runs and goldens. Real judge and workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli_fixture.h"
#include "gate/pin.h"
#include "record/json_text.h"
#include "record/run_folder.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Pins : public Cli {
 protected:
  // A build's folder of modules, with one of them.
  std::string modules_with(const std::string& name) {
    const fs::path modules = folder / ("modules_" + name);
    fs::create_directories(modules);
    fs::copy_file(module(name), modules / (name + ".so"), fs::copy_options::skip_existing);
    return modules.string();
  }
  ProgramEnd env(const std::string& what, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"env", what, "--root", root, "--modules", modules};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return assay(arguments);
  }
  ProgramEnd judge(const std::string& name, std::vector<std::string> more = {}) {
    run = (folder / name).string();
    std::vector<std::string> arguments{"check", "--root", root, "--modules", modules, "--filter", kCase, "--out", run};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return assay(arguments);
  }
  ProgramEnd approve(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"golden", "update", "--root", root, "--run", run};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return assay(arguments);
  }
  // The one pin there is.
  fs::path pin_file() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(root + "/ci/pins")) files.push_back(entry.path());
    if (files.size() != 1) throw std::runtime_error(std::to_string(files.size()) + " pins");
    return files[0];
  }
  void edit_pin(const std::string& what, const std::string& by) const {
    std::string text = content_of(pin_file());
    const size_t at = text.find(what);
    if (at == std::string::npos) throw std::runtime_error("'" + what + "' is not in the pin");
    write_text(pin_file(), text.replace(at, what.size(), by));
  }
  // As if it had been pinned on a machine with another compiler: true wherever this runs.
  void pin_another_compiler() const { edit_pin("\"build.compiler\" = \"", "\"build.compiler\" = \"other "); }

  std::string root = tree();
  std::string modules = modules_with("good");
};

TEST_F(Pins, WhatWasPinnedIsVerified) {
  const ProgramEnd none = env("verify");
  EXPECT_EQ(none.status, 3) << none.output;
  EXPECT_THAT(none.output,
              AllOf(HasSubstr("unpinned: there is no ci/pins/"), HasSubstr(kAssay + " env pin --root " + root + "'")));
  EXPECT_EQ(env("verify", {"--unpinned"}).status, 0);

  const ProgramEnd written = env("pin");
  ASSERT_EQ(written.status, 0) << written.output;
  EXPECT_THAT(written.output, HasSubstr(pin_file().string() + ": 5 facts, "));
  const ProgramEnd same = env("verify");
  EXPECT_EQ(same.status, 0) << same.output;
  EXPECT_THAT(same.output, HasSubstr("pinned, as ci/pins/" + pin_file().filename().string()));

  const Pin pin = read_pin(pin_file());
  const auto is_libc = [](const PinnedLibrary& library) { return library.file == "libc.so.6"; };
  EXPECT_EQ(std::ranges::count_if(pin.libraries, is_libc), 1);
  for (const PinnedLibrary& library : pin.libraries) {
    EXPECT_NE(library.file, "good.so") << "what is under test is not pinned";
    EXPECT_NE(library.build_id, "unknown") << library.file;
    EXPECT_EQ(library.sha256.size(), 64u) << library.file;
    EXPECT_FALSE(library.late);
  }
}

TEST_F(Pins, EachDifferenceIsOneLineAndExit3) {
  ASSERT_EQ(env("pin").status, 0);
  pin_another_compiler();
  edit_pin("file = \"libm.so.6\"", "file = \"libelsewhere-1.2.so\"");
  const ProgramEnd end = env("verify");
  EXPECT_EQ(end.status, 3) << end.output;
  EXPECT_THAT(end.output,
              AllOf(HasSubstr("in build.compiler, libelsewhere, libm\n"), HasSubstr("  build.compiler: pinned other "),
                    HasSubstr("  libelsewhere: pinned version"), HasSubstr("found nothing: it is not loaded; "),
                    HasSubstr("  libm: pinned nothing: the pin does not list it, found version")));
  EXPECT_EQ(std::count(end.output.begin(), end.output.end(), '\n'), 4) << end.output;
  const ProgramEnd told = env("verify", {"--json"});
  EXPECT_EQ(told.status, 3);
  const nlohmann::json document = parse_json(told.output);
  EXPECT_EQ(document.at("state"), "mismatched");
  EXPECT_EQ(document.at("platform"), pin_file().stem().string());
  EXPECT_EQ(document.at("differences").size(), 3u);
  EXPECT_EQ(document.at("exit_code"), 3);
  const ProgramEnd allowed = env("verify", {"--json", "--unpinned"});
  EXPECT_EQ(allowed.status, 0);
  EXPECT_EQ(parse_json(allowed.output).at("state"), "mismatched");

  const ProgramEnd anew = env("pin");
  EXPECT_THAT(anew.output, HasSubstr("build.compiler: pinned other ")) << "what the new pin changes";
  EXPECT_EQ(env("verify").status, 0);
}

// Which the pin's build-id does not tell.
TEST_F(Pins, AFileThatWasEditedIsADifference) {
  ASSERT_EQ(env("pin").status, 0);
  const Pin pin = read_pin(pin_file());
  const auto libm = std::ranges::find(pin.libraries, "libm.so.6", &PinnedLibrary::file);
  ASSERT_NE(libm, pin.libraries.end());
  edit_pin(libm->sha256, std::string(64, '0'));
  const ProgramEnd end = env("verify");
  EXPECT_EQ(end.status, 3) << end.output;
  EXPECT_THAT(end.output, AllOf(HasSubstr("  libm: pinned sha256 " + std::string(64, '0') + ", found " + libm->sha256),
                                HasSubstr("libm.so.6, of the same version and build-id; ")));
  EXPECT_EQ(judge("run").status, 0);
  const assay::Run run_then = read_run(run);
  EXPECT_EQ(run_then.pin.state, PinState::mismatched);
  EXPECT_THAT(approve().output, HasSubstr("libm")) << "a run keeps what it had loaded";
}

TEST_F(Pins, BadInputIsOneLineAndExit4) {
  ASSERT_EQ(env("pin").status, 0);
  const std::string good = content_of(pin_file());
  const auto expect_refused = [](const ProgramEnd& end, const std::string& says) {
    EXPECT_EQ(end.status, 4) << end.output;
    EXPECT_EQ(std::count(end.output.begin(), end.output.end(), '\n'), 1) << end.output;
    EXPECT_THAT(end.output, HasSubstr(says));
  };
  edit_pin("layout = 1", "layout = 7");
  expect_refused(env("verify"), pin_file().string() + ": layout: is 7, and this assay reads 1");
  expect_refused(judge("never"), "layout");
  EXPECT_FALSE(fs::exists(run));
  write_text(pin_file(), good + "[[library]]\n");
  expect_refused(env("verify"), "].file: is missing");
  write_text(pin_file(), good);
  expect_refused(env("verify", {"--surprise"}), "unknown flag --surprise");
  expect_refused(assay({"env", "verfy"}), "did you mean 'verify'?");
  expect_refused(assay({"env", "pin", "--root", root, "--module", module("good")}), "leave it out");
  expect_refused(env("pin", {"--run", (folder / "nowhere").string()}), "run.json");
  expect_refused(env("pin", {"--out", "/proc/no/pin.toml"}), "/proc/no/pin.toml");
  EXPECT_EQ(content_of(pin_file()), good);
}

TEST_F(Pins, NobodyPinsInCi) {
  const ProgramEnd end = run_program({kAssay, "env", "pin", "--root", root, "--modules", modules}, {{"CI", "true"}});
  EXPECT_EQ(end.status, 4);
  EXPECT_THAT(end.output, HasSubstr("CI is set"));
  EXPECT_FALSE(fs::exists(root + "/ci/pins"));
  EXPECT_EQ(env("pin", {"--out", (folder / "elsewhere" / "pin.toml").string()}).status, 0);
  EXPECT_TRUE(fs::exists(folder / "elsewhere" / "pin.toml"));
  EXPECT_FALSE(fs::exists(root + "/ci/pins"));
}

TEST_F(Pins, AModuleThatCannotBeUsedIsNotLeftOutOfAPin) {
  write_text(modules + "/text.so", "no module");
  for (const char* what : {"pin", "verify"}) {
    const ProgramEnd end = env(what);
    EXPECT_EQ(end.status, 4) << end.output;
    EXPECT_THAT(end.output, HasSubstr("text.so"));
  }
  EXPECT_FALSE(fs::exists(root + "/ci/pins"));
}

TEST_F(Pins, CorrectnessIsJudgedAnywhereAndLabelled) {
  const auto label_of_run = [&](const std::string& name) {
    const ProgramEnd end = judge(name);
    EXPECT_EQ(end.status, 0) << end.output;
    const PinLabel label = read_run(run).pin;
    EXPECT_THAT(end.output, HasSubstr("\nenvironment: " + label_text(label) + "\n"));
    return label;
  };
  EXPECT_EQ(label_of_run("unpinned").state, PinState::unpinned);
  ASSERT_EQ(env("pin").status, 0);
  EXPECT_EQ(label_of_run("pinned").state, PinState::pinned);
  pin_another_compiler();
  const PinLabel label = label_of_run("mismatched");
  EXPECT_EQ(label.state, PinState::mismatched);
  EXPECT_THAT(label.differences, ElementsAre(HasSubstr("build.compiler: pinned other ")));
  const nlohmann::json told = parse_json(judge("json", {"--json"}).output);
  EXPECT_EQ(told.at("pin").at("state"), "mismatched");
}

TEST_F(Pins, AChangeIsJudgedByThePinOfItsBase) {
  ASSERT_EQ(env("pin").status, 0);
  const std::string base = root + "-base";
  fs::copy(root, base, fs::copy_options::recursive);
  pin_another_compiler();
  EXPECT_EQ(env("verify").status, 3);
  EXPECT_EQ(env("verify", {"--base", base}).status, 0);
  EXPECT_EQ(env("verify", {"--base", base, "--approve-findings"}).status, 3);
  const auto gate = [&](const std::string& name, std::vector<std::string> more) {
    run = (folder / name).string();
    std::vector<std::string> arguments{"gate", "--no-report", "--module", module("good"), "--filter", kCase, "--root",
                                       root,   "--base",      base,       "--no-latency", "--out",    run};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return assay(arguments);
  };
  const ProgramEnd judged = gate("judged", {});
  EXPECT_EQ(judged.status, 2) << judged.output;
  EXPECT_THAT(judged.output, HasSubstr("pin: ci/pins/" + pin_file().filename().string() + " is edited: 1 line added"));
  EXPECT_EQ(read_run(run).pin.state, PinState::pinned);
  gate("approved", {"--approve-findings"});
  EXPECT_EQ(read_run(run).pin.state, PinState::mismatched);
}

TEST_F(Pins, ObservedGoldensOfAnUnpinnedRunAreInvalidOrMarked) {
  ASSERT_EQ(judge("first").status, 0);
  const fs::path file = fs::path(root) / "golden" / "observed" / read_run(run).kernels.at(0).platform / "reduce.txt";
  fs::remove(file);  // of a platform that this tree has goldens of
  const ProgramEnd refused = approve();
  EXPECT_EQ(refused.status, 3) << refused.output;
  EXPECT_THAT(refused.output,
              AllOf(HasSubstr("golden update: invalid here, the environment is unpinned"), HasSubstr("--unpinned")));
  EXPECT_FALSE(fs::exists(file));

  ASSERT_EQ(approve({"--unpinned"}).status, 0);
  EXPECT_THAT(content_of(file), HasSubstr("\n# unpinned there is no ci/pins/"));
  EXPECT_EQ(judge("marked").status, 0);
  const std::vector<CheckResult> checks = read_records(run).at(0).checks;
  const auto bits = std::ranges::find(checks, "golden-bits", &CheckResult::check);
  ASSERT_NE(bits, checks.end());
  EXPECT_EQ(bits->outcome, Outcome::pass) << "the mark is for reviewers";

  ASSERT_EQ(env("pin").status, 0);
  EXPECT_EQ(approve().status, 0) << "it counts what the pin says now";
  EXPECT_THAT(content_of(file), Not(HasSubstr("# unpinned"))) << "every line is of a run that was pinned";
  pin_another_compiler();
  EXPECT_EQ(approve().status, 3);
  const ProgramEnd shown = assay({"golden", "verify", "--root", root, "--run", run});
  EXPECT_EQ(shown.status, 0) << shown.output;
  EXPECT_THAT(shown.output, HasSubstr("environment of the run: mismatched: differs from ci/pins/"));
}

// Known only after a launch: another build of it, or one nobody pinned, makes the environment another.
TEST_F(Pins, WhatIsLoadedLateIsPinnedFromARun) {
  modules = modules_with("load_late");
  const fs::path late = folder / "own" / "late.so", lazy = folder / "own" / "load_late.so";
  fs::create_directories(lazy.parent_path());
  fs::copy(module("load_late"), lazy);
  const auto with_build = [&](const std::string& build) {
    fs::copy(module("late_" + build), late, fs::copy_options::overwrite_existing);
  };
  const auto judged = [&](const std::string& name) {
    run = (folder / name).string();
    const ProgramEnd end = assay({"check", "--module", lazy, "--filter", kCase, "--root", root, "--out", run});
    EXPECT_EQ(end.status, 0) << end.output;
    return read_run(run).pin;
  };
  with_build("1");
  ASSERT_EQ(env("pin").status, 0);
  EXPECT_THAT(judged("beyond").differences, ElementsAre(HasSubstr("late: pinned nothing: the pin does not list it")));
  const std::string beyond = run;
  const ProgramEnd written = env("pin", {"--run", beyond});
  ASSERT_EQ(written.status, 0) << written.output;
  EXPECT_THAT(written.output, HasSubstr("libraries, 1 of them loaded late"));
  EXPECT_EQ(env("verify").status, 0) << "it is not missing before a launch";
  EXPECT_EQ(judged("pinned").state, PinState::pinned);
  with_build("2");
  EXPECT_THAT(judged("another").differences, ElementsAre(HasSubstr("late: pinned version unknown (build-id ")));
  const ProgramEnd old_run = env("pin", {"--run", beyond});
  EXPECT_EQ(old_run.status, 4) << old_run.output;
  EXPECT_THAT(old_run.output, AllOf(HasSubstr("env pin --run " + beyond), HasSubstr(late.string()), HasSubstr(" now")));
}

TEST_F(Pins, APinIsNotTakenFromARunThatIsNotFinishedOrWasElsewhere) {
  ASSERT_EQ(judge("run").status, 0);
  assay::Run told = read_run(run);
  told.environment["os.kernel"] = "1.0";
  RunFolder::resume(run).write_run(told);
  EXPECT_THAT(env("pin", {"--run", run}).output, HasSubstr("is of another environment: os.kernel: 1.0 before, "));
  told.exit_code.reset();
  RunFolder::resume(run).write_run(told);
  const ProgramEnd end = env("pin", {"--run", run});
  EXPECT_EQ(end.status, 4);
  EXPECT_THAT(end.output, HasSubstr("is not finished"));
  EXPECT_FALSE(fs::exists(root + "/ci/pins"));
}

TEST_F(Pins, ARunDoesNotGoOnInAnotherEnvironment) {
  ASSERT_EQ(judge("run").status, 0);
  assay::Run told = read_run(run);
  told.exit_code.reset();
  told.finished.clear();
  told.environment["os.kernel"] = "1.0";
  RunFolder::resume(run).write_run(told);
  const ProgramEnd end = assay({"check", "--resume", run});
  EXPECT_EQ(end.status, 4) << end.output;
  EXPECT_THAT(end.output, HasSubstr("--resume: the environment is another: os.kernel: 1.0 before, "));
}

// What was approved is known by its platform alone, so that what grew is said with how this environment differs.
TEST_F(Pins, GrowthIsSaidWithTheEnvironmentItWasSeenIn) {
  modules = modules_with("with_workspace");
  ASSERT_EQ(env("pin").status, 0);
  const auto gate = [&](const std::string& name) {
    run = (folder / name).string();
    return assay({"gate", "--no-report", "--modules", modules, "--filter", kCase, "--root", root, "--out", run});
  };
  ASSERT_EQ(gate("first").status, 0);
  ASSERT_EQ(approve().status, 0);
  const fs::path file = fs::path(root) / "golden" / "observed" / read_run(run).kernels.at(0).platform / "reduce.txt";
  std::string text = content_of(file);
  const size_t at = text.find("workspace=64", text.find("\n" + kCase));
  ASSERT_NE(at, std::string::npos) << text;
  write_text(file, text.replace(at, 12, "workspace=32"));
  EXPECT_THAT(gate("pinned").output, AllOf(HasSubstr("grew, 32 -> 64"), Not(HasSubstr("is not pinned"))));
  pin_another_compiler();
  EXPECT_THAT(gate("mismatched").output, HasSubstr("the environment is not pinned: differs from ci/pins/" +
                                                   pin_file().filename().string() + " in build.compiler"));
}

}  // namespace
}  // namespace assay
