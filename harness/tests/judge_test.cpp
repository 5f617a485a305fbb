// The judge against modules that are bad on purpose (bad_modules/): each gets its own verdict, and no other case's
// result is lost or changed. Real processes, real faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <future>
#include <iostream>
#include <set>
#include <span>

#include "bad_cuda_rows.h"
#include "bad_module_checks.h"
#include "record/verdict.h"
#include "scratch.h"
#include "worker/process.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;

using bad::concluded;
using bad::details;
using bad::kNaN;
using bad::kNormal;
using bad::kRound;
using bad::kZeros;
using bad::module_named;
using bad::Row;

JudgeSettings settings() { return bad::settings(Device::cpu, 5); }

constexpr Row kRows[] = {
    Row{"good", Verdict::pass, ""},
    Row{"with_workspace", Verdict::pass, ""},
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
    Row{"scribble_input", Verdict::memory, "inputs"},
    Row{"allocate_without_bound", Verdict::memory, "256 MiB"},
    Row{"leak", Verdict::memory, "heap grew"},
    Row{"leak_mapped", Verdict::memory, "growth: over 18 launches"},
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

// Checks that no row has fail as the first of its verdict, and the test in which each fails.
struct Elsewhere {
  std::string_view check;
  const char *file, *test;
};
constexpr Elsewhere kFailsElsewhere[] = {
    {"sanitizer", "sanitized_test.cpp", "AFindingIsTheRecordsVerdict"},
    {"trust", "judge_test.cpp", "ARightAnswerThatIsAllTheSameIsMistrusted"},
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

// A user's processes are protected by other means than root's.
TEST(Judge, NobodysWorkerMayLookIntoJudgeOrCoordinatorEither) {
  if (::getuid() != 0) GTEST_SKIP() << "is another user already: see BadModule of look_into_others";
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr int kNobody = 65534;
    if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) ::_exit(2);
    ::prctl(PR_SET_DUMPABLE, 1);  // as a program that its user has started
    JudgeClient judge(settings());
    const Record record = bad::check(judge, "look_into_others", kNormal);
    if (record.verdict != Verdict::pass) std::cerr << details(record);
    ::_exit(record.verdict == Verdict::pass ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

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
                                           std::pair{"hole_in_table", "lacks one of create"},
                                           std::pair{"no_such_file", "no such file"}),
                         [](const auto& info) { return std::string(info.param.first); });

TEST(Judge, TwoModulesOfOneFileNameAreRefusedForTheirLibrariesWouldBeConfused) {
  const Scratch scratch;
  const std::filesystem::path first = module_named("good"), second = scratch.path / "good.so";
  std::filesystem::copy(first, second);
  JudgeClient judge(settings());
  judge.load(first);
  const std::string said = message_of([&] { judge.load(second); });
  EXPECT_THAT(said, AllOf(HasSubstr(first.string()), HasSubstr(second.string()), HasSubstr("rename one")));
  EXPECT_EQ(judge.load(first).size(), 1u) << "once more is no other";
}

TEST(Judge, PreparesInTheProcessThatTimesAndLaunchesNothing) {
  const Scratch scratch;
  const std::filesystem::path lazy = scratch.path / "load_late.so";
  std::filesystem::copy(module_named("late_1"), scratch.path / "late.so");
  std::filesystem::copy(module_named("load_late"), lazy);
  JudgeClient from(settings()), judge(settings());
  const KernelInfo kernel = from.load(lazy).at(0);
  const OpRegistry ops = make_op_registry();
  const Case c = ops.parse_case(kNormal);
  const auto has = [&](const char* file) {
    return std::ranges::any_of(judge.libraries(), [&](const auto& one) { return one.path.ends_with(file); });
  };
  judge.prepare(kernel, c);
  EXPECT_TRUE(has("load_late.so"));
  EXPECT_FALSE(has("/late.so")) << "it launched";
  EXPECT_EQ(judge.time(kernel, c, {}).failed, "");
  EXPECT_TRUE(has("/late.so"));
}

TEST(Judge, OneThatEndsSparesThoseThatOthersAreStarting) {
  const auto start_and_end = [] {
    for (int i = 0; i < 100; ++i) JudgeClient judge(settings());
  };
  auto other = std::async(std::launch::async, start_and_end);
  EXPECT_NO_THROW(start_and_end());
  EXPECT_NO_THROW(other.get());
}

TEST(Judge, WhatFailsWhenItIsPreparedIsToldWhenItIsTimed) {
  JudgeClient from(settings()), judge(settings());
  KernelInfo kernel = from.load(module_named("good")).at(0);
  kernel.module = module_named("crash_in_prepare");
  const OpRegistry ops = make_op_registry();
  const Case c = ops.parse_case(kNormal);
  EXPECT_NO_THROW(judge.prepare(kernel, c));
  EXPECT_THAT(judge.time(kernel, c, {}).failed, HasSubstr("SIGABRT"));
}

std::set<std::string> names_in(const std::string& environment) {
  std::ifstream in(environment, std::ios::binary);
  std::set<std::string> names;
  for (std::string entry; std::getline(in, entry, '\0');) names.insert(entry.substr(0, entry.find('=')));
  return names;
}

TEST(Judge, AWorkerIsNotToldByANameInItsEnvironmentThatItTimes) {
  JudgeClient judge(settings());
  const KernelInfo kernel = judge.load(module_named("good")).at(0);  // in a worker that judges
  judge.prepare(kernel, make_op_registry().parse_case(kNormal));
  std::vector<pid_t> workers = stray_processes(judge.pid(), own_children());
  ASSERT_THAT(workers, SizeIs(2));
  const auto names = [&](size_t i) { return names_in("/proc/" + std::to_string(workers[i]) + "/environ"); };
  EXPECT_THAT(names(0), IsSupersetOf({"GOMP_SPINCOUNT", "LD_LIBRARY_PATH"}));
  EXPECT_EQ(names(0), names(1));
}

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
                      Row{"timed_stray", Verdict::memory, "guards: when it is timed (first_call)"}),
    [](const auto& info) { return std::string(info.param.module); });

