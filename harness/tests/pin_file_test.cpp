// ci/pins/PLATFORM.toml: written and read back, and refused by file, key and remedy where it is not what was written.
#include "gate/pin_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <random>

#include "gate/base_tree.h"
#include "gate/findings.h"
#include "pin_samples.h"
#include "scratch.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PinFile : public ::testing::Test {
 protected:
  std::string refusal_of(const std::string& text) const {
    write_text(file, text);
    const std::string said = message_of([&] { read_pin(file); });
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    EXPECT_THAT(said, HasSubstr(file.string()));
    return said;
  }
  std::string refusal_with(const std::string& what, const std::string& by) const {
    std::string text = print_pin(pin);
    const size_t at = text.find(what);
    if (at == std::string::npos) throw std::runtime_error("'" + what + "' is not in the text");
    return refusal_of(text.replace(at, what.size(), by));
  }

  Scratch scratch;
  const Pin pin = sample_pin();
  const fs::path file = scratch.path / (pin.platform.name() + ".toml");
};

TEST_F(PinFile, ComesBackAsItWasWritten) {
  for (const Pin& one : {sample_pin(), sample_gpu_pin()}) {
    const fs::path path = scratch.path / (one.platform.name() + ".toml");
    write_text(path, print_pin(one));
    const Pin back = read_pin(path);
    EXPECT_EQ(back.platform.device, one.platform.device);
    EXPECT_EQ(back.platform.processor, one.platform.processor);
    EXPECT_EQ(back.platform.threads, one.platform.threads);
    EXPECT_EQ(back.facts, one.facts);
    EXPECT_EQ(back.libraries, one.libraries);
    EXPECT_EQ(print_pin(back), content_of(path)) << "the same pin is the same text";
  }
}

TEST_F(PinFile, IsFoundByWhatAMachineIsAndNotByWhatIsPinned) {
  EXPECT_FALSE(find_pin(scratch.path, pin.platform));
  EXPECT_FALSE(find_pin(scratch.path / "nowhere", pin.platform));
  write_text(file, print_pin(pin));
  EXPECT_EQ(find_pin(scratch.path, pin.platform).value().facts, pin.facts);
  PinPlatform other = pin.platform;
  other.threads = 4;
  EXPECT_FALSE(find_pin(scratch.path, other));
  other = pin.platform;
  other.processor += " amx_tile";
  EXPECT_FALSE(find_pin(scratch.path, other));
  EXPECT_EQ((PinPlatform{"cuda", "NVIDIA H200", 1}.name()), "NVIDIA_H200");
  EXPECT_EQ((PinPlatform{"cuda", "NVIDIA H200", 8}.name()), "NVIDIA_H200");
  EXPECT_EQ((PinPlatform{"cuda", "../../x", 1}.name()), "______x");
  fs::remove(file);
  fs::create_symlink("nowhere", file);
  EXPECT_THAT(message_of([&] { find_pin(scratch.path, pin.platform); }), HasSubstr("cannot read "));
}

