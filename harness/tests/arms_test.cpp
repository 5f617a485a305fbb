// Which kernels of two arms can differ. Modules are libraries of this machine, chosen for what they import.
#include "gate/arms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "gate/program.h"
#include "load/elf.h"
#include "scratch.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Of those this process has mapped, the one whose name begins so.
fs::path mapped(const std::string& name) {
  for (const std::string& file : mapped_files(0)) {
    if (fs::path(file).filename().string().starts_with(name)) return file;
  }
  throw std::runtime_error("this process has not mapped " + name);
}

const fs::path kReadsNothing = mapped("libm.so");  // mathematics
const fs::path kAnother = mapped("libgcc_s.so");
const fs::path kReads = "/proc/self/exe";  // GoogleTest looks into the environment

KernelInfo kernel(const std::string& name, const fs::path& module, const std::string& target = "cpu") {
  KernelInfo info;
  info.op = "gemm";
  info.name = name;
  info.target = target;
  info.module = module;
  return info;
}

TEST(Arms, AModuleOfTheSameBytesIsUnchanged) {
  Scratch scratch;
  fs::copy_file(kReadsNothing, scratch.path / "copy.so");
  const Pairs pairs = pair_up({kernel("k", kReadsNothing)}, {kernel("k", scratch.path / "copy.so")}, "cpu");
  EXPECT_THAT(pairs.both.at("gemm/k").unchanged, HasSubstr("the same machine code and data"));
}

TEST(Arms, AModuleOfOtherBytesIsMeasured) {
  const Pairs pairs = pair_up({kernel("k", kReadsNothing)}, {kernel("k", kAnother)}, "cpu");
  EXPECT_EQ(pairs.both.at("gemm/k").unchanged, "");
}

TEST(Arms, AModuleThatReadsAtRunTimeIsMeasuredThoughItsBytesAreTheSame) {
  EXPECT_THAT(reads_at_run_time(kReads), HasSubstr("getenv"));
  EXPECT_EQ(reads_at_run_time(kReadsNothing), "");
  EXPECT_EQ(pair_up({kernel("k", kReads)}, {kernel("k", kReads)}, "cpu").both.at("gemm/k").unchanged, "");
}

// Each by itself, unoptimized and optimized: what the compiler inlines of the library's classes differs.
TEST(Arms, AModuleThatReadsInAnyLanguagesWayIsMeasured) {
  struct Way {
    const char *compiler, *file, *code;
  };
  constexpr Way kWays[] = {
      {"c++", "k.cpp", "#include <fstream>\nint f(const char* p) { return std::ifstream(p).get(); }"},
      {"c++", "k.cpp", "#include <fstream>\nint f(const char* p) { return std::fstream(p).get(); }"},
      {"c++", "k.cpp", "#include <filesystem>\nint f(const char* p) { return std::filesystem::exists(p); }"},
      {"cc", "k.c", "#include <stdio.h>\nint f(const char* p) { return freopen(p, \"r\", stdin) != 0; }"},
      {"cc", "k.c", "#include <fcntl.h>\nint f(const char* p) { return openat(AT_FDCWD, p, O_RDONLY); }"},
      {"cc", "k.c", "#include <unistd.h>\nint f(const char* p) { return access(p, R_OK); }"},
      {"cc", "k.c", "#include <sys/stat.h>\nlong f(const char* p) { struct stat s; stat(p, &s); return s.st_size; }"},
      {"cc", "k.c", "#include <stdlib.h>\nint f(const char* p) { return system(p); }"},
      {"cc", "k.c",
       "#include <unistd.h>\n#include <sys/syscall.h>\nlong f(char* p) { return syscall(SYS_open, p, 0); }"},
      {"cc", "k.c", "#define _GNU_SOURCE\n#include <dlfcn.h>\nvoid* f(char* p) { return dlsym(RTLD_DEFAULT, p); }"}};
  Scratch scratch;
  for (const auto& [compiler, file, code] : kWays) {
    for (const char* level : {"-O0", "-O2"}) {
      write_text(scratch.path / file, code + std::string("\n"));
      const fs::path module = scratch.path / "k.so";
      const ProgramEnd end =
          run_program({compiler, level, "-fPIC", "-shared", "-o", module.string(), (scratch.path / file).string()});
      ASSERT_EQ(end.status, 0) << end.output;
      EXPECT_NE(reads_at_run_time(module), "") << code << level;
      EXPECT_EQ(pair_up({kernel("k", module)}, {kernel("k", module)}, "cpu").both.at("gemm/k").unchanged, "") << code;
    }
  }
}

TEST(Arms, AModuleThatTakesLibrariesFromBesideItselfIsNeverUnchangedElsewhere) {
  Scratch scratch;
  write_text(scratch.path / "k.c", "int f(int n) { return n + 1; }\n");
  const auto unchanged = [&](const std::string& runpath) {
    const fs::path base = scratch.path / "base", change = scratch.path / "change";
    for (const fs::path& arm : {base, change}) {
      fs::create_directories(arm);
      const ProgramEnd end = run_program({"cc", "-fPIC", "-shared", "-Wl,-rpath," + runpath, "-o",
                                          (arm / "k.so").string(), (scratch.path / "k.c").string()});
      EXPECT_EQ(end.status, 0) << end.output;
    }
    const auto between = [](const fs::path& one, const fs::path& other) {
      return !pair_up({kernel("k", one / "k.so")}, {kernel("k", other / "k.so")}, "cpu")
                  .both.at("gemm/k")
                  .unchanged.empty();
    };
    EXPECT_TRUE(between(base, base)) << runpath;
    return between(base, change);
  };
  EXPECT_TRUE(unchanged("/usr/lib/own"));
  EXPECT_FALSE(unchanged("$ORIGIN/lib"));
  EXPECT_FALSE(unchanged("${ORIGIN}"));
}

