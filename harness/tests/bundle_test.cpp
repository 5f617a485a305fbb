// The file that assay shrink writes: it compiles by its own instructions, finds what the bad modules of bad_modules/
// do, and finds nothing in the good one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli_fixture.h"
#include "core/op.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Case parse_case(const std::string& id) { return make_op_registry().parse_case(id); }

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}

const std::string kZeros = "reduce/bad:kind=max,outer=7,n=33,inner=5,dtype=f32,fill=zeros";
const std::string kSeveral = "reduce/bad:kind=max,outer=200,n=40,dtype=f32";

// The program of a bundle is plain, and a module that is instrumented wants its sanitizer's runtime loaded first.
#ifdef ASSAY_SANITIZED
constexpr bool kModulesArePlain = false;
#else
constexpr bool kModulesArePlain = true;
#endif
const std::string kNotPlain = "shrunk and built, not run: an instrumented module needs its sanitizer's runtime";

// A module and what the program says of it.
struct Shown {
  std::string name;
  std::string says;
  std::string id = "reduce/bad:kind=max,outer=7,n=33,inner=5,dtype=f32,offset=1";
  std::string good = "good";  // a module of whose answers the program has nothing to say
};
void PrintTo(const Shown& shown, std::ostream* out) { *out << shown.name; }

class Bundle : public Cli, public ::testing::WithParamInterface<Shown> {
 protected:
  nlohmann::json shrunk(const std::string& id, const std::string& file) {
    const ProgramEnd end = assay({"shrink", id, "--module", file, "--json", "--out", out.string()});
    EXPECT_EQ(end.status, 1) << end.output;
    return nlohmann::json::parse(end.output);
  }

  // By the line that the file itself gives.
  ProgramEnd built() {
    const std::string text = text_of(out / "repro.cpp"), mark = "// Build: ";
    const size_t begin = text.find(mark) + mark.size();
    const std::string command = text.substr(begin, text.find('\n', begin) - begin);
    EXPECT_THAT(command, HasSubstr("c++ -std=c++20 repro.cpp -ldl -o repro"));
    return run_program({"sh", "-c", "cd " + shell_quoted(out.string()) + " && " + command + " -Wall -Wextra -Werror"});
  }

  ProgramEnd run_on(const std::string& file) { return run_program({(out / "repro").string(), file}); }

  const fs::path out = folder / "shrunk";
};

TEST_P(Bundle, ShowsTheFaultAndPassesTheGoodModule) {
  const nlohmann::json told = shrunk(GetParam().id, module(GetParam().name));
  EXPECT_EQ(told.at("bundle"), out.string());
  EXPECT_EQ(told.at("not_shown"), "");
  const std::string id = told.at("kernel_id");
  EXPECT_THAT(text_of(out / "case.txt"), AllOf(::testing::StartsWith(id + "\n"), HasSubstr(" repro '" + id + "'")));
  const ProgramEnd compiled = built();
  ASSERT_EQ(compiled.status, 0) << compiled.output;
  if (!kModulesArePlain) GTEST_SKIP() << kNotPlain;
  const ProgramEnd bad = run_program({(out / "repro").string()});
  EXPECT_EQ(bad.status, 1) << bad.output;
  EXPECT_THAT(bad.output, AllOf(HasSubstr(id + "\n"), HasSubstr("violation: " + GetParam().says)));
  const ProgramEnd good = run_on(module(GetParam().good));
  EXPECT_EQ(good.status, 0) << good.output;
  EXPECT_THAT(good.output, HasSubstr("\nno violation\n"));
}