TEST_F(PinFile, RefusesWhatNobodyWroteByFileKeyAndRemedy) {
  const auto remedy = HasSubstr("'assay env pin'");
  EXPECT_THAT(refusal_of(""), HasSubstr("layout: is missing"));
  EXPECT_THAT(refusal_of("layout = ["), HasSubstr("not TOML"));
  EXPECT_THAT(refusal_of("layout = 1\nlayout = 1\n"), HasSubstr("not TOML"));
  EXPECT_THAT(refusal_of(std::string("\xff\xfe\0x", 4)), HasSubstr("not TOML"));
  EXPECT_THAT(refusal_of("layout = 1\nx = " + std::string(100'000, '[')), HasSubstr("not TOML"));
  EXPECT_THAT(refusal_with("layout = 1", "layout = 0"), AllOf(HasSubstr("layout"), remedy));
  EXPECT_THAT(refusal_with("layout = 1", "layout = \"1\""), HasSubstr("layout: must be an integer"));
  EXPECT_THAT(refusal_with("layout = 1", "layout = 1\nsurprise = 1"), HasSubstr("surprise: is not known here"));
  EXPECT_THAT(refusal_with("device = \"cpu\"", "device = \"tpu\""), AllOf(HasSubstr("platform.device"), remedy));
  EXPECT_THAT(refusal_with("threads = 2", "threads = 0"), AllOf(HasSubstr("platform.threads"), remedy));
  EXPECT_THAT(refusal_with("threads = 2", "threads = 99999999999"), HasSubstr("platform.threads"));
  EXPECT_THAT(refusal_with("threads = 2", "threads = 2.0"), HasSubstr("platform.threads"));
  EXPECT_THAT(refusal_with("threads = 2", "threads = 3"), AllOf(HasSubstr("platform: is that of "), remedy));
  EXPECT_THAT(refusal_with("processor = \"sse4_2 avx\"", "processor = \"sse4_2\""), HasSubstr("not of this file"));
  EXPECT_THAT(refusal_with("processor = \"sse4_2 avx\"", "procesor = \"sse4_2 avx\""),
              AllOf(HasSubstr("platform.procesor: is not known here"), HasSubstr("did you mean 'processor'?")));
  EXPECT_THAT(refusal_with("\"cpu.microcode\"", "\"cpu.microcod\""), HasSubstr("facts.cpu.microcod: is not known"));
  EXPECT_THAT(refusal_with("\"cpu.microcode\" = \"0x10\"\n", ""), HasSubstr("facts.cpu.microcode: is missing"));
  EXPECT_THAT(refusal_with("\"0x10\"", "16"), HasSubstr("facts.cpu.microcode: must be a text"));
  EXPECT_THAT(refusal_with("\"0x10\"", "\"\""), HasSubstr("facts.cpu.microcode"));
  EXPECT_THAT(refusal_with("\"0x10\"", "\"0x\\u001b[31m\""), HasSubstr("control characters"));
  EXPECT_THAT(refusal_with("\"0x10\"", "\"\"\"0x\n10\"\"\""), HasSubstr("control characters"));
  EXPECT_THAT(refusal_with("late = false", "late = 0"), HasSubstr("library[0].late: must be true or false"));
  EXPECT_THAT(refusal_with("late = false\n", ""), HasSubstr("library[0].late: is missing"));
  EXPECT_THAT(refusal_with("late = false", "lates = false"), HasSubstr("library[0].lates: is not known here"));
  EXPECT_THAT(refusal_with("\"libm.so.6\"", "\"/lib/libm.so.6\""), AllOf(HasSubstr("library[0].file"), remedy));
  EXPECT_THAT(refusal_with("\"aa11\"", "\"AA11\""), AllOf(HasSubstr("library[0].build_id"), remedy));
  EXPECT_THAT(refusal_with("\"aa11\"", "\"code-\""), HasSubstr("library[0].build_id"));
  EXPECT_THAT(refusal_with(std::string(64, '1'), std::string(63, '1')),
              AllOf(HasSubstr("sha256"), HasSubstr("64 of them"), remedy));
  EXPECT_THAT(refusal_with("[[library]]", "[library]"), HasSubstr("library"));
  const std::string text = print_pin(pin);
  EXPECT_THAT(refusal_of(text.substr(0, text.find("[[library]]"))), AllOf(HasSubstr("library: there is none"), remedy));
  EXPECT_THAT(refusal_of(text + "\n" + text.substr(text.find("[[library]]"))),
              AllOf(HasSubstr("'libm.so.6' of that build-id is listed twice"), remedy));
}

TEST_F(PinFile, ANewerLayoutIsSaidAsThatWhateverElseItHolds) {
  EXPECT_THAT(refusal_with("layout = 1", "layout = 2\nfuture = true"),
              AllOf(HasSubstr("layout: is 2, and this assay reads 1"), HasSubstr("use a newer assay")));
}

TEST_F(PinFile, AGpuIsPinnedWhateverTheThreads) {
  const Pin gpu = sample_gpu_pin();
  const fs::path path = scratch.path / (gpu.platform.name() + ".toml");
  std::string text = print_pin(gpu);
  EXPECT_EQ(text.find("threads"), std::string::npos);
  text.insert(text.find("processor ="), "threads = 8\n");
  write_text(path, text);
  EXPECT_THAT(message_of([&] { read_pin(path); }), HasSubstr("platform.threads: a GPU is pinned whatever they are"));
}

TEST_F(PinFile, WhatCouldNotBeReadBackIsNotWritten) {
  Pin damaged = pin;
  damaged.libraries[0].build_id = "not hexadecimal";
  EXPECT_THAT(message_of([&] { print_pin(damaged); }), HasSubstr("library[0].build_id"));
  damaged = pin;
  damaged.facts["cpu.model"] = "two\nlines";
  EXPECT_THAT(message_of([&] { print_pin(damaged); }), HasSubstr("control characters"));
  damaged = pin;
  damaged.libraries.clear();
  EXPECT_THAT(message_of([&] { print_pin(damaged); }), HasSubstr("library: there is none"));
}

// TOML's own quoting: whatever a fact says stays that fact's value.
TEST_F(PinFile, AValueCannotBecomeAKey) {
  Pin quoting = pin;
  quoting.facts["cpu.model"] = "x\" [[library]] file = \"y' \\u0041 # \xC3\xA9";
  write_text(file, print_pin(quoting));
  EXPECT_EQ(read_pin(file).facts, quoting.facts);
  EXPECT_EQ(read_pin(file).libraries, quoting.libraries);
}

TEST_F(PinFile, DamagedFilesAreReadOrRefusedAndNothingElse) {
  const uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 bits(seed);
  const std::string text = print_pin(pin);
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string damaged = text;
    for (uint64_t n = bits() % 4 + 1; n-- > 0;) damaged[bits() % damaged.size()] = static_cast<char>(bits());
    write_text(file, damaged);
    try {
      read_pin(file);
    } catch (const UsageError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 300);
}

TEST(CheckedInPins, AreRead) {
  int read = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(ASSAY_SOURCE_DIR) / "ci" / "pins")) {
    if (entry.path().extension() != ".toml") continue;
    EXPECT_EQ(print_pin(read_pin(entry.path())), content_of(entry.path())) << entry.path() << " was edited by hand";
    ++read;
  }
  EXPECT_GT(read, 0);
}

TEST(CheckedInPins, AnEditOfOneIsAFinding) {
  Scratch scratch;
  const fs::path base = scratch.path / "base", change = scratch.path / "change";
  const Pin pin = sample_pin();
  Pin edited = pin;
  edited.facts["cpu.microcode"] = "0x11";
  const std::string file = "ci/pins/" + pin.platform.name() + ".toml";
  write_text(base / file, print_pin(pin));
  write_text(change / file, print_pin(edited));
  write_text(change / "ci/pins/NVIDIA_H200.toml", print_pin(sample_gpu_pin()));
  std::vector<std::string> texts;
  for (const Finding& finding : edited_files(base, change)) {
    EXPECT_EQ(finding.kind, "pin");
    texts.push_back(finding.text);
  }
  EXPECT_THAT(texts, ElementsAre("ci/pins/NVIDIA_H200.toml is new", HasSubstr(file + " is edited: 1 line added")));
}

}  // namespace
}  // namespace assay