TEST(Judge, ALibraryThatIsReplacedDuringARunIsAnother) {
  const Scratch scratch;
  const std::filesystem::path late = scratch.path / "late.so", lazy = scratch.path / "load_late.so";
  std::filesystem::copy(module_named("load_late"), lazy);
  JudgeClient judge(settings());
  const OpRegistry ops = make_op_registry();
  const auto loaded_late = [&](const std::string& build) {
    std::filesystem::copy(module_named("late_" + build), late, std::filesystem::copy_options::overwrite_existing);
    const std::vector<std::string> all = judge.check(judge.load(lazy).at(0), ops.parse_case(kNormal)).late_libraries;
    judge.load(module_named("good"));  // ends the processes of the other
    return std::set<std::string>(all.begin(), all.end());
  };
  const std::set<std::string> one = loaded_late("1");
  EXPECT_THAT(one, ElementsAre(HasSubstr("late.so ")));
  EXPECT_EQ(loaded_late("1"), one) << "the same again";
  EXPECT_THAT(loaded_late("2"), AllOf(SizeIs(2), IsSupersetOf(one)));
}

TEST(Judge, UnsupportedIsRefusedWithAReasonAndNothingElseIsClaimed) {
  const OpRegistry ops = make_op_registry();
  JudgeClient judge(settings());
  const Record record = judge.check(judge.load(module_named("good")).at(0),
                                    ops.parse_case("reduce:kind=sum,outer=7,n=33,inner=5,dtype=f32"));
  EXPECT_EQ(record.verdict, Verdict::unsupported);
  EXPECT_NE(record.reason.find("needs kind in max"), std::string::npos) << record.reason;
  EXPECT_TRUE(record.output_hash.empty());
}

// Of a case with another argument, which sensitivity asks about.
TEST(Judge, RefusingARelatedCaseThatIsClaimedBreaksTheContract) {
  JudgeClient judge(settings());
  constexpr const char* kOne = "gemm:m=9,n=7,k=5,dtype=f32";
  const Record refuses = bad::check(judge, "product_refuses_half", kOne),
               right = bad::check(judge, "product_right", kOne);
  EXPECT_EQ(refuses.verdict, Verdict::contract) << details(refuses);
  EXPECT_THAT(refuses.reason, HasSubstr("claims gemm:m=9,n=7,k=5,alpha=0.5,dtype=f32 and refuses it: not this alpha"));
  EXPECT_EQ(right.verdict, Verdict::pass) << details(right);
}

