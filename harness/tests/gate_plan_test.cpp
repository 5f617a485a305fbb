// Filters, shards and plans.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "gate/filter.h"
#include "gate/nearest.h"
#include "gate/plan.h"
#include "gate_fakes.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> planned(const PlanRequest& request, const std::vector<BenchCase>& bench = {}) {
  const OpRegistry ops = fake_ops();
  std::vector<std::string> ids;
  for (const PlannedCase& one : make_plan(ops, fake_kernels(), bench, request).cases) ids.push_back(one.id);
  return ids;
}

std::string refusal(const std::vector<std::string>& filters) {
  try {
    planned({.filters = filters});
  } catch (const UsageError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Glob, MatchesWholeText) {
  EXPECT_TRUE(glob_matches("gemm", "gemm"));
  EXPECT_FALSE(glob_matches("gemm", "gemm_int8"));
  EXPECT_TRUE(glob_matches("gemm*", "gemm_int8"));
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("a*b*c", "a-b-b-c"));
  EXPECT_FALSE(glob_matches("a*b*c", "a-b-b-c-"));
  EXPECT_FALSE(glob_matches("", "a"));
  EXPECT_FALSE(glob_matches("a*a", "a"));
}

TEST(Filter, NothingGivenIsEverything) { EXPECT_EQ(planned({}).size(), 3u * 9u); }

TEST(Filter, OpKernelAndFields) {
  EXPECT_EQ(planned({.filters = {"gemm"}}).size(), 18u);
  EXPECT_EQ(planned({.filters = {"gemm/simd"}}).size(), 9u);
  EXPECT_EQ(planned({.filters = {"*/simd"}}).size(), 18u);
  EXPECT_EQ(planned({.filters = {"gemm/*:m=2,dtype=bf16"}}).size(), 2u);
  EXPECT_EQ(planned({.filters = {"gemm/simd:m=*,dtype=b*"}}).size(), 3u);
  EXPECT_EQ(planned({.filters = {"gemm/simd:m=02"}}).size(), 3u);
  EXPECT_EQ(planned({.filters = {"gemm/simd:alpha=1.0"}}).size(), 9u);
}

TEST(Plan, AKernelForAnotherDeviceIsCountedAndNotPlanned) {
  const OpRegistry ops = fake_ops();
  std::vector<KernelInfo> kernels = fake_kernels();
  for (KernelInfo& kernel : kernels) {
    if (kernel.name == "simd") kernel.target = "cuda";
  }
  const Plan plan = make_plan(ops, kernels, {}, {});
  EXPECT_EQ(plan.cases.size(), 9u);
  for (const PlannedCase& one : plan.cases) EXPECT_EQ(plan.kernel_of(one).target, "cpu");
  EXPECT_EQ(plan.kernels.size(), 3u);  // what there is, is still known
  EXPECT_EQ(other_device_text(plan, "cpu"),
            "2 kernels not run, target other than cpu: gemm/simd (cuda), softmax/simd (cuda)");
  EXPECT_EQ(other_device_text(make_plan(ops, fake_kernels(), {}, {}), "cpu"), "");
  EXPECT_EQ(other_device_text(make_plan(ops, kernels, {}, {.filters = {"gemm/openblas"}}), "cpu"), "");
  for (const std::string filter : {"gemm/simd", "gemm/simd:m=64,n=64,dtype=f32"}) {
    try {
      make_plan(ops, kernels, {}, {.filters = {filter}});
      ADD_FAILURE() << filter << " was planned";
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), HasSubstr("1 kernel not run, target other than cpu: gemm/simd (cuda)"));
    }
  }
}

TEST(Plan, ADeviceIsAskedItsOwnCasesTooAndEachOnce) {
  const OpRegistry ops = fake_ops();
  std::vector<KernelInfo> kernels = fake_kernels();
  const auto count = [&](Tier tier, const std::string& device) {
    for (KernelInfo& kernel : kernels) kernel.target = device;
    return make_plan(ops, kernels, {}, {.tier = tier, .device = device}).cases.size();
  };
  EXPECT_EQ(count(Tier::smoke, "cuda"), count(Tier::smoke, "cpu"));
  EXPECT_EQ(count(Tier::ci, "cuda"), count(Tier::ci, "cpu") + 3);  // one a kernel
}

