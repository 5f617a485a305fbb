// What the judge says of cases of one kind: refused ones, products of integers too large for an oracle, every input
// of a unary function, answers that are all the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bad_module_checks.h"
#include "record/verdict.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

using bad::concluded;
using bad::details;
using bad::kManyRows;
using bad::kNaN;
using bad::kNormal;
using bad::kZeros;
using bad::module_named;

JudgeSettings settings() { return bad::settings(Device::cpu, 5); }

TEST(JudgedCases, UnsupportedIsRefusedWithAReasonAndNothingElseIsClaimed) {
  const OpRegistry ops = make_op_registry();
  JudgeClient judge(settings());
  const Record record = judge.check(judge.load(module_named("good")).at(0),
                                    ops.parse_case("reduce:kind=sum,outer=7,n=33,inner=5,dtype=f32"));
  EXPECT_EQ(record.verdict, Verdict::unsupported);
  EXPECT_NE(record.reason.find("needs kind in max"), std::string::npos) << record.reason;
  EXPECT_TRUE(record.output_hash.empty());
}

// Of a case with another argument, which sensitivity asks about.
TEST(JudgedCases, RefusingARelatedCaseThatIsClaimedBreaksTheContract) {
  JudgeClient judge(settings());
  constexpr const char* kOne = "gemm:m=9,n=7,k=5,dtype=f32";
  const Record refuses = bad::check(judge, "product_refuses_half", kOne),
               right = bad::check(judge, "product_right", kOne);
  EXPECT_EQ(refuses.verdict, Verdict::contract) << details(refuses);
  EXPECT_THAT(refuses.reason, HasSubstr("claims gemm:m=9,n=7,k=5,alpha=0.5,dtype=f32 and refuses it: not this alpha"));
  EXPECT_EQ(right.verdict, Verdict::pass) << details(right);
}

// What it is when it is planned otherwise, with one thread here, is that plan's to say.
TEST(JudgedCases, AnswersOfAnotherPlanAreHeldAgainstItsOwnContract) {
  JudgeClient judge(settings());
  const Record record =
      bad::check(judge, "plan_flushes_alone", "reduce:kind=sum,outer=7,n=2,inner=5,dtype=f32,fill=subnormal");
  EXPECT_EQ(record.verdict, Verdict::pass) << details(record);
  const auto threads = std::ranges::find(record.checks, "same-threads", &CheckResult::check);
  EXPECT_THAT(threads->detail, HasSubstr("threads=1")) << "it flushed nothing";
}

TEST(JudgedCases, WhatMayHoldThePoisonByChanceIsNotCalledUnwrittenAndNotWritten) {
  JudgeClient judge(settings());
  const Record record = bad::check(judge, "noise", kManyRows);
  EXPECT_EQ(record.verdict, Verdict::wrong) << details(record);
  const auto unwritten = std::ranges::find(record.checks, "unwritten", &CheckResult::check);
  EXPECT_EQ(unwritten->outcome, Outcome::skipped) << details(record);
  EXPECT_THAT(unwritten->detail, AllOf(HasSubstr("not known: y["), HasSubstr("or by chance, as ")));
}

// Every value of `a`, one seed after another: an op whose only output is also an input.
TEST(JudgedCases, ASweepOfAProductIsJudgedPartByPart) {
  JudgeClient judge(settings());
  const Record record = bad::check(judge, "product_right", "gemm:m=8,n=8,k=8,dtype=f32,fill=every,seeds=3");
  EXPECT_EQ(record.verdict, Verdict::pass) << details(record);
}