// What it makes of the poison in C is computed, not left over: C is written.
TEST(Judge, ReadingCAtBetaZeroIsWrongAndNotUnwritten) {
  const OpRegistry ops = make_op_registry();
  JudgeClient judge(settings());
  const auto kernel = judge.load(module_named("beta_zero_reads_c")).at(0);
  const Record zero = concluded(judge.check(kernel, ops.parse_case("gemm:m=9,n=7,k=5,dtype=f32")));
  EXPECT_EQ(zero.verdict, Verdict::wrong) << details(zero);
  EXPECT_NE(zero.reason.find("accuracy"), std::string::npos) << details(zero);
  const Record one = concluded(judge.check(kernel, ops.parse_case("gemm:m=9,n=7,k=5,beta=1,dtype=f32")));
  EXPECT_EQ(one.verdict, Verdict::pass) << details(one);
}

// From 2^32 products on there is no oracle of every element, and one flipped bit is found all the same.
TEST(Judge, AFlippedBitOfALargeProductOfIntegersIsFoundByFreivalds) {
  const char* const large = "gemm:m=2048,n=2048,k=1024,dtype=f32,fill=sparse";
  const char* const small = "gemm:m=2048,n=2048,k=8,dtype=f32,fill=sparse";
  const auto accuracy = [](const Record& record) {
    for (const CheckResult& result : record.checks) {
      if (result.check == "accuracy") return result.detail;
    }
    return std::string();
  };
  JudgeClient judge(settings());
  const Record right = bad::check(judge, "product_right", large);
  EXPECT_EQ(right.verdict, Verdict::pass) << details(right);
  EXPECT_THAT(accuracy(right), HasSubstr("T0 4194304, T1 0"));
  EXPECT_THAT(accuracy(right), HasSubstr("Freivalds modulo 2^61 - 1, sums of at most 64"));
  EXPECT_EQ(right.truth_hash, "");  // no oracle was asked
  ASSERT_THAT(right.errors, SizeIs(1));
  EXPECT_EQ(right.errors[0].exact, 4194304);

  const Record wrong = bad::check(judge, "product_flipped", large);
  EXPECT_EQ(wrong.verdict, Verdict::wrong) << details(wrong);
  EXPECT_THAT(wrong.reason, HasSubstr("accuracy: c[1234567] got "));
  EXPECT_THAT(wrong.reason, HasSubstr("bound 0 (T0); 1 of 4194304 elements fail; Freivalds"));
  // A case that is not so large has its oracle, which finds the same.
  const Record by_oracle = bad::check(judge, "product_flipped", small);
  EXPECT_EQ(by_oracle.verdict, Verdict::wrong) << details(by_oracle);
  EXPECT_THAT(by_oracle.reason, HasSubstr("accuracy: c[1234567] got "));
  EXPECT_THAT(accuracy(by_oracle), Not(HasSubstr("Freivalds")));
}

// Where sums may leave the 24 bits of f32 the oracle is asked, whatever the size.
TEST(Judge, AProductThatFreivaldsCannotVerifyHasItsOracle) {
  JudgeSettings from_none = settings();
  from_none.products_verified = 0;
  JudgeClient judge(from_none), by_oracle(settings());
  for (const auto& [id, verified] : {std::pair{"gemm:m=3,n=2,k=600000,dtype=f32,fill=integers", false},
                                     {"gemm:m=9,n=7,k=5,dtype=f32,fill=integers", true},
                                     {"gemm:m=5,n=7,k=0,beta=1,dtype=f32,fill=integers", true}}) {
    const Record record = bad::check(judge, "product_right", id), other = bad::check(by_oracle, "product_right", id);
    EXPECT_EQ(record.verdict, Verdict::pass) << details(record);
    EXPECT_EQ(record.truth_hash.empty(), verified) << details(record);
    EXPECT_EQ(other.verdict, Verdict::pass) << details(other);
    EXPECT_EQ(record.errors, other.errors) << details(record);
  }
}