TEST(Plan, EveryOpHasCasesForADeviceBeyond65535BlocksAndBeyond2To31Elements) {
  const OpRegistry ops = make_op_registry();
  for (const auto& op : ops.all()) {
    if (op->name().starts_with("blas_")) continue;  // calls of CBLAS: there are kernels on CPUs alone
    const auto has = [&op](Tier tier, const auto& is_wanted) {
      const std::vector<Case> cases = op->device_cases(tier);
      return std::any_of(cases.begin(), cases.end(), [&](const Case& c) {
        const std::vector<TensorSpec> tensors = op->tensors(c);
        return std::any_of(tensors.begin(), tensors.end(), is_wanted);
      });
    };
    const auto is_long = [](const TensorSpec& t) {
      return std::any_of(t.shape.begin(), t.shape.end(), [](int64_t length) { return length > 65535; });
    };
    const auto is_large = [](const TensorSpec& t) { return t.elements() > int64_t{1} << 31; };
    const auto reaches_far = [](const TensorSpec& t) { return t.span_elements() > int64_t{1} << 31; };
    EXPECT_TRUE(has(Tier::ci, is_long)) << op->name();
    EXPECT_TRUE(has(Tier::ci, reaches_far)) << op->name();
    EXPECT_TRUE(has(Tier::nightly, is_large)) << op->name();
    EXPECT_TRUE(op->device_cases(Tier::smoke).empty()) << op->name();
  }
}

TEST(Filter, SeveralAreTheirUnion) {
  EXPECT_EQ(planned({.filters = {"gemm/simd:m=1", "gemm/simd:n=1"}}).size(), 5u);
  EXPECT_EQ(planned({.filters = {"gemm", "gemm/simd"}}).size(), 18u);
}

TEST(Filter, AnIdIsExactlyThatCaseWhateverTheTierLists) {
  EXPECT_EQ(planned({.filters = {"gemm/simd:m=2,n=1,dtype=f32"}}),
            std::vector<std::string>{"gemm/simd:m=2,n=1,dtype=f32"});
  EXPECT_EQ(planned({.filters = {"gemm/simd:m=777,n=1,dtype=f32,seed=9"}}),
            std::vector<std::string>{"gemm/simd:m=777,n=1,dtype=f32,seed=9"});
  EXPECT_EQ(planned({.filters = {"gemm:m=777,n=1,dtype=f32"}}).size(), 2u);
  // seed=2 is in the ci tier's list as well, but the id says seed 1
  EXPECT_EQ(planned({.tier = Tier::ci, .filters = {"gemm/simd:m=2,n=1,dtype=f32"}}).size(), 1u);
  EXPECT_EQ(planned({.tier = Tier::ci, .filters = {"gemm/simd:m=2,n=1,dtype=f3*"}}).size(), 2u);
}

TEST(Filter, TyposNameTheNearest) {
  EXPECT_THAT(refusal({"gem"}), AllOf(HasSubstr("no op 'gem'"), HasSubstr("did you mean 'gemm'?")));
  EXPECT_THAT(refusal({"gemm/smid"}), AllOf(HasSubstr("no kernel 'smid'"), HasSubstr("did you mean 'simd'?")));
  EXPECT_THAT(refusal({"gemm/simd:dtyp=f32"}), AllOf(HasSubstr("no field 'dtyp'"), HasSubstr("did you mean 'dtype'?")));
  EXPECT_THAT(refusal({"gemm/simd:dtype=f23"}), HasSubstr("'f23' is not one of f32, bf16"));
  EXPECT_THAT(refusal({"gemm/simd:m=many"}), HasSubstr("not an integer"));
  EXPECT_THAT(refusal({"gemm/simd:m=1,m=2"}), HasSubstr("given twice"));
  EXPECT_THAT(refusal({"gemm_int8"}), HasSubstr("no loaded module has a kernel"));
  EXPECT_THAT(refusal({"gemm/simd:m"}), HasSubstr("not field=value"));
  EXPECT_THAT(refusal({""}), HasSubstr("not a case id"));
  EXPECT_THAT(refusal({"gemm/simd:"}), HasSubstr("'gemm/simd:': names no field; leave the colon out"));
}

