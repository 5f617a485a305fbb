// What differs between a pin and an environment, and between the environments of two runs: each difference alone, its
// line, and what makes of it.
#include "gate/pin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gate/program.h"
#include "load/elf.h"
#include "pin_samples.h"
#include "scratch.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Pin, AnEnvironmentThatIsAsItSaysHasNoDifference) {
  for (const Pin& pin : {sample_pin(), sample_gpu_pin()}) {
    Environment environment = as_pinned(pin);
    EXPECT_THAT(differences(pin, environment), IsEmpty());
    EXPECT_THAT(unknown_to_both(pin, environment), IsEmpty());
    for (LoadedLibrary& library : environment.libraries) {
      library.path = "/elsewhere/" + fs::path(library.path).filename().string();
    }
    EXPECT_THAT(differences(pin, environment), IsEmpty()) << "where a file lies says nothing";
    environment.libraries.push_back(environment.libraries[0]);
    EXPECT_THAT(differences(pin, environment), IsEmpty()) << "the same build, twice";
  }
}

TEST(Pin, EveryFactThatIsAnotherIsOneLine) {
  const Pin pin = sample_gpu_pin();
  ASSERT_EQ(pinned_facts("cuda").size(), pin.facts.size());
  for (const PinnedFact& fact : pinned_facts("cuda")) {
    for (const std::string& value : {std::string("another"), std::string()}) {
      Environment environment = as_pinned(pin);
      if (value.empty()) {
        environment.facts.erase(std::string(fact.name));
      } else {
        environment.facts[std::string(fact.name)] = value;
      }
      EXPECT_THAT(
          differences(pin, environment),
          ElementsAre(AllOf(StartsWith(std::string(fact.name) + ": pinned " + pin.facts.at(std::string(fact.name)) +
                                       ", found " + (value.empty() ? "unknown" : value) + "; "),
                            HasSubstr(std::string(fact.remedy)), HasSubstr("'assay env pin --device cuda'"))));
    }
  }
}

// What environment_facts() reads of a machine, compared.
TEST(Pin, FactsAreThoseOfTheMachine) {
  Scratch scratch;
  const auto facts_with = [&](const std::string& microcode) {
    write_text(scratch.path / "proc/cpuinfo",
               "model name : Example CPU\ncpu family : 25\nmodel : 17\nstepping : 1\nmicrocode : " + microcode +
                   "\nflags : sse4_2 avx\n");
    return environment_facts(scratch.path);
  };
  Pin pin = sample_pin();
  for (auto& [name, value] : pin.facts) value = facts_with("0x10").at(name);
  Environment environment = as_pinned(sample_pin());
  environment.facts = facts_with("0x10");
  EXPECT_THAT(differences(pin, environment), IsEmpty());
  environment.facts = facts_with("0x11");
  EXPECT_THAT(
      differences(pin, environment),
      ElementsAre("cpu.microcode: pinned 0x10, found 0x11; use a machine with that microcode, or have a new pin "
                  "reviewed: 'assay env pin --threads 2'"));
}

TEST(Pin, ALibraryOfAnotherBuildIsADifferenceAndSoIsAnotherVersionOfOneBuild) {
  const Pin pin = sample_pin();
  Environment environment = as_pinned(pin);
  environment.libraries[0].build_id = "aa12";
  EXPECT_THAT(differences(pin, environment),
              ElementsAre("libm: pinned version 6 (build-id aa11), found version 6 (build-id aa12); install deb libc6 "
                          "2.36-9, or have a new pin reviewed: 'assay env pin --threads 2'"));
  environment = as_pinned(pin);
  environment.libraries[0].version = "7";
  EXPECT_THAT(differences(pin, environment),
              ElementsAre(StartsWith("libm: pinned version 6 (build-id aa11), found version 7 (build-id aa11); ")));
  environment = as_pinned(pin);
  environment.libraries[1] = {"/opt/libopenblasp-r0.3.30.so", "0.3.30", "bb23", {"gemm_a.so"}};
  EXPECT_THAT(differences(pin, environment),
              ElementsAre(AllOf(StartsWith("libopenblasp: pinned version 0.3.21 (build-id bb22), found version 0.3.30"),
                                HasSubstr("install that build"))));
}