INSTANTIATE_TEST_SUITE_P(
    BadModules, Bundle,
    ::testing::Values(
        Shown{"last_unwritten", "unwritten: y[0] was not written"},
        Shown{"saturate", "accuracy: y[0] is 6, right is ", kSeveral + ",fill=shifted"},
        Shown{"swallow_nan", "accuracy: y[", "reduce/bad:kind=max,n=33,dtype=f32,fill=nan_one"},
        Shown{"read_past_end", "launch: died by signal 11: touched byte 1 beyond the end of x"},
        Shown{"write_past_end", "launch: died by signal 11: touched byte 1 beyond the end of y"},
        Shown{"write_before_start", "guards: y: byte -"}, Shown{"scribble_input", "inputs: x: byte "},
        Shown{"nondeterministic", "same-run: y[0] ", kZeros}, Shown{"first_time_only", "accuracy: y["},
        Shown{"address_dependent", "same-address: y[0] ", kZeros},
        Shown{"offset_dependent", "same-alignment: y[0] ", kZeros},
        Shown{"content_dependent", "same-content: y[0] ", kZeros},
        Shown{"thread_dependent", "same-threads: y[0] ", kZeros}, Shown{"trust_workspace", "accuracy: y["},
        Shown{"read_output", "accuracy: y["}, Shown{"exit_mid_case", "launch: the kernel ended the process"},
        Shown{"abort", "launch: died by signal 6"}, Shown{"launch_error", "launch: "},
        Shown{"drop_last", "accuracy: y[", kSeveral}, Shown{"padding_dependent", "same-padding: y[0] ", kZeros},
        Shown{"batch_dependent", "same-batch: y[0] ", kZeros}, Shown{"order_dependent", "same-order: y[0] ", kZeros},
        Shown{"zeros_dependent", "same-zeros: y[", "reduce/bad:kind=sum,outer=7,n=33,inner=5,dtype=f32",
              "sum_in_order"},
        Shown{"looks_at_output", "accuracy: y["}, Shown{"exit_zero", "launch: the kernel ended the process"},
        Shown{"pointer_cache", "accuracy: y["}, Shown{"big_workspace", "contract: asks for "},
        Shown{"silent_fallback", "fallback: gave up "},
        Shown{"wants_alignment", "launch: misaligned pointer", "reduce/bad:kind=max,outer=4,n=16,inner=16,dtype=f32"},
        Shown{"refuse_everything", "contract: claims this case and refuses it: "}),
    [](const auto& info) { return info.param.name; });

TEST_F(Bundle, ShowsThatWhatIsNotClaimedIsAccepted) {
  EXPECT_EQ(shrunk("reduce/bad:kind=max,n=7,dtype=f32", module("accept_unclaimed")).at("not_shown"), "");
  ASSERT_EQ(built().status, 0);
  if (!kModulesArePlain) GTEST_SKIP() << kNotPlain;
  const ProgramEnd end = run_on(module("accept_unclaimed"));
  EXPECT_EQ(end.status, 1) << end.output;
  EXPECT_THAT(end.output, HasSubstr("violation: contract: accepts what its contract does not claim"));
}

// What is wrong alone shrinks to a case that is alone; the file of another fault has both.
TEST_F(Bundle, ShowsWhatIsWrongOrRefusedInARelatedCallOnly) {
  ASSERT_THAT(shrunk(kZeros, module("batch_dependent")).at("kernel_id"), HasSubstr("outer="));
  ASSERT_EQ(built().status, 0);
  if (!kModulesArePlain) GTEST_SKIP() << kNotPlain;
  for (const auto& [name, says] : {std::pair{"wrong_alone", "violation: accuracy: y[0] is -12345, right is 0, alone"},
                                   {"refuse_alone", "violation: contract: claims a call alone and refuses it: not"}}) {
    const ProgramEnd end = run_on(module(name));
    EXPECT_EQ(end.status, 1) << end.output;
    EXPECT_THAT(end.output, HasSubstr(says));
  }
}

TEST_F(Bundle, OfThePlansContractAndOfWhatALaunchLeavesChangedItSaysThatItCannotShowIt) {
  for (const char* name : {"plan_takes_back", "leave_rounding", "handle_faults"}) {
    EXPECT_THAT(shrunk(kCase, module(name)).at("not_shown"), HasSubstr("'contract', which needs Assay")) << name;
    fs::remove_all(out);
  }
}

TEST_F(Bundle, OfWhatItCannotShowItSaysSo) {
  if (!kModulesArePlain) GTEST_SKIP() << "the sanitizer owns malloc: what a module keeps is not counted";
  const nlohmann::json told = shrunk(kCase, module("leak"));
  EXPECT_THAT(told.at("not_shown"), AllOf(HasSubstr("'growth', which needs Assay"), HasSubstr(told.at("repro"))));
  EXPECT_THAT(text_of(out / "repro.cpp"), HasSubstr("\n// NOT SHOWN HERE: the failure was seen by the check 'growth'"));
  ASSERT_EQ(built().status, 0);
  const ProgramEnd end = run_on(module("leak"));
  EXPECT_EQ(end.status, 0) << end.output;
  EXPECT_THAT(end.output,
              AllOf(HasSubstr("\nnote: the failure was seen by the check 'growth'"), HasSubstr("no violation")));
}