// What is refused and what cannot be verified is said apart from what passed; what ends a worker costs its case alone.
TEST(Judge, ScreensCasesOneByOne) {
  const OpRegistry ops = make_op_registry();
  JudgeClient judge(settings());
  const auto screened = [&](const char* module, const std::vector<std::string>& ids) {
    std::vector<Case> cases;
    for (const std::string& id : ids) cases.push_back(ops.parse_case(id));
    return judge.screen(judge.load(module_named(module)).at(0), cases);
  };
  const std::string small = "gemm:m=37,n=41,k=43,ta=t,beta=-1,pad_c=3,dtype=f32,fill=integers";
  const std::vector<Screened> right = screened("product_right", {small, "gemm:m=3,n=2,k=600000,dtype=f32,fill=integers",
                                                                 "gemm:m=9,n=7,k=5,dtype=f32,fill=uniform"});
  ASSERT_THAT(right, SizeIs(3));
  for (const Screened& one : right) EXPECT_EQ(one.verdict, Verdict::pass) << one.reason;
  EXPECT_EQ(right[0].refused + right[0].unverified, "");
  EXPECT_THAT(right[1].unverified, HasSubstr("more than is exact"));
  EXPECT_EQ(right[1].refused, "");
  EXPECT_THAT(right[2].refused, HasSubstr("fill"));
  EXPECT_EQ(right[2].unverified, "");

  const std::vector<Screened> wrong =
      screened("product_flipped_early", {small, "gemm:m=5,n=7,k=9,dtype=f32,fill=integers"});
  EXPECT_EQ(wrong[0].verdict, Verdict::wrong);
  EXPECT_THAT(wrong[0].reason, HasSubstr("accuracy: c[1000] got "));
  EXPECT_EQ(wrong[1].verdict, Verdict::pass) << wrong[1].reason;  // too small to have that element

  const std::vector<Screened> traps = screened("product_traps", {"gemm:m=3,n=5,k=2000,dtype=f32,fill=sparse", small});
  EXPECT_EQ(traps[0].verdict, Verdict::crashed);
  EXPECT_THAT(traps[0].reason, HasSubstr("launch: the worker"));
  EXPECT_EQ(traps[1].verdict, Verdict::pass) << traps[1].reason;
}

TEST(Judge, AnAnswerToThePreviousInputsIsToldAsOne) {
  JudgeClient judge(settings());
  const auto fresh = [&](const char* module, const char* case_id) {
    for (const CheckResult& result : bad::check(judge, module, case_id).checks) {
      if (result.check == "fresh") return result.outcome;
    }
    return Outcome::skipped;
  };
  EXPECT_EQ(fresh("pointer_cache", kNormal), Outcome::fail);
  EXPECT_EQ(fresh("swallow_nan", kNaN), Outcome::pass) << "wrong, and of these inputs";
}

// The largest of thousands of numbers below 1 rounds to 1 in 8 bits: right, and it proves little.
// A unary function over every input there is, in one part and in eight, each a chunk of what is hashed.
TEST(Judge, OneWrongInputOfAllIsFoundAndNamed) {
  JudgeClient judge(settings());
  constexpr const char* kWhole = "bias_gelu:rows=64,cols=1024,form=erf,dtype=bf16,fill=every";
  constexpr const char* kParts = "bias_gelu:rows=8,cols=1024,form=erf,dtype=bf16,fill=every,seeds=8";
  const Record right = bad::check(judge, "gelu_right", kWhole), in_parts = bad::check(judge, "gelu_right", kParts);
  for (const Record& r : {right, in_parts}) {
    EXPECT_EQ(r.verdict, Verdict::pass) << details(r);
    EXPECT_EQ(r.errors.at(0).elements, 65536);
    EXPECT_THAT(r.seeds, SizeIs(0));  // they are no samples of anything
  }
  EXPECT_EQ(in_parts.truth_hash, right.truth_hash);
  EXPECT_EQ(in_parts.worst_input, right.worst_input);
  EXPECT_THAT(right.worst_input, SizeIs(4));

  const Record wrong = bad::check(judge, "gelu_one_wrong", kWhole);
  EXPECT_EQ(wrong.verdict, Verdict::wrong) << details(wrong);
  EXPECT_THAT(wrong.reason, HasSubstr("x = 3fab (1.3359375), seed 1: y[16299] got"));
  EXPECT_THAT(wrong.reason, HasSubstr("1 of 65536 elements fail"));
  EXPECT_EQ(wrong.worst_input, "3fab");
  EXPECT_NE(wrong.output_hash, right.output_hash);
  const Record part = bad::check(judge, "gelu_one_wrong", kParts);
  EXPECT_EQ(part.verdict, Verdict::wrong) << details(part);
  EXPECT_THAT(part.reason, HasSubstr("x = 3fab (1.3359375), seed 2: y[8107] got"));
  EXPECT_EQ(part.worst_input, "3fab");
  EXPECT_EQ(part.errors.at(0).worst_index, 0x3fab);
  EXPECT_EQ(part.errors.at(0).failures, 1);
  EXPECT_NE(part.output_hash, in_parts.output_hash);
}