// What was edited, or patched as a file, keeps its build-id.
TEST(Pin, AFileOfTheSameBuildIdWithAnotherChecksumIsADifference) {
  Pin pin = sample_pin();
  Environment environment = as_pinned(pin);
  environment.libraries[0].sha256 = pin.libraries[0].sha256;
  EXPECT_THAT(differences(pin, environment), IsEmpty());
  for (const std::string& other : {std::string(64, '3'), std::string("unknown")}) {
    environment.libraries[0].sha256 = other;
    EXPECT_THAT(differences(pin, environment),
                ElementsAre("libm: pinned sha256 " + pin.libraries[0].sha256 + ", found " + other +
                            " in /usr/lib/libm.so.6, of the same version and build-id; install deb libc6 2.36-9, or "
                            "have a new pin reviewed: 'assay env pin --threads 2'"));
  }
  environment.libraries.push_back(environment.libraries[0]);
  environment.libraries[0].sha256 = pin.libraries[0].sha256;
  EXPECT_EQ(differences(pin, environment).size(), 1u) << "one of two";
  pin.libraries[0].sha256 = "unknown";
  EXPECT_THAT(differences(pin, environment), IsEmpty());
}

TEST(Pin, ChecksumsAreReadOfFilesThatHaveNoneYet) {
  Scratch scratch;
  const std::string file = (scratch.path / "libx.so").string();
  write_text(file, "abc");
  assay::Run run;
  run.asked.device = "cpu";
  for (const char* target : {"cpu", "cuda"}) {
    run.kernels.push_back({.op = "gemm", .name = target, .target = target, .module = std::string(target) + ".so"});
  }
  run.libraries = {{file, "", "", {}},
                   {"/nowhere", "", "", {}},
                   {file, "", "", {}, "known"},
                   {file, "", "", {"cuda.so", "cpu.so"}},
                   {file, "", "", {"cuda.so"}}};
  add_checksums(run);
  const std::string of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  EXPECT_EQ(run.libraries[0].sha256, of_abc);
  EXPECT_EQ(run.libraries[1].sha256, "unknown");
  EXPECT_EQ(run.libraries[2].sha256, "known");
  EXPECT_EQ(run.libraries[3].sha256, of_abc);
  EXPECT_EQ(run.libraries[4].sha256, "") << "no module of the run's device has it";
}

TEST(Pin, AMissingLibraryIsADifferenceWhereEveryModuleWasLoaded) {
  const Pin pin = sample_pin();
  Environment environment = as_pinned(pin);
  environment.libraries.pop_back();
  EXPECT_THAT(differences(pin, environment),
              ElementsAre(StartsWith("libopenblasp: pinned version 0.3.21 (build-id bb22), found nothing: it is not")));
  environment.whole = false;
  EXPECT_THAT(differences(pin, environment), IsEmpty());
}

TEST(Pin, ALibraryBeyondThePinIsADifferenceAlways) {
  const Pin pin = sample_pin();
  for (const bool whole : {true, false}) {
    Environment environment = as_pinned(pin);
    environment.whole = whole;
    environment.libraries.push_back({"/opt/libextra.so", "", "dd44", {"gemm_a.so"}});
    EXPECT_THAT(differences(pin, environment),
                ElementsAre(StartsWith("libextra: pinned nothing: the pin does not list it, found version unknown")));
    environment.libraries.back() = {"/opt/libm.so.6", "6", "aa99", {"gemm_a.so"}};
    EXPECT_THAT(differences(pin, environment),
                ElementsAre(AllOf(StartsWith("libm: pinned nothing"), HasSubstr("aa99"))))
        << "a second build of one that is as pinned";
  }
}

TEST(Pin, WhatComesLateIsComparedOnceItIsThere) {
  const Pin pin = sample_gpu_pin();
  Environment environment = as_pinned(pin);
  environment.libraries.push_back({"/x/libcudnn_ops.so.9.14.0", "9.14.0", "code-cc33", {"gemm_a.so"}});
  EXPECT_THAT(differences(pin, environment), IsEmpty());
  environment.libraries.back().build_id = "code-cc34";
  EXPECT_THAT(differences(pin, environment),
              ElementsAre(StartsWith("libcudnn_ops: pinned version 9.14.0 (build-id code-cc33)")));
}

TEST(Pin, WhatIsUnknownOnBothSidesIsSaid) {
  Pin pin = sample_pin();
  Environment environment = as_pinned(pin);
  pin.facts["cpu.microcode"] = environment.facts["cpu.microcode"] = "unknown";
  pin.libraries[0].build_id = "unknown";
  environment.libraries[0].build_id = "code-";  // neither a build-id nor code to hash
  EXPECT_THAT(differences(pin, environment), IsEmpty());
  EXPECT_THAT(unknown_to_both(pin, environment), ElementsAre("cpu.microcode", "build-id of libm.so.6"));
  environment.facts["cpu.microcode"] = "0x10";
  EXPECT_THAT(differences(pin, environment), ElementsAre(StartsWith("cpu.microcode: pinned unknown, found 0x10")));
}

