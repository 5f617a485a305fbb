// Sweeps: what is drawn, and what a sweep makes of the judge's answers.
#include "gate/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/matrix_product.h"
#include "gate_fakes.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const OpRegistry& registry() {
  static const OpRegistry kRegistry = make_op_registry();
  return kRegistry;
}

const MatrixProductOp& gemm() { return dynamic_cast<const MatrixProductOp&>(registry().named("gemm")); }

TEST(Draws, AreOfEverySizeLayoutTypeAndKindOfScalar) {
  constexpr int kDraws = 4000;
  std::map<std::string, int> seen;
  std::set<std::string> ids;
  for (int64_t i = 0; i < kDraws; ++i) {
    const Case c = gemm().drawn(7, i);
    EXPECT_EQ(c, gemm().drawn(7, i));
    EXPECT_EQ(registry().parse_case(c.id()), c);
    ids.insert(c.id());
    for (const char* field : {"dtype", "out", "ta", "tb", "alpha", "beta", "fill"}) {
      ++seen[std::string(field) + "=" + c.at(field).text];
    }
    for (const char* field : {"pad_a", "pad_b", "pad_c"}) seen[field] += c.integer(field) > 0;
    const int64_t batch = c.integer("batch"), m = c.integer("m"), n = c.integer("n"), k = c.integer("k");
    seen["batch"] += batch > 1;
    EXPECT_LE(batch * m * n, 1 << 16);
    for (const auto& [name, size] : {std::pair{"m", m}, {"n", n}, {"k", k}}) {
      EXPECT_GE(size, 1);
      ++seen[name + std::to_string(std::ilogb(size))];
      seen[std::string(name) + " odd"] += size % 2 == 1;
    }
  }
  EXPECT_GT(ids.size(), kDraws * 99 / 100);
  EXPECT_NE(gemm().drawn(8, 0), gemm().drawn(7, 0));
  for (const char* often :
       {"dtype=f64", "dtype=f32", "dtype=f16", "dtype=bf16", "dtype=e4m3", "out=f32", "out=f16",       "out=bf16",
        "ta=t",      "ta=n",      "tb=t",      "tb=n",       "alpha=0",    "alpha=1", "alpha=-1",      "alpha=2",
        "alpha=3",   "beta=0",    "beta=1",    "beta=-1",    "beta=2",     "beta=-2", "fill=integers", "fill=sparse",
        "pad_a",     "pad_b",     "pad_c",     "batch",      "m0",         "m5",      "m10",           "n0",
        "n5",        "n10",       "k0",        "k6",         "k12",        "m odd",   "n odd",         "k odd"}) {
    EXPECT_GT(seen[often], kDraws / 40) << often;
  }
}

// Of each type in the arithmetic of a usual kernel: a bound of the sums from sizes alone.
TEST(Draws, AreExactInTheUsualArithmetic) {
  Contract f32{.interface_version = 1, .owner = "tests", .domain = ""};
  f32.arithmetic = {.accumulator = ASSAY_ACC_F32, .depth_divisor = 1, .depth_constant = 64};
  Contract hopper = f32;
  hopper.arithmetic.accumulator = ASSAY_ACC_TENSOR;
  hopper.arithmetic.tensor_terms = 16;
  hopper.arithmetic.tensor_fraction = 25;
  hopper.arithmetic.tensor_precision = 23;
  Contract fp8 = hopper;
  fp8.arithmetic.tensor_terms = 32;
  fp8.arithmetic.tensor_fraction = fp8.arithmetic.tensor_precision = 13;
  for (int64_t i = 0; i < 2000; ++i) {
    const Case c = gemm().drawn(3, i);
    const auto k = static_cast<double>(c.integer("k"));
    const double sums = c.word("fill") == "sparse" ? 64 : 64 * k;
    const double scaled = std::fabs(c.real("alpha")) * sums + 8 * std::fabs(c.real("beta"));
    const ProductReach reach{std::max(sums, scaled), 8};
    EXPECT_TRUE(gemm().is_exact(c, f32, reach)) << c.id();
    EXPECT_TRUE(gemm().is_exact(c, c.word("dtype") == "e4m3" ? fp8 : hopper, reach)) << c.id();
  }
}