// What it makes of the poison in C is computed, not left over: C is written.
TEST(JudgedCases, ReadingCAtBetaZeroIsWrongAndNotUnwritten) {
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
TEST(JudgedCases, AFlippedBitOfALargeProductOfIntegersIsFoundByFreivalds) {
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
TEST(JudgedCases, AProductThatFreivaldsCannotVerifyHasItsOracle) {
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
TEST(JudgedCases, ScreensCasesOneByOne) {
  const OpRegistry ops = make_op_registry();
  JudgeClient judge(settings());
  const auto screened = [&](const char* module, const std::vector<std::string>& ids) {
    std::vector<Case> cases;
    for (const std::string& id : ids) cases.push_back(ops.parse_case(id));
    return judge.screen(judge.load(module_named(module)).at(0), cases, Verification::freivalds);
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
      screened("product_flipped_early", {small, "gemm:m=5,n=7,k=9,dtype=f32,fill=integers", small});
  EXPECT_EQ(wrong[0].verdict, Verdict::wrong);
  EXPECT_THAT(wrong[0].reason, HasSubstr("accuracy: c[1000] got "));
  EXPECT_THAT(wrong[0].reason, Not(HasSubstr("had failed")));
  EXPECT_EQ(wrong[1].verdict, Verdict::pass) << wrong[1].reason;  // too small to have that element
  EXPECT_EQ(wrong[2].verdict, Verdict::wrong);
  EXPECT_THAT(wrong[2].reason, EndsWith(", in a process in which " + small + " had failed"));

  const std::vector<Screened> traps = screened("product_traps", {"gemm:m=3,n=5,k=2000,dtype=f32,fill=sparse", small,
                                                                 "gemm:m=3,n=5,k=2000,dtype=f32,fill=sparse"});
  EXPECT_EQ(traps[0].verdict, Verdict::crashed);
  EXPECT_THAT(traps[0].reason, HasSubstr("launch: the worker"));
  EXPECT_EQ(traps[1].verdict, Verdict::pass) << traps[1].reason;
  EXPECT_EQ(traps[2].reason, traps[0].reason) << "a process of its own";
}

// first_time_only is right in the first launch of a process and in no other.
TEST(JudgedCases, ScreensEverySeedByTheOracle) {
  const OpRegistry ops = make_op_registry();
  JudgeClient judge(settings());
  const auto screened = [&](const char* module, const std::string& id, Verification by) {
    const std::vector<Case> one{ops.parse_case(id)};
    return judge.screen(judge.load(module_named(module)).at(0), one, by).at(0);
  };
  const std::string sum = "reduce:kind=max,outer=7,n=12,inner=5,dtype=f32";
  EXPECT_THAT(screened("good", sum, Verification::freivalds).unverified, Not(""));
  for (const std::string& id : {sum, sum + ",seeds=3"}) {
    const Screened right = screened("good", id, Verification::oracle);
    EXPECT_EQ(right.verdict, Verdict::pass) << right.reason;
    EXPECT_EQ(right.refused + right.unverified, "");
  }
  const Screened wrong = screened("first_time_only", sum + ",seeds=2", Verification::oracle);
  EXPECT_EQ(wrong.verdict, Verdict::wrong);
  EXPECT_THAT(wrong.reason, HasSubstr("accuracy: y["));
  EXPECT_EQ(screened("product_right", "gemm:m=3,n=2,k=600000,dtype=f32,fill=integers", Verification::oracle).unverified,
            "");
}

TEST(JudgedCases, ScreensWhetherEveryLaunchGivesTheSameBytes) {
  const OpRegistry ops = make_op_registry();
  JudgeClient judge(settings());
  const auto seen = [&](const char* module, const std::string& id) {
    const std::vector<Case> one{ops.parse_case(id)};
    return judge.screen(judge.load(module_named(module)).at(0), one, Verification::repeats).at(0);
  };
  const std::string zeros = kZeros;
  for (const std::string& id : {zeros, zeros + ",seeds=3"}) {
    const Screened same = seen("good", id);
    EXPECT_EQ(same.verdict, Verdict::pass) << same.reason;
    EXPECT_EQ(same.refused + same.unverified, "");
    for (const auto& [module, check] : {std::pair{"noise", "same-run: y["}, {"thread_dependent", "same-threads: y["}}) {
      const Screened other = seen(module, id);
      EXPECT_EQ(other.verdict, Verdict::nondeterministic) << module;
      EXPECT_THAT(other.reason, StartsWith(check));
      EXPECT_THAT(seen(module, id).reason, AllOf(StartsWith(check), HasSubstr(", in a process in which ")))
          << "nothing was lost for which that process should have ended";
    }
  }
}

TEST(JudgedCases, AnAnswerToThePreviousInputsIsToldAsOne) {
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

// A unary function over every input there is, in one part and in eight, each a chunk of what is hashed.
TEST(JudgedCases, OneWrongInputOfAllIsFoundAndNamed) {
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
TEST(JudgedCases, OneUnwrittenInputOfAllIsFound) {
  JudgeClient judge(settings());
  const Record whole =
      bad::check(judge, "gelu_one_unwritten", "bias_gelu:rows=64,cols=1024,form=erf,dtype=bf16,fill=every");
  EXPECT_EQ(whole.verdict, Verdict::memory) << details(whole);
  const Record part =
      bad::check(judge, "gelu_one_unwritten", "bias_gelu:rows=4,cols=1024,form=erf,dtype=bf16,fill=every,seeds=16");
  EXPECT_EQ(part.verdict, Verdict::memory) << details(part);
  EXPECT_THAT(part.reason, HasSubstr("was not written, 1 of 4096 elements"));
}

// The largest of thousands of numbers below 1 rounds to 1 in 8 bits: right, and it proves little.
TEST(JudgedCases, ARightAnswerThatIsAllTheSameIsMistrusted) {
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

}  // namespace
}  // namespace assay