TEST(Filter, MatchingNothingIsAnErrorForEachOfThem) {
  EXPECT_THAT(refusal({"gemm:m=99"}), HasSubstr("matches no case of tier smoke"));
  EXPECT_THAT(refusal({"gemm", "softmax:m=99"}), HasSubstr("'softmax:m=99' matches no case"));
}

TEST(Plan, GroupsByModule) {
  const OpRegistry ops = fake_ops();
  const Plan plan = make_plan(ops, fake_kernels(), {}, {});
  std::vector<std::string> modules;
  for (const PlannedCase& one : plan.cases) {
    const std::string module = plan.kernel_of(one).module.string();
    if (modules.empty() || modules.back() != module) modules.push_back(module);
  }
  EXPECT_EQ(modules.size(), 3u);
}

TEST(Plan, TwoKernelsOfOneNameAreRefused) {
  const OpRegistry ops = fake_ops();
  std::vector<KernelInfo> kernels = fake_kernels();
  kernels.push_back(fake_kernel("gemm", "simd"));
  kernels.back().module = "foreign.so";
  EXPECT_THROW(make_plan(ops, kernels, {}, {}), UsageError);
}

TEST(Plan, AnOpNobodyKnowsIsRefused) {
  const OpRegistry ops = fake_ops();
  EXPECT_THROW(make_plan(ops, {fake_kernel("conv", "simd")}, {}, {}), UsageError);
}

TEST(Plan, NothingToDoIsAnError) {
  const OpRegistry ops = fake_ops();
  EXPECT_THROW(make_plan(ops, {}, {}, {}), UsageError);
  EXPECT_THROW(make_plan(ops, fake_kernels(), {}, {.timing = Timing::only}), UsageError);
}

TEST(Plan, BenchCasesAreTimedAndMergedWithTheTiersOwn) {
  const OpRegistry ops = fake_ops();
  const std::vector<BenchCase> bench{{{Tier::smoke}, "new", ops.parse_case("gemm:m=64,n=1,dtype=f32")},
                                     {{Tier::smoke}, "listed", ops.parse_case("gemm:m=1,n=1,dtype=f32")},
                                     {{Tier::ci}, "elsewhere", ops.parse_case("gemm:m=65,n=1,dtype=f32")}};
  const Plan only = make_plan(ops, fake_kernels(), bench, {.timing = Timing::only});
  EXPECT_EQ(only.cases.size(), 4u);
  for (const PlannedCase& one : only.cases) EXPECT_TRUE(one.timed) << one.id;

  const Plan also = make_plan(ops, fake_kernels(), bench, {.timing = Timing::also});
  EXPECT_EQ(also.cases.size(), 27u + 2u);
  EXPECT_EQ(std::count_if(also.cases.begin(), also.cases.end(), [](const auto& one) { return one.timed; }), 4);

  const Plan none = make_plan(ops, fake_kernels(), bench, {});
  EXPECT_EQ(std::count_if(none.cases.begin(), none.cases.end(), [](const auto& one) { return one.timed; }), 0);
}

const std::vector<Lighter> kLighter{{"gemm/op*", Tier::ci, Tier::smoke, "slow"}};

Plan lighter_plan(const PlanRequest& request) {
  const OpRegistry ops = fake_ops();
  return make_plan(ops, fake_kernels(), {}, request);
}

// gemm/openblas, gemm/simd and softmax/simd; 9 cases in smoke, 18 in ci, 27 in nightly.
TEST(Lighter, AKernelIsJudgedByTheSmallerTiersCasesAndWhatIsLeftOutIsCounted) {
  const Plan plan = lighter_plan({.tier = Tier::ci, .lighter = kLighter});
  EXPECT_EQ(plan.cases.size(), 9u + 18u + 18u);
  for (const PlannedCase& one : plan.cases) {
    if (plan.kernel_of(one).name != "openblas") continue;
    EXPECT_EQ(one.c.integer("seed"), 1) << one.id;
  }
  EXPECT_THAT(left_out_lines(plan.left_out),
              ElementsAre("9 cases of gemm/openblas left out, judged by the cases of tier smoke: slow"));
}

