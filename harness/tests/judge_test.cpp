// The judge against modules that are bad on purpose (bad_modules/): each gets its own verdict, and no other case's
// result is lost or changed. Real processes, real faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "bad_cuda_rows.h"
#include "bad_module_checks.h"
#include "record/verdict.h"
#include "scratch.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

using bad::details;
using bad::kManyRows;
using bad::kNaN;
using bad::kNormal;
using bad::kRound;
using bad::kSum;
using bad::kZeros;
using bad::module_named;
using bad::Row;

JudgeSettings settings() { return bad::settings(Device::cpu, 5); }

constexpr Row kRows[] = {
    Row{"good", Verdict::pass, ""},
    Row{"with_workspace", Verdict::pass, ""},
    Row{"reaches_its_size", Verdict::pass, ""},
    Row{"good", Verdict::pass, "", kZeros},
    Row{"good", Verdict::pass, "", kNaN},
    Row{"garbage_on_stdout", Verdict::pass, ""},
    Row{"look_into_others", Verdict::pass, ""},
    Row{"segfault", Verdict::crashed, "SIGSEGV"},
    Row{"abort", Verdict::crashed, "SIGABRT"},
    Row{"exit_zero", Verdict::crashed, "exited with status 0"},
    Row{"exit_mid_case", Verdict::crashed, "exited with status 7"},
    Row{"launch_error", Verdict::crashed, "launch: out of luck"},
    Row{"kill_itself", Verdict::crashed, "SIGKILL"},
    Row{"crash_in_prepare", Verdict::crashed, "SIGABRT"},
    Row{"infinite_loop", Verdict::timeout, "no answer"},
    Row{"hang_in_prepare", Verdict::timeout, "no answer"},
    Row{"write_past_end", Verdict::memory, "wrote byte 1 beyond the end of y"},
    Row{"write_before_start", Verdict::memory, "guards"},
    Row{"read_past_end", Verdict::memory, "read byte 1 beyond the end of x"},
    Row{"write_past_workspace", Verdict::memory, "workspace"},
    Row{"last_unwritten", Verdict::memory, "unwritten"},
    Row{"do_nothing", Verdict::memory, "unwritten"},
    Row{"noise", Verdict::wrong, "accuracy", kManyRows},  // some of it looks as if it had been left unwritten
    Row{"scribble_input", Verdict::memory, "inputs"},
    Row{"allocate_without_bound", Verdict::memory, "256 MiB"},
    Row{"leak", Verdict::memory, "heap grew"},
    Row{"leak_mapped", Verdict::memory, "growth: over 72 launches"},
    Row{"leak_files", Verdict::memory, "open files by 18"},
    Row{"leave_process", Verdict::memory, "growth: left processes behind"},
    Row{"keep_pointer", Verdict::memory, "wrote"},
    Row{"plan_keeps_pointers", Verdict::memory, "where an earlier launch had its buffers"},
    Row{"first_time_only", Verdict::wrong, "accuracy"},
    Row{"pointer_cache", Verdict::wrong, "accuracy"},
    Row{"drop_last", Verdict::wrong, "accuracy"},
    Row{"trust_workspace", Verdict::wrong, "accuracy"},
    Row{"swallow_nan", Verdict::wrong, "accuracy", kNaN},
    Row{"ignore_input", Verdict::wrong, "accuracy"},
    Row{"wrong_alone", Verdict::wrong, "accuracy: alone, reduce:kind=max,n=33,inner=5,dtype=f32: y[0] got -12345"},
    Row{"looks_at_output", Verdict::wrong, "fresh: over the answer to other inputs: y["},
    Row{"read_output", Verdict::wrong, "accuracy"},
    Row{"nondeterministic", Verdict::nondeterministic, "same-run", kZeros},
    Row{"load_dependent", Verdict::nondeterministic, "same-load", kZeros},
    Row{"callers_dependent", Verdict::nondeterministic, "same-load: beside others who call the kernel", kZeros},
    Row{"shared_scratch", Verdict::wrong, "beside others who call the kernel"},
    Row{"one_at_a_time", Verdict::crashed, "in use"},
    Row{"interrupted", Verdict::nondeterministic, " became ", kZeros},  // same-load, or else same-crowd
    Row{"thread_dependent", Verdict::nondeterministic, "same-threads", kZeros},
    Row{"content_dependent", Verdict::nondeterministic, "same-content", kZeros},
    Row{"crowd_dependent", Verdict::nondeterministic, "same-crowd", kZeros},
    Row{"address_dependent", Verdict::nondeterministic, "same-address", kZeros},
    Row{"offset_dependent", Verdict::nondeterministic, "same-alignment", kZeros},
    Row{"process_dependent", Verdict::nondeterministic, "same-restart", kZeros},
    Row{"padding_dependent", Verdict::nondeterministic, "same-padding", kZeros},
    Row{"batch_dependent", Verdict::nondeterministic, "same-batch", kZeros},
    Row{"order_dependent", Verdict::nondeterministic, "same-order: with rows in reverse order: y", kZeros},
    Row{"zeros_dependent", Verdict::nondeterministic, "same-zeros: with zeros after the last term: y[", kSum,
        "sum_in_order"},
    Row{"frozen_answer", Verdict::wrong, "sensitivity: perturbing tensor x does not change the output"},
    Row{"nan_spreads", Verdict::wrong, "row-independence"},
    Row{"partial_key", Verdict::wrong, "row-independence: NaN in x, slice 3 of axis 0: y[15] got "},
    Row{"saturate", Verdict::wrong, "scaling"},
    Row{"wants_alignment", Verdict::crashed, "at addresses aligned as the contract asks and no better", kRound},
    Row{"refuse_everything", Verdict::contract, "contract: claims this case and refuses it: not today"},
    Row{"refuse_alone", Verdict::contract,
        "contract: claims reduce:kind=max,n=33,inner=5,dtype=f32 and refuses it: not alone"},
    Row{"plan_takes_back", Verdict::contract,
        "contract: this plan's contract takes back what the kernel's says: same-run, same-threads, same-alignment"},
    Row{"create_fails", Verdict::contract, "refuses it: the library did not start"},
    Row{"not_available", Verdict::unsupported, "not available on this machine: needs a quantum computer"},
    Row{"leave_rounding", Verdict::contract,
        "contract: launch leaves changed: flushing to zero, taking subnormals for zero, rounding"},
    Row{"prepare_rounds_up", Verdict::contract, "contract: prepare leaves changed: rounding"},
    Row{"handle_faults", Verdict::contract, "contract: launch leaves changed: who handles SIGSEGV"},
    Row{"claim_too_much", Verdict::contract, "the op does not allow this contract"},
    Row{"accept_unclaimed", Verdict::contract, "accepts what it does not claim"},
    Row{"misspelt_domain", Verdict::contract, "the domain says 'fp32', which is no dtype"},
    Row{"big_workspace", Verdict::contract, "4096 bytes of workspace"},
    Row{"silent_fallback", Verdict::fallback, "fallback: instead of avx512: no such instructions here"}};