TEST(Pin, HostileTextIsOneShortLine) {
  const Pin pin = sample_pin();
  Environment environment = as_pinned(pin);
  environment.facts["cpu.model"] = "\033[31m\nassay: all is well\n";
  environment.libraries.push_back({"/" + std::string(1'000'000, '1') + "\n.so", "1\n2", "\n", {}});
  const std::vector<std::string> lines = differences(pin, environment);
  ASSERT_EQ(lines.size(), 2u);
  for (const std::string& line : lines) {
    EXPECT_LE(line.size(), 400u);
    EXPECT_EQ(line.find_first_of("\n\033"), std::string::npos);
  }
}

class Labels : public ::testing::Test {
 protected:
  PinLabel label_with(const Pin& pin) const {
    write_text(scratch.path / (pin.platform.name() + ".toml"), print_pin(pin));
    return label_of(environment, scratch.path);
  }
  static std::string refusal_of(const PinLabel& label) {
    try {
      require_pinned(label, "latency gate", false);
    } catch (const Invalid& e) {
      return e.what();
    }
    return "";
  }
  Scratch scratch;
  const Pin pin = sample_pin();
  const Environment environment = as_pinned(pin);
  const std::string file = "ci/pins/" + pin.platform.name() + ".toml";
};

TEST_F(Labels, APinnedEnvironmentMayBeAskedAnything) {
  const PinLabel label = label_with(pin);
  EXPECT_EQ(label.state, PinState::pinned);
  EXPECT_EQ(label_text(label), "pinned, as " + file + " says");
  EXPECT_EQ(unpinned_text(label), "");
  EXPECT_EQ(refusal_of(label), "");
}

TEST_F(Labels, AnEnvironmentWithoutAPinIsInvalidAndSaysSo) {
  const PinLabel label = label_of(environment, scratch.path / "nowhere");
  EXPECT_EQ(label.state, PinState::unpinned);
  EXPECT_THAT(label_text(label), "unpinned: there is no " + file);
  EXPECT_THAT(refusal_of(label), AllOf(StartsWith("latency gate: invalid here"), HasSubstr("there is no " + file),
                                       HasSubstr("'assay env pin'"), HasSubstr("--unpinned")));
  EXPECT_NO_THROW(require_pinned(label, "latency gate", true));
}

TEST_F(Labels, AnEnvironmentThatDiffersIsInvalidAndNamesInWhat) {
  Pin other = pin;
  other.facts["cpu.microcode"] = "0x9";
  other.libraries[0].build_id = "aa12";
  const PinLabel label = label_with(other);
  EXPECT_EQ(label.state, PinState::mismatched);
  EXPECT_EQ(label.differences.size(), 2u);
  EXPECT_EQ(unpinned_text(label), "differs from " + file + " in cpu.microcode, libm");
  EXPECT_THAT(label_text(label), "mismatched: " + unpinned_text(label));
  EXPECT_THAT(refusal_of(label), AllOf(HasSubstr("in cpu.microcode, libm"), HasSubstr("'assay env verify'")));
  EXPECT_NO_THROW(require_pinned(label, "latency gate", true));
}

TEST_F(Labels, WhatNobodyKnowsStandsInTheLabel) {
  Pin other = pin;
  Environment same = environment;
  other.facts["cpu.microcode"] = same.facts["cpu.microcode"] = "unknown";
  write_text(scratch.path / (pin.platform.name() + ".toml"), print_pin(other));
  EXPECT_THAT(label_text(label_of(same, scratch.path)), HasSubstr("; unknown then and now: cpu.microcode"));
}