TEST(Lighter, OtherTiersAreWhole) {
  for (const Tier tier : {Tier::smoke, Tier::nightly}) {
    const Plan plan = lighter_plan({.tier = tier, .lighter = kLighter});
    EXPECT_EQ(plan.cases.size(), planned({.tier = tier}).size());
    EXPECT_TRUE(plan.left_out.empty());
  }
  EXPECT_TRUE(lighter_plan({.tier = Tier::ci}).left_out.empty());
}

TEST(Lighter, FiltersAndShardsCountTheirOwn) {
  const Plan one = lighter_plan({.tier = Tier::ci, .filters = {"gemm:m=2"}, .lighter = kLighter});
  EXPECT_EQ(one.cases.size(), 3u + 6u);
  EXPECT_EQ(one.left_out.at(0).cases, 3);
  EXPECT_TRUE(lighter_plan({.tier = Tier::ci, .filters = {"gemm/simd"}, .lighter = kLighter}).left_out.empty());
  int64_t left_out = 0;
  for (int i = 1; i <= 4; ++i) {
    const Plan part = lighter_plan({.tier = Tier::ci, .shard = {i, 4}, .lighter = kLighter});
    for (const LeftOut& some : part.left_out) left_out += some.cases;
  }
  EXPECT_EQ(left_out, 9);
}

TEST(Lighter, ACaseGivenByItsIdIsJudged) {
  const std::string id = "gemm/openblas:m=1,n=1,dtype=f32,seed=2";
  const Plan plan = lighter_plan({.tier = Tier::ci, .filters = {id}, .lighter = kLighter});
  ASSERT_EQ(plan.cases.size(), 1u);
  EXPECT_EQ(plan.cases[0].id, id);
  EXPECT_TRUE(plan.left_out.empty());
}

TEST(Lighter, AFilterThatSelectsOnlyWhatIsLeftOutSaysSo) {
  try {
    lighter_plan({.tier = Tier::ci, .filters = {"gemm/openblas:seed=2"}, .lighter = kLighter});
    ADD_FAILURE() << "accepted";
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("matches no case of tier ci that the policy leaves"), HasSubstr("whole id")));
  }
}

TEST(Lighter, WhatIsTimedStays) {
  const OpRegistry ops = fake_ops();
  const std::vector<BenchCase> bench{{{Tier::ci}, "left", ops.parse_case("gemm:m=1,n=1,dtype=f32,seed=2")}};
  const Plan plan =
      make_plan(ops, fake_kernels(), bench,
                {.tier = Tier::ci, .timing = Timing::also, .filters = {"gemm/openblas"}, .lighter = kLighter});
  EXPECT_EQ(plan.cases.size(), 9u + 1u);
  EXPECT_EQ(plan.left_out.at(0).cases, 8);
}

TEST(Shard, PartsAreDisjointAndComplete) {
  const std::vector<std::string> all = planned({.tier = Tier::nightly});
  std::multiset<std::string> together;
  for (int i = 1; i <= 4; ++i) {
    const std::vector<std::string> part = planned({.tier = Tier::nightly, .shard = {i, 4}});
    EXPECT_LT(part.size(), all.size());
    together.insert(part.begin(), part.end());
  }
  EXPECT_EQ(together, std::multiset<std::string>(all.begin(), all.end()));
}

TEST(Shard, ReadsOnlyWhatItSays) {
  EXPECT_EQ(parse_shard("2/4").index, 2);
  EXPECT_EQ(parse_shard("2/4").count, 4);
  for (const char* bad : {"", "0/4", "5/4", "1", "1/", "/4", "1/4x", "x1/4", "-1/4", "1/0", "1/99999999999"}) {
    EXPECT_THROW(parse_shard(bad), UsageError) << bad;
  }
}

}  // namespace
}  // namespace assay