class BadModule : public ::testing::TestWithParam<Row> {
 protected:
  static void SetUpTestSuite() { judge_ = std::make_unique<JudgeClient>(settings()); }
  static void TearDownTestSuite() { judge_.reset(); }
  static std::unique_ptr<JudgeClient> judge_;  // one for all: no module may spoil it for the next
};
std::unique_ptr<JudgeClient> BadModule::judge_;

TEST_P(BadModule, GetsItsVerdictAndTheNextKernelIsUnharmed) {
  const Row& row = GetParam();
#ifdef ASSAY_SANITIZED
  if (std::string(row.module) == "leak")
    GTEST_SKIP() << "the sanitizer owns malloc: the heap is not counted in this build";
#endif
  bad::expect_verdict(*judge_, "", row);
}

INSTANTIATE_TEST_SUITE_P(All, BadModule, ::testing::ValuesIn(kRows), [](const auto& info) {
  return std::string(info.param.module) + "_" + std::to_string(info.index);
});

class UnusableModule : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(UnusableModule, IsRefusedInOneLineAndTheJudgeGoesOn) {
  const auto& [name, reason] = GetParam();
  JudgeClient judge(settings());
  try {
    judge.load(module_named(name));
    FAIL() << "loaded";
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find(reason), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find(std::string(name) + ".so"), std::string::npos) << e.what();
  }
  EXPECT_EQ(judge.load(module_named("good")).size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(All, UnusableModule,
                         ::testing::Values(std::pair{"abi_off", "ABI version 3"},
                                           std::pair{"symbol_missing", "does not export 'assay_module'"},
                                           std::pair{"wrong_target", "is for target 'cdua'; there are cpu and cuda"},
                                           std::pair{"wrong_name", "must be those the build names"},
                                           std::pair{"crash_on_load", "SIGABRT"},
                                           std::pair{"leave_process_on_load", "processes behind"},
                                           std::pair{"hole_in_table", "lacks one of create"},
                                           std::pair{"no_such_file", "no such file"}),
                         [](const auto& info) { return std::string(info.param.first); });

class TimedModule : public ::testing::TestWithParam<Row> {};

TEST_P(TimedModule, ThatIsRightOnlyWhereItIsJudgedHasNoLatency) {
  bad::expect_verdict_when_timed(settings(), "", GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    All, TimedModule,
    ::testing::Values(Row{"good", Verdict::pass, ""},
                      Row{"timed_idle", Verdict::wrong, "accuracy: when it is timed (first_call): y[0]"},
                      Row{"timed_once", Verdict::wrong, "accuracy: when it is timed (warm): y[0]"},
                      Row{"timed_negates", Verdict::nondeterministic, "same-restart: when it is timed", kZeros},
                      Row{"timed_stray", Verdict::memory, "guards: when it is timed (first_call)"},
                      Row{"timed_leaves", Verdict::memory, "growth: left processes behind when it is timed: "},
                      Row{"timed_dies", Verdict::crashed, "launch: when it is timed: the worker died by SIGSEGV"},
                      Row{"timed_refuses", Verdict::crashed, "launch: when it is timed: launch: not when somebody"}),
    [](const auto& info) { return std::string(info.param.module); });

TEST(Judge, AFailureOfACaseBesideTheRecordsNamesThatCase) {
  JudgeClient judge(settings());
  const auto of_case = [&](const char* module) {
    for (const CheckResult& result : bad::check(judge, module, kNormal).checks) {
      if (result.outcome == Outcome::fail) return result.of_case;
    }
    return std::string("nothing failed");
  };
  EXPECT_EQ(of_case("wrong_alone"), "reduce/bad:kind=max,n=33,inner=5,dtype=f32");
  EXPECT_EQ(of_case("drop_last"), "");
}

TEST(Judge, APlansArithmeticThatMayErrMoreThanTheKernelsIsTold) {
  JudgeClient judge(settings());
  const auto told = [&](const char* module) {
    const Record record = bad::check(judge, module, kNormal);
    EXPECT_EQ(record.verdict, Verdict::pass) << details(record);
    for (const CheckResult& result : record.checks) {
      if (result.check == "contract") return result.detail;
    }
    return std::string("no such check");
  };
  EXPECT_EQ(told("plan_looser"),
            "this plan's contract may allow more error than the kernel's: depth: was n/32 + 8, now unknown; "
            "flushes_subnormals: was 0, now 1");
  EXPECT_EQ(told("good"), "");
}

// Checks that no row has fail as the first of its verdict, and the test in which each fails.
struct Elsewhere {
  std::string_view check;
  const char *file, *test;
};
constexpr Elsewhere kFailsElsewhere[] = {
    {"sanitizer", "sanitized_test.cpp", "AFindingIsTheRecordsVerdict"},
    {"trust", "judge_cases_test.cpp", "ARightAnswerThatIsAllTheSameIsMistrusted"},
    {"truth", "golden_apply_test.cpp", "AnotherTruthIsAnErrorOfTheOracle"},  // the coordinator's, as the next two
    {"golden-bits", "golden_apply_test.cpp", "ChangedBitsAreChangedWhereTheyArePromised"},
    {"statistical", "golden_apply_test.cpp", "ShiftedStatisticsAreChanged"}};

bool fails_in(std::span<const Row> rows, std::string_view check) {
  return std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
    const std::string_view reason = row.reason;
    return reason.substr(0, reason.find(':')) == check;
  });
}

// From its name to its end; empty where the file has none of that name.
std::string text_of(const Elsewhere& other) {
  const std::string all = content_of(std::string(ASSAY_SOURCE_DIR "/harness/tests/") + other.file);
  const size_t begin = all.find(", " + std::string(other.test) + ") {\n");
  return begin == all.npos ? "" : all.substr(begin, all.find("\n}\n", begin) - begin);
}

TEST(Checks, EachFailsForSomeModule) {
  for (const CheckRow& check : check_table()) {
    const auto elsewhere = std::count_if(std::begin(kFailsElsewhere), std::end(kFailsElsewhere),
                                         [&](const Elsewhere& other) { return other.check == check.check; });
    const bool has_row = fails_in(kRows, check.check) || fails_in(bad::kCudaRows, check.check);
    EXPECT_EQ(has_row, elsewhere == 0) << check.check << ": a bad module which fails it, and its row, or where";
  }
}

TEST(Checks, ThoseThatFailElsewhereAreInTheTestThatIsNamed) {
  for (const Elsewhere& other : kFailsElsewhere) {
    EXPECT_THAT(text_of(other), HasSubstr("\"" + std::string(other.check))) << other.file << " " << other.test;
  }
}

}  // namespace
}  // namespace assay