struct SweepTest : ::testing::Test {
  SweepJob job(int64_t shapes) {
    return {.op = &registry().named("gemm"),
            .kernel = fake_kernel("gemm", "simd"),
            .seed = 5,
            .shapes = shapes,
            .start_judge = [this] { return std::make_unique<FakeJudge>(script); }};
  }
  static std::string shape_of(const std::string& id) { return registry().parse_case(id).with({{"seed", "1"}}).id(); }

  JudgeScript script;
};

TEST_F(SweepTest, VerifiesAsManyDistinctShapesAsAreAskedFor) {
  const Sweep sweep = sweep_kernel(job(300));
  EXPECT_EQ(sweep.kernel, "gemm/simd");
  EXPECT_EQ(sweep.verified, 300);
  EXPECT_TRUE(sweep.failures.empty());
  EXPECT_EQ(script.started, 1);
  std::set<std::string> shapes;
  for (const std::string& id : script.checked) shapes.insert(shape_of(id));
  EXPECT_EQ(shapes.size(), 300u);
}

TEST_F(SweepTest, ItsPartsAreTheWholeAndNothingTwice) {
  sweep_kernel(job(300));
  const std::vector<std::string> whole = std::exchange(script.checked, {});
  for (int part = 1; part <= 3; ++part) {
    SweepJob one = job(100);
    one.shard = {part, 3};
    sweep_kernel(one);
  }
  EXPECT_EQ(std::set<std::string>(script.checked.begin(), script.checked.end()),
            std::set<std::string>(whole.begin(), whole.end()));
  EXPECT_EQ(script.checked.size(), 300u);
}

TEST_F(SweepTest, WhatIsNotVerifiedIsCountedApartAndNeverPasses) {
  int asked = 0;
  script.screen = [&](const Case&) -> Screened {
    switch (asked++ % 4) {
      case 0:
        return {.refused = "needs m <= 2"};
      case 1:
        return {.unverified = "sums may reach 512"};
      case 2:
        return {.verdict = Verdict::wrong, .reason = "accuracy: c[3] got 1 want 2"};
      default:
        return {};
    }
  };
  const Sweep sweep = sweep_kernel(job(10));
  EXPECT_EQ(sweep.verified + sweep.refused.at("needs m <= 2") + sweep.unverified.at("sums may reach 512") +
                static_cast<int64_t>(sweep.failures.size()),
            asked);
  EXPECT_GE(sweep.verified, 10);
  ASSERT_FALSE(sweep.failures.empty());
  EXPECT_EQ(sweep.failures[0], (SweepFailure{script.checked[2], Verdict::wrong, "accuracy: c[3] got 1 want 2"}));
}

// Which checks failed, what ran and what was loaded late are what an excuse is of.
TEST_F(SweepTest, AnExcuseIsOfAllThatFailed) {
  script.screen = [](const Case&) -> Screened {
    Screened screened{.verdict = Verdict::wrong, .reason = "accuracy: c[3] got 1 want 2"};
    screened.record.checks = {check_result("accuracy", Outcome::fail), check_result("guards", Outcome::fail)};
    screened.record.selection = {{"isa", "avx2"}};
    return screened;
  };
  const std::vector<KnownIssue> wrong{
      {.kernel = "gemm/simd:*", .verdict = Verdict::wrong, .owner = "me", .expires = day(2027, 1, 1), .isa = {"avx2"}}};
  std::vector<KnownIssue> both = wrong;
  both.push_back(wrong.front());
  both.back().verdict = Verdict::memory;
  const auto swept = [&](const std::vector<KnownIssue>& issues) {
    SweepJob excused = job(0);
    excused.seconds = 0.2;
    excused.excuse = [&](Record& record) { apply_known_issues(issues, {}, {}, day(2026, 1, 1), record); };
    return sweep_kernel(excused);
  };
  EXPECT_EQ(swept(wrong).failures.size(), kMostFailures) << "nobody knows of the write out of bounds";
  const Sweep known = swept(both);
  EXPECT_TRUE(known.failures.empty());
  ASSERT_EQ(known.known.size(), 1u);
  EXPECT_THAT(known.known.begin()->first, HasSubstr("wrong, known until 2027-01-01 (me): ; accuracy"));
}