// /X needs libinner.so.1, which needs libouter.so.2.
class MovedLibrary : public Labels {
 protected:
  void SetUp() override {
    write_text(scratch.path / (pin.platform.name() + ".toml"), print_pin(pin));
    make("libouter.so.2", "");
    make("libinner.so.1", "libouter.so.2");
    make("libmoved.so.0", "libinner.so.1");
    make("libstranger.so.0", "");
  }
  void make(const std::string& soname, const std::string& needs) {
    write_text(scratch.path / "tiny.c", "int x;\n");
    const std::string folder = scratch.path.string();
    std::vector<std::string> command{"cc", "-shared", "-fPIC", "-Wl,--build-id", "-Wl,--no-as-needed"};
    for (const std::string& word :
         {"-Wl,-soname," + soname, std::string("-o"), folder + "/" + soname, folder + "/tiny.c", "-L" + folder}) {
      command.push_back(word);
    }
    if (!needs.empty()) command.push_back("-l:" + needs);
    const ProgramEnd end = run_program(command);
    ASSERT_EQ(end.status, 0) << end.output;
  }
  LoadedLibrary loaded(const std::string& soname) const {
    return {(scratch.path / soname).string(), "", build_of(scratch.path / soname), {"gemm_a.so"}};
  }
  PinLabel label_with(std::initializer_list<const char*> sonames) const {
    Environment with = environment;
    with.libraries.pop_back();  // the pin's OpenBLAS, in whose place it comes
    for (const char* soname : sonames) with.libraries.push_back(loaded(soname));
    return label_beside(with, {scratch.path / "libmoved.so.0"}, scratch.path);
  }
};

TEST_F(MovedLibrary, IsLeftOut) {
  const PinLabel label = label_with({"libmoved.so.0"});
  EXPECT_EQ(label.state, PinState::pinned) << label_text(label);
  EXPECT_THAT(label.unknown, IsEmpty());
}

TEST_F(MovedLibrary, WhatItNeedsAndThePinDoesNotListIsUnknown) {
  const PinLabel label = label_with({"libmoved.so.0", "libinner.so.1", "libouter.so.2"});
  EXPECT_EQ(label.state, PinState::pinned) << label_text(label);
  EXPECT_THAT(label.unknown, ElementsAre(HasSubstr("libinner (version unknown (build-id "), StartsWith("libouter (")));
}

TEST_F(MovedLibrary, WhatItDoesNotNeedIsADifferenceStill) {
  EXPECT_THAT(label_with({"libmoved.so.0", "libstranger.so.0"}).differences,
              ElementsAre(StartsWith("libstranger: pinned nothing")));
}

TEST_F(MovedLibrary, AnotherBuildOfWhatThePinListsIsADifferenceThoughItNeedsIt) {
  make("libm.so.6", "");
  make("libmoved.so.0", "libm.so.6");
  EXPECT_THAT(label_with({"libmoved.so.0", "libm.so.6"}).differences,
              ElementsAre(AllOf(StartsWith("libm: pinned nothing"), HasSubstr("the pin does not list it"))));
}

Run run_of(const Environment& environment) {
  Run run;
  run.asked.device = environment.platform.device;
  run.asked.every_module = environment.whole;
  run.threads = environment.platform.threads;
  run.environment = environment.facts;
  run.environment["cpu.instruction_sets"] = environment.platform.processor;
  run.libraries = environment.libraries;
  run.kernels = {{"gemm", "a", "cpu", "gemm_a.so", "", {}, ""}, {"gemm", "b", "cuda", "gemm_b.so", "", {}, ""}};
  return run;
}

TEST(EnvironmentOf, ARunHasTheLibrariesOfItsDevicesModulesAndNoModule) {
  assay::Run run = run_of(as_pinned(sample_pin()));
  run.libraries = {{"/b/gemm_a.so", "", "1", {"gemm_a.so"}},
                   {"/b/gemm_b.so", "", "2", {"gemm_b.so"}},
                   {"/l/liba.so", "", "3", {"gemm_a.so"}},
                   {"/l/libb.so", "", "4", {"gemm_b.so"}},
                   {"/l/libboth.so", "", "5", {"gemm_b.so", "gemm_a.so"}},
                   {"/l/libtimed.so", "", "6", {}}};
  const auto paths_on = [&](const std::string& device) {
    run.asked.device = device;
    std::vector<std::string> paths;
    for (const LoadedLibrary& library : environment_of(run).libraries) paths.push_back(library.path);
    return paths;
  };
  EXPECT_THAT(paths_on("cpu"), ElementsAre("/l/liba.so", "/l/libboth.so", "/l/libtimed.so"));
  EXPECT_THAT(paths_on("cuda"), ElementsAre("/l/libb.so", "/l/libboth.so", "/l/libtimed.so"));
  EXPECT_EQ(environment_of(run).platform.name(), "unknown");
  run.environment["gpu.model"] = "NVIDIA H200";
  EXPECT_EQ(environment_of(run).platform.name(), "NVIDIA_H200");
}