TEST(Arms, AFileThatIsNoModuleIsNeverUnchanged) {
  Scratch scratch;
  write_text(scratch.path / "no.so", "no ELF");
  const Pairs pairs = pair_up({kernel("k", scratch.path / "no.so")}, {kernel("k", scratch.path / "no.so")}, "cpu");
  EXPECT_EQ(pairs.both.at("gemm/k").unchanged, "");
}

TEST(Arms, OneBitOfDataIsAChangeAndABuildIdIsNone) {
  Scratch scratch;
  const std::string whole = content_of(kReadsNothing);
  const std::string before = image_hash_of(kReadsNothing);
  const std::string id = build_id_of(kReadsNothing);
  ASSERT_NE(id, "");
  std::string raw;  // of the note
  for (size_t i = 0; i + 1 < id.size(); i += 2) raw += static_cast<char>(std::stoi(id.substr(i, 2), nullptr, 16));
  std::string other_id = whole;
  const size_t at = other_id.find(raw);
  ASSERT_NE(at, std::string::npos);
  other_id[at] = static_cast<char>(other_id[at] ^ 1);
  write_text(scratch.path / "id.so", other_id);
  EXPECT_EQ(image_hash_of(scratch.path / "id.so"), before);
  std::string other_data = whole;
  other_data[whole.size() / 2] = static_cast<char>(other_data[whole.size() / 2] ^ 1);  // in the midst of what is loaded
  write_text(scratch.path / "data.so", other_data);
  EXPECT_NE(image_hash_of(scratch.path / "data.so"), before);
}

// Zeros have no bytes in the file: one table in the place of another is a change all the same.
TEST(Arms, TheSizeAndTheAlignmentOfZerosAreAChange) {
  Scratch scratch;
  const auto hash_with = [&](const std::string& table) {
    write_text(scratch.path / "k.c", table + "\nchar* f(long n) { return table + n; }\n");
    const ProgramEnd end = run_program(
        {"cc", "-O2", "-fPIC", "-shared", "-o", (scratch.path / "k.so").string(), (scratch.path / "k.c").string()});
    EXPECT_EQ(end.status, 0) << end.output;
    return image_hash_of(scratch.path / "k.so");
  };
  for (const std::string kind : {"static char", "static _Thread_local char"}) {
    const std::string small = hash_with(kind + " table[64];");
    EXPECT_EQ(hash_with(kind + " table[64];"), small);
    EXPECT_NE(hash_with(kind + " table[1 << 26];"), small) << kind;
    EXPECT_NE(hash_with(kind + " table[64] __attribute__((aligned(4096)));"), small) << kind;
  }
}

TEST(Arms, KernelsOfOneArmAloneAreNamedAndOtherTargetsAreNotAsked) {
  const Pairs pairs = pair_up({kernel("old", kAnother), kernel("k", kAnother), kernel("gpu", kAnother, "cuda")},
                              {kernel("new", kAnother), kernel("k", kAnother)}, "cpu");
  EXPECT_EQ(pairs.both.size(), 1u);
  EXPECT_THAT(pairs.base_alone, ElementsAre("gemm/old"));
  EXPECT_THAT(pairs.change_alone, ElementsAre("gemm/new"));
}

TEST(Arms, AFolderWithoutModulesIsNoArm) {
  Scratch scratch;
  EXPECT_THAT(message_of([&] { arm_of("base", scratch.path); }), HasSubstr("modules of the base: there are none in"));
  EXPECT_THAT(message_of([&] { arm_of("base", scratch.path / "nowhere"); }), HasSubstr("there are none in"));
  write_text(scratch.path / "k.so", "");
  EXPECT_EQ(arm_of("base", scratch.path).modules, scratch.path);
}

// A script in the place of ci/arm.
fs::path script(const Scratch& scratch, const std::string& body) {
  const fs::path file = scratch.path / "arm";
  write_text(file, "#!/bin/sh\n" + body);
  fs::permissions(file, fs::perms::owner_all);
  return file;
}

TEST(Arms, AnArmIsBuiltByTheScriptWhichSaysWhere) {
  Scratch scratch;
  const fs::path build =
      script(scratch, "arm=$3/$1-$ASSAY_VENV-$2\nmkdir -p $arm && touch $arm/k.so && echo much && echo $arm\n");
  const Arm arm = build_arm("change", build, "tree", "venv", "cpu", scratch.path / "out");
  EXPECT_EQ(arm.name, "change");
  EXPECT_EQ(arm.modules, scratch.path / "out" / "tree-venv-cpu");
}

TEST(Arms, AnArmThatCannotBeBuiltIsOneLineWithTheReason) {
  Scratch scratch;
  const fs::path build = script(scratch, "echo much; echo 'arm: the reason' >&2; exit 4\n");
  const std::string said = message_of([&] { build_arm("base", build, "t", "v", "cpu", scratch.path); });
  EXPECT_THAT(said, HasSubstr("the base cannot be built for the comparison of latencies: arm: the reason"));
  EXPECT_THAT(said, Not(HasSubstr("\n")));
}

}  // namespace
}  // namespace assay