TEST_F(Bundle, WhatCannotBeAskedIsNeitherRightNorWrong) {
  shrunk(kCase, module("last_unwritten"));
  ASSERT_EQ(built().status, 0);
  if (!kModulesArePlain) GTEST_SKIP() << kNotPlain;
  for (const auto& [name, says] :
       {std::pair{"not_available", "needs a quantum computer"}, std::pair{"no_such_module", "no_such_module.so"},
        std::pair{"symbol_missing", "exports no assay_module"}, std::pair{"abi_off", "another version of assay/abi.h"},
        std::pair{"beta_zero_reads_c", "has no kernel reduce/bad"}}) {
    const ProgramEnd end = run_on(module(name));
    EXPECT_EQ(end.status, 2) << end.output;
    EXPECT_THAT(end.output, AllOf(HasSubstr("cannot be asked: "), HasSubstr(says)));
  }
}

// The kernel passes over the last of four elements or more: that one alone has to be there.
TEST_F(Bundle, KeepsOfTheInputsWhatTheFaultNeeds) {
  const nlohmann::json told = shrunk(kSeveral, module("drop_last"));
  const std::string id = told.at("kernel_id"), mark = ",support=x.";
  ASSERT_THAT(id, HasSubstr(mark));
  const int64_t n = parse_case(id).integer("n"), kept = std::stoll(id.substr(id.find(mark) + mark.size()));
  EXPECT_GE(n, 4);
  EXPECT_EQ(id.substr(id.find(mark) + mark.size()), std::to_string(kept)) << "a single one";
  EXPECT_EQ(kept % n, n - 1) << id;
  EXPECT_LE(told.at("output_elements"), 8);
  EXPECT_TRUE(told.at("finished"));
  EXPECT_EQ(assay({"repro", id, "--module", module("good")}).status, 0);
  EXPECT_EQ(assay({"repro", id, "--module", module("drop_last")}).status, 1);
}

TEST_F(Bundle, ACaseTooLargeForAFileIsToldWithoutOne) {
  const ProgramEnd end = assay({"shrink", "reduce/bad:kind=max,outer=1025,n=1024,dtype=f32", "--module",
                                module("last_unwritten"), "--seconds", "0", "--out", out.string()});
  EXPECT_EQ(end.status, 1);
  EXPECT_THAT(end.output, AllOf(HasSubstr("no file that shows it: its 1050625 elements"), HasSubstr(" repro '")));
  EXPECT_FALSE(fs::exists(out));
  const ProgramEnd wide = assay({"shrink", "reduce/bad:kind=max,outer=2,n=3,inner=2,pad=4000000,dtype=f32", "--module",
                                 module("last_unwritten"), "--seconds", "0", "--out", out.string()});
  EXPECT_THAT(wide.output, HasSubstr("no file that shows it: its tensors with their padding take "));
}

TEST_F(Bundle, AFolderMayEndWithASlash) {
  const ProgramEnd end = assay({"shrink", kCase, "--module", module("last_unwritten"), "--out", out.string() + "/"});
  EXPECT_TRUE(fs::exists(out / "repro.cpp")) << end.output;
}

TEST_F(Bundle, NothingIsOverwritten) {
  fs::create_directories(out);
  const ProgramEnd end = assay({"shrink", kCase, "--module", module("last_unwritten"), "--out", out.string()});
  EXPECT_EQ(end.status, 4);
  EXPECT_THAT(end.output, HasSubstr("is there already; choose a folder that is not"));
  EXPECT_TRUE(fs::is_empty(out));
  const ProgramEnd nowhere = assay({"shrink", kCase, "--module", module("last_unwritten"), "--out", "/proc/no/folder"});
  EXPECT_EQ(nowhere.status, 1) << "what was found is told all the same";
  EXPECT_THAT(nowhere.output, AllOf(HasSubstr("no file that shows it: --out /proc/no/folder"), HasSubstr(" repro '")));
}

}  // namespace
}  // namespace assay