TEST(TwoRuns, ChangesOfTheirEnvironmentsAreSaid) {
  const assay::Run before = run_of(as_pinned(sample_pin()));
  EXPECT_THAT(environment_changes(before, before), IsEmpty());
  assay::Run now = before;
  now.environment["cpu.governor"] = "performance";  // no part of a pin
  now.libraries.pop_back();                         // other kernels
  EXPECT_THAT(environment_changes(before, now), IsEmpty());
  now.environment["cpu.microcode"] = "0x11";
  now.libraries[0].build_id = "aa12";
  now.threads = 4;
  EXPECT_THAT(environment_changes(before, now),
              ElementsAre("threads: 2 before, 4 now", "cpu.microcode: 0x10 before, 0x11 now",
                          "libm: version 6 (build-id aa11) before, version 6 (build-id aa12) now"));
  now = before;
  now.asked.device = "cuda";
  EXPECT_THAT(environment_changes(before, now), Not(IsEmpty()));
}

// The runs of a selftest are spread over the GPUs of a machine.
TEST(TwoRuns, OnTwoGpusOfOneKindAreOfOneEnvironment) {
  assay::Run before = run_of(as_pinned(sample_pin()));
  before.asked.device = "cuda";
  before.environment["gpu.model"] = "NVIDIA H200";
  before.environment["gpu.driver"] = "580.159";
  before.environment["gpu.vbios"] = "96.00";
  before.environment["gpu.uuid"] = "GPU-0";
  assay::Run now = before;
  now.environment["gpu.uuid"] = "GPU-1";
  EXPECT_THAT(environment_changes(before, now), IsEmpty());
  for (const char* fact : {"gpu.model", "gpu.driver", "gpu.vbios"}) {
    assay::Run other = now;
    other.environment[fact] = "other";
    EXPECT_THAT(environment_changes(before, other),
                ElementsAre(std::string(fact) + ": " + before.environment[fact] + " before, other now"));
  }
}

class Late : public ::testing::Test {
 protected:
  Late() {
    // A file of this machine with a build-id or code: this program.
    file = scratch.path / "libparts-1.2.so";
    fs::copy_file("/proc/self/exe", file);
    then.libraries.push_back({file.string(), "1.2", build_of(file), {"gemm_a.so"}});
  }
  std::string refusal() const {
    return message_of([&] { loaded_late(now, then); });
  }
  Scratch scratch;
  fs::path file;
  assay::Run now = run_of(as_pinned(sample_pin()));
  assay::Run then = now;
};

TEST_F(Late, IsWhatARunLoadedBeyondItsModules) {
  const std::vector<LoadedLibrary> late = loaded_late(now, then);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].path, file.string());
  EXPECT_THAT(loaded_late(now, now), IsEmpty());
}

TEST_F(Late, OfARunOfAnotherEnvironmentIsRefused) {
  then.environment["cpu.microcode"] = "0x9";
  EXPECT_THAT(refusal(), HasSubstr("is of another environment: cpu.microcode: 0x9 before, 0x10 now"));
  then.environment["cpu.microcode"] = "0x10";
  then.libraries[0].build_id = "aa12";
  EXPECT_THAT(refusal(), HasSubstr("libm: version 6 (build-id aa12) before"));
  then.libraries.erase(then.libraries.begin());
  EXPECT_THAT(refusal(), HasSubstr("libm: not loaded before"));
}

TEST_F(Late, OfAFileThatIsAnotherByNowIsRefused) {
  write_text(file, "another");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("is of another environment: " + file.string()), HasSubstr("unknown now")));
}

TEST_F(Late, ARealFileIsPinnedWithItsChecksum) {
  const Environment environment = environment_of(now);
  Environment none = environment;
  none.libraries = {then.libraries.back()};
  const Pin pin = make_pin(none, {});
  ASSERT_EQ(pin.libraries.size(), 1u);
  EXPECT_EQ(pin.libraries[0].file, "libparts-1.2.so");
  EXPECT_EQ(pin.libraries[0].package, "unknown");
  EXPECT_EQ(pin.libraries[0].sha256.size(), 64u);
  EXPECT_FALSE(pin.libraries[0].late);
  EXPECT_THAT(differences(pin, none), IsEmpty());
  none.libraries.clear();
  EXPECT_TRUE(make_pin(none, {then.libraries.back()}).libraries.at(0).late);
  none.platform.processor = "unknown";
  EXPECT_THAT(message_of([&] { make_pin(none, {}); }), HasSubstr("cpu.instruction_sets is unknown on this machine"));
}

}  // namespace
}  // namespace assay