TEST_F(SweepTest, AStopWhileItsJudgeStartsLosesNothingOfOthers) {
  SweepJob stopped = job(10);
  stopped.start_judge = []() -> std::unique_ptr<Judge> { throw JudgeStopped("stopped"); };
  EXPECT_EQ(sweep_kernel(stopped), Sweep{.kernel = "gemm/simd"});
}

TEST_F(SweepTest, OnlyWhatTheContractClaimsIsAsked) {
  SweepJob claimed = job(50);
  claimed.kernel.contract.domain = "dtype in f32; ta in n; batch == 1";
  const Sweep sweep = sweep_kernel(claimed);
  EXPECT_EQ(sweep.verified, 50);
  EXPECT_GT(sweep.not_claimed, 100);
  for (const std::string& id : script.checked) {
    const Case c = registry().parse_case(id);
    EXPECT_EQ(c.word("dtype"), "f32");
    EXPECT_EQ(c.word("ta"), "n");
  }
  claimed.kernel.contract.domain = "m > 1000000";
  EXPECT_EQ(sweep_kernel(claimed).verified, 0);  // and it ends
}

TEST_F(SweepTest, AKernelThatFailsEverywhereIsGivenUp) {
  script.screen = [](const Case&) -> Screened { return {.verdict = Verdict::crashed, .reason = "launch: SIGSEGV"}; };
  const Sweep sweep = sweep_kernel(job(0));
  EXPECT_TRUE(sweep.gave_up);
  EXPECT_EQ(sweep.failures.size(), kMostFailures);
}

TEST_F(SweepTest, AJudgeThatDiesCostsNoOtherCase) {
  sweep_kernel(job(64));
  const std::vector<std::string> ids = std::exchange(script.checked, {});
  script.started = 0;
  script.deaths = {{ids[5], 1}, {ids[40], 2}};  // once: found again; twice: its own failure
  const Sweep sweep = sweep_kernel(job(64));
  EXPECT_EQ(script.started, 4);
  EXPECT_GE(sweep.verified, 64);
  ASSERT_EQ(sweep.failures.size(), 1u);
  EXPECT_EQ(sweep.failures[0].id, ids[40]);
  EXPECT_EQ(sweep.failures[0].verdict, Verdict::error);
}

TEST_F(SweepTest, StopsWhenAskedAndInTime) {
  SweepJob timed = job(0);
  timed.seconds = 0.2;
  EXPECT_GT(sweep_kernel(timed).verified, 0);
  timed.stop_asked = [] { return true; };
  EXPECT_EQ(sweep_kernel(timed).verified, 0);
}

TEST(Sweeps, MergeAndCrossAPipe) {
  const Sweep a{.kernel = "gemm/x", .verified = 3, .refused = {{"r", 1}}, .not_claimed = 2, .seconds = 1.5};
  const Sweep b{.kernel = "gemm/x",
                .verified = 4,
                .failures = {{"gemm/x:m=1", Verdict::wrong, "accuracy: ..."}},
                .gave_up = true,
                .refused = {{"r", 2}, {"s", 1}},
                .unverified = {{"u", 5}},
                .not_claimed = 1,
                .seconds = 1.25};
  const Sweep both = merged({a, b});
  EXPECT_EQ(both.verified, 7);
  EXPECT_THAT(both.refused, UnorderedElementsAre(Pair("r", 3), Pair("s", 1)));
  EXPECT_THAT(both.unverified, UnorderedElementsAre(Pair("u", 5)));
  EXPECT_EQ(both.failures, b.failures);
  EXPECT_TRUE(both.gave_up);
  EXPECT_EQ(both.not_claimed, 3);
  EXPECT_EQ(both.seconds, 1.5);
  EXPECT_EQ(sweep_from_json(nlohmann::json::parse(to_json(both).dump())), both);
}

}  // namespace
}  // namespace assay