// NaN is wanted there and poison is NaN: only the two poisons tell.
TEST(Judge, OneUnwrittenInputOfAllIsFound) {
  JudgeClient judge(settings());
  const Record whole =
      bad::check(judge, "gelu_one_unwritten", "bias_gelu:rows=64,cols=1024,form=erf,dtype=bf16,fill=every");
  EXPECT_EQ(whole.verdict, Verdict::memory) << details(whole);
  const Record part =
      bad::check(judge, "gelu_one_unwritten", "bias_gelu:rows=4,cols=1024,form=erf,dtype=bf16,fill=every,seeds=16");
  EXPECT_EQ(part.verdict, Verdict::memory) << details(part);
  EXPECT_THAT(part.reason, HasSubstr("was not written, 1 of 4096 elements"));
}

TEST(Judge, ARightAnswerThatIsAllTheSameIsMistrusted) {
  JudgeClient judge(settings());
  const auto kernel = judge.load(bad::kBuild / "modules/reduce_simd.so").at(0);
  const OpRegistry ops = make_op_registry();
  const auto verdict = [&](const char* case_id) { return concluded(judge.check(kernel, ops.parse_case(case_id))); };
  const Record same = verdict("reduce:kind=max,outer=8,n=4096,inner=8,dtype=bf16,fill=uniform");
  EXPECT_EQ(same.verdict, Verdict::mistrusted) << details(same);
  EXPECT_EQ(same.reason, "trust: 64 of 64 elements of y are 1") << details(same);
  const Record varied = verdict("reduce:kind=max,outer=8,n=4096,inner=8,dtype=bf16");
  EXPECT_EQ(varied.verdict, Verdict::pass) << details(varied);
}

TEST(Judge, ACaseThatFitsAddressesButNotMemoryIsNotBegun) {
  const OpRegistry ops = make_op_registry();
  JudgeClient judge(settings());
  const auto kernel = judge.load(module_named("good")).at(0);
  try {
    // 256 GiB of input: half of what can be addressed.
    judge.check(kernel, ops.parse_case("reduce:kind=max,outer=1,n=68719476736,dtype=f32"));
    ADD_FAILURE() << "was judged";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("MiB are available"), std::string::npos) << e.what();
  }
  EXPECT_EQ(concluded(judge.check(kernel, ops.parse_case(kNormal))).verdict, Verdict::pass) << "the judge goes on";
}

TEST(Judge, OnlyAProcessIdIsTakenForItsParents) {
  EXPECT_EQ(process_id_of("4711"), 4711);
  EXPECT_EQ(process_id_of(std::to_string(kParentIsATool)), kParentIsATool);
  for (const char* none : {"", "-1", "+1", " 1", "1 ", "12x", "x", "99999999999999999999"}) {
    EXPECT_EQ(process_id_of(none), std::nullopt) << none;
  }
}

TEST(Judge, AWorkerKilledFromOutsideCostsNothing) {
  const OpRegistry ops = make_op_registry();
  JudgeClient judge(settings());
  const auto kernel = judge.load(module_named("good")).at(0);
  const Case c = ops.parse_case(kNormal);
  const Record before = concluded(judge.check(kernel, c));
  for (const pid_t worker : stray_processes(judge.pid(), {judge.pid()})) ::kill(worker, SIGKILL);
  const Record after = concluded(judge.check(kernel, c));
  EXPECT_EQ(after.verdict, Verdict::pass) << details(after);
  EXPECT_EQ(after.output_hash, before.output_hash);
}

}  // namespace
}  // namespace assay
