// Shrinking against predicates in place of a judge: what is left fails, and nothing simpler in any one field does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "core/error.h"
#include "gate/pace.h"
#include "record/verdict.h"
#include "shrunk_by_predicate.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string smallest(const std::string& id, const Predicate& fails) {
  const Shrunk end = shrunk(id, fails);
  EXPECT_TRUE(end.finished);
  return end.smallest.id();
}

TEST(Shrink, KeepsWhatTheFailureNeedsAndNothingElse) {
  const std::string large =
      "gemm:m=129,n=127,k=1000,batch=3,ta=t,beta=0.5,pad_a=3,dtype=f32,seed=9,offset=1,place=start";
  EXPECT_EQ(smallest(large, [](const Case&) { return true; }), "gemm:m=1,n=1,k=1,dtype=f32,fill=zeros,support=none");
  EXPECT_EQ(smallest(large, [](const Case& c) { return c.integer("k") >= 33; }),
            "gemm:m=1,n=1,k=33,dtype=f32,fill=zeros,support=none");
  EXPECT_EQ(smallest(large, [](const Case& c) { return c.real("beta") != 0 && c.word("ta") == "t"; }),
            "gemm:m=1,n=1,k=1,ta=t,beta=0.5,dtype=f32,fill=zeros,support=none");
  EXPECT_EQ(smallest(large, [](const Case& c) { return c.integer("batch") > 1 && c.word("fill") == "normal"; }),
            "gemm:m=1,n=1,k=1,batch=2,dtype=f32,support=none");
  EXPECT_EQ(smallest(large, [](const Case& c) { return c.integer("n") % 2 == 1 && c.integer("n") > 16; }),
            "gemm:m=1,n=17,k=1,dtype=f32,fill=zeros,support=none");
}

TEST(Pace, IsThatOfTheSlowestLargeCaseByItsMemoryOrItsProducts) {
  const auto expected = [](Pace& pace, const char* id) { return pace.expected(every_op().parse_case(id)); };
  const auto note = [](Pace& pace, const char* id, double seconds) { pace.note(every_op().parse_case(id), seconds); };
  Pace pace(every_op().named("gemm"));
  const char* const deep = "gemm:m=64,n=64,k=262144,dtype=bf16";
  EXPECT_EQ(expected(pace, deep), 0) << "before anything was asked";
  note(pace, "gemm:m=2,n=2,k=2,dtype=bf16", 0.5);
  EXPECT_EQ(expected(pace, deep), 0) << "a small one costs what it costs";
  note(pace, "gemm:m=64,n=64,k=131072,dtype=bf16", 50.5);
  EXPECT_NEAR(expected(pace, deep), 100, 0.01) << "twice the products, and without what a small one costs too";
  note(pace, "gemm:m=64,n=64,k=65536,dtype=bf16", 1);
  EXPECT_NEAR(expected(pace, deep), 100, 0.01) << "the slowest counts";
  EXPECT_NEAR(expected(pace, "gemm:m=64,n=64,k=65536,seeds=8,dtype=bf16"), 200, 0.01);
  EXPECT_NEAR(expected(pace, "gemm:m=64,n=64,k=1,pad_c=16777216,dtype=bf16"), 98.4, 0.1)
      << "2^30 of padding but a row's";
}

TEST(Shrink, ShortensAxesTogetherWhereTheFailureTiesThem) {
  EXPECT_EQ(smallest("gemm:m=64,n=64,k=64,dtype=f32",
                     [](const Case& c) { return c.integer("m") == c.integer("n") && c.integer("m") > 5; }),
            "gemm:m=8,n=8,k=1,dtype=f32,fill=zeros,support=none");
}

// In long rows, in few, in rows that have to be aligned, and behind a tile of rows.
TEST(Shrink, KeepsADistanceByPaddingAndNotByOutputs) {
  const auto far = [](const Case& c, size_t tensor) {
    return every_op().named(c.op()).tensors(c).at(tensor).span_elements() > int64_t{1} << 31;
  };
  const Predicate in_aligned_rows = [&](const Case& c) {
    return far(c, 2) && (c.integer("n") + c.integer("pad_c")) % 8 == 0;
  };
  const Predicate behind_a_tile = [&](const Case& c) { return far(c, 2) && c.integer("m") > 32; };
  const Predicate in_x = [&](const Case& c) { return far(c, 0); };
  for (const auto& [id, fails] : {std::pair{"bias_gelu:rows=65537,cols=32776,form=tanh,dtype=bf16", in_x},
                                  {"softmax:rows=2,cols=2147483649,dtype=f16", in_x},
                                  {"gemm:m=65537,n=32776,k=64,dtype=bf16", in_aligned_rows},
                                  {"gemm:m=65537,n=1,k=1,pad_c=34000,dtype=f32", behind_a_tile}}) {
    const Shrunk end = shrunk(id, fails);
    EXPECT_LE(output_elements(every_op().named(end.smallest.op()), end.smallest), kFewOutputs) << end.smallest.id();
  }
}

TEST(Shrink, PaddingThatShowsNothingIsNotKept) {
  EXPECT_EQ(smallest("bias_gelu:rows=300,cols=300,form=erf,dtype=f32",
                     [](const Case& c) { return c.integer("rows") > 200 || c.integer("pad") > 1'000'000; }),
            "bias_gelu:rows=201,cols=1,form=erf,dtype=f32,fill=zeros,support=none");
}

TEST(Shrink, WalksToNegativeDefaultsFromEitherSide) {
  EXPECT_EQ(smallest("gemm_int8:m=3,n=3,k=3,za=-100,zb=90",
                     [](const Case& c) { return c.integer("za") < -9 && c.integer("zb") > 4; }),
            "gemm_int8:m=1,n=1,k=1,za=-10,zb=5,fill=ones,support=none");
}

Support support_of(const Case& c) { return Support::parse(c.word("support")); }

bool keeps(const Case& c, const char* tensor, int64_t index) {
  const IndexRanges kept = support_of(c).kept_of(tensor);
  return std::ranges::any_of(kept, [&](const IndexRange& r) { return r.first <= index && index <= r.last; });
}

TEST(Shrink, LeavesOfTheInputsWhatTheFailureNeeds) {
  const auto shape_stays = [](const Case& c) {
    return c.integer("m") == 5 && c.integer("n") == 6 && c.integer("k") == 7;
  };
  const auto needs = [&](const Case& c) {
    return shape_stays(c) && c.word("fill") == "normal" && keeps(c, "a", 3) && keeps(c, "a", 17) && keeps(c, "b", 41);
  };
  EXPECT_EQ(smallest("gemm:m=5,n=6,k=7,dtype=f32", needs), "gemm:m=5,n=6,k=7,dtype=f32,support=a.3.17+b.41");
  // Begun with a support, it goes on from there.
  EXPECT_EQ(smallest("gemm:m=5,n=6,k=7,dtype=f32,support=a.0-20+b.30-41", needs),
            "gemm:m=5,n=6,k=7,dtype=f32,support=a.3.17+b.41");
  // A whole tensor is told by its name alone.
  EXPECT_EQ(smallest("gemm:m=5,n=6,k=7,dtype=f32",
                     [&](const Case& c) {
                       return shape_stays(c) && c.word("fill") == "normal" &&
                              support_of(c).kept_of("b") == IndexRanges{{}};
                     }),
            "gemm:m=5,n=6,k=7,dtype=f32,support=b");
  // Who needs all of it has no support, nor has who needs more than anyone reads.
  EXPECT_EQ(smallest("gemm:m=5,n=6,k=7,dtype=f32",
                     [&](const Case& c) { return shape_stays(c) && c.word("fill") == "normal" && support_of(c).all; }),
            "gemm:m=5,n=6,k=7,dtype=f32");
  const Shrunk large = shrunk("reduce:kind=sum,n=5000,dtype=f32",
                              [](const Case& c) { return c.integer("n") == 5000 && c.word("fill") == "normal"; });
  EXPECT_TRUE(support_of(large.smallest).all) << "too many to go through";
}

TEST(Shrink, NoElementOfTheSupportCanBeLeftOut) {
  constexpr uint64_t kSeed = 20261203;
  std::mt19937_64 random(kSeed);
  for (int round = 0; round < 100; ++round) {
    const auto n = static_cast<int64_t>(2 + random() % 150);
    const Case start = every_op().parse_case("reduce:kind=sum,n=" + std::to_string(n) + ",dtype=f32");
    // Fails with any two of each of some sets of elements.
    std::vector<std::vector<int64_t>> sets(1 + random() % 3);
    for (auto& set : sets) {
      for (uint64_t left = 2 + random() % 4; left > 0; --left) set.push_back(static_cast<int64_t>(random()) % n);
    }
    const auto fails = [&](const Case& c) {
      return c.integer("n") == n && c.word("fill") == "normal" && std::ranges::all_of(sets, [&](const auto& set) {
               return std::ranges::count_if(set, [&](int64_t i) { return keeps(c, "x", i); }) >= 2;
             });
    };
    if (!fails(start)) continue;
    const Case end = shrunk(start.id(), fails).smallest;
    std::vector<int64_t> kept;
    for (int64_t i = 0; i < n; ++i) {
      if (keeps(end, "x", i)) kept.push_back(i);
    }
    ASSERT_FALSE(kept.empty());
    for (const int64_t out : kept) {
      Support fewer{.all = false};
      IndexRanges ranges;
      for (const int64_t i : kept) {
        if (i != out) ranges.push_back({i, i});
      }
      fewer.kept["x"] = merged(ranges);
      EXPECT_FALSE(fails(end.with({{"support", fewer.text()}})))
          << "seed " << kSeed << ": " << end.id() << " without " << out;
    }
  }
}

TEST(Shrink, WhatStopsItKeepsTheSmallestSoFar) {
  const Shrunk end = shrunk(
      "softmax:rows=1000,cols=1000,dtype=bf16", [](const Case&) { return true; }, 1);
  EXPECT_FALSE(end.finished);
  EXPECT_EQ(end.judged, 1);
  EXPECT_EQ(end.smallest.id(), "softmax:rows=1,cols=1,dtype=bf16");
  EXPECT_EQ(shrunk(
                "softmax:rows=9,cols=9,dtype=f32", [](const Case&) { return true; }, 0)
                .judged,
            0);
}

TEST(Shrink, OfNoTimeAtAllAnyIsTooMuch) {
  const Case start = every_op().parse_case("softmax:rows=9,cols=9,dtype=f32");
  const auto all = [] { return std::numeric_limits<double>::infinity(); };
  const Shrunk end = shrink(every_op().named("softmax"), start,
                            {[](const Case&) { return true; }, kNoGlance, all, [](const Case&) {}});
  EXPECT_EQ(end.judged, 0);
  EXPECT_FALSE(end.finished);
}

// Of random failures: each a threshold, an equality or a parity of some fields.
TEST(Shrink, NothingSimplerInAnyOneFieldFailsToo) {
  std::mt19937_64 random(20261122);
  const std::vector<std::string> starts{"gemm:m=129,n=65,k=300,batch=2,tb=t,alpha=0.125,beta=1,pad_c=5,dtype=bf16",
                                        "softmax:rows=77,cols=1031,scale=0.125,mask=additive,dtype=f16,fill=masked",
                                        "layernorm_residual:rows=50,cols=777,bias=no,pad=3,dtype=f32,seeds=8",
                                        "reduce:kind=sum,outer=9,n=1000,inner=33,dtype=f64,fill=cancelling",
                                        "bias_gelu:rows=31,cols=257,form=erf,dtype=bf16,offset=3"};
  for (int round = 0; round < 50; ++round) {
    const Case start = every_op().parse_case(starts[random() % starts.size()]);
    const Op& op = every_op().named(start.op());
    std::vector<Predicate> needs;
    for (const FieldValue& value : start.fields()) {
      if (random() % 3 != 0) continue;
      const std::string name = value.name;
      if (value.kind == FieldKind::integer) {
        const int64_t least = value.integer == 0 ? 0 : 1 + static_cast<int64_t>(random() % std::abs(value.integer));
        const bool odd = value.integer % 2 != 0 && random() % 2 == 0;
        needs.emplace_back(
            [=](const Case& c) { return std::abs(c.integer(name)) >= least && (!odd || c.integer(name) % 2 != 0); });
      } else {
        needs.emplace_back([=, text = value.text](const Case& c) { return c.word(name) == text; });
      }
    }
    const auto fails = [&](const Case& c) {
      return std::all_of(needs.begin(), needs.end(), [&](const Predicate& need) { return need(c); });
    };
    ASSERT_TRUE(fails(start));
    const Case end = shrunk(start.id(), fails).smallest;
    for (const FieldSpec& field : op.all_fields()) {
      for (const std::string& value : simpler_values(field, end.at(field.name))) {
        std::optional<Case> simpler;
        try {
          simpler = end.with({{field.name, value}});
          op.tensors(*simpler);
        } catch (const UsageError&) {
          continue;
        }
        EXPECT_FALSE(fails(*simpler)) << "round " << round << ": " << start.id() << " -> " << end.id();
      }
    }
  }
}

TEST(Shrink, AFailureThatComesAndGoesEndsToo) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 50; ++round) {
    const Case start =
        every_op().parse_case("gemm:m=129,n=65,k=300,batch=2,tb=t,alpha=0.125,beta=1,dtype=bf16,seeds=8");
    const auto sometimes = [&](const Case&) { return random() % 3 == 0; };
    EXPECT_TRUE(shrink(every_op().named("gemm"), start, {sometimes, kNoGlance, kTimeless, kUnheard}).finished);
  }
}

TEST(Shrink, JudgesNoCaseThatTheOpDoesNotHave) {
  const Op& gemm = every_op().named("gemm");
  const Case start = every_op().parse_case("gemm:m=37,n=37,k=37,dtype=f32,fill=identity");
  const auto fails = [&](const Case& c) {
    EXPECT_NO_THROW(gemm.tensors(gemm.make({{"m", print_number(c.integer("m"))},
                                            {"n", print_number(c.integer("n"))},
                                            {"k", print_number(c.integer("k"))},
                                            {"dtype", "f32"},
                                            {"fill", c.word("fill")}})));
    return c.word("fill") == "identity";
  };
  EXPECT_EQ(shrink(gemm, start, {fails, kNoGlance, kTimeless, kUnheard}).smallest.word("fill"), "identity");
}

TEST(Shrink, SimplerValuesAreSimplerStrictly) {
  const auto values = [](const std::string& id, const char* name) {
    const Case c = every_op().parse_case(id);
    for (const FieldSpec& field : every_op().named(c.op()).all_fields()) {
      if (field.name == name) return simpler_values(field, c.at(name));
    }
    throw Error("no such field");
  };
  const std::string id = "gemm:m=9,n=1,k=0,batch=3,ta=t,alpha=0.5,dtype=bf16,fill=integers,seed=5";
  EXPECT_THAT(values(id, "m"), ElementsAre("1", "5", "7", "8"));
  EXPECT_THAT(values(id, "n"), IsEmpty());
  EXPECT_THAT(values(id, "k"), IsEmpty());
  EXPECT_THAT(values(id, "batch"), ElementsAre("1", "2"));
  EXPECT_THAT(values(id, "ta"), ElementsAre("n"));
  EXPECT_THAT(values(id, "alpha"), ElementsAre("1"));
  EXPECT_THAT(values(id, "dtype"), IsEmpty());
  EXPECT_THAT(values(id, "fill"), ElementsAre("zeros", "ones"));
  EXPECT_THAT(values(id, "seed"), ElementsAre("1"));
  EXPECT_THAT(values("gemm:m=1,n=1,k=1,dtype=f32,fill=zeros", "fill"), IsEmpty());
}

Record record_of(std::vector<CheckResult> failures) {
  Record record;
  for (const CheckRow& row : check_table()) record.checks.push_back(check_result(row.check, Outcome::pass));
  for (const CheckResult& failure : failures) {
    for (CheckResult& result : record.checks) {
      if (result.check == failure.check) result = failure;
    }
  }
  conclude(record);
  return record;
}

TEST(Shrink, ANewFailureDoesNotBecomeAKnownOneOrThatOfAnotherCase) {
  CheckResult wrong = check_result("accuracy", Outcome::fail);
  const Record own = record_of({wrong});
  wrong.of_case = "gemm/simd:m=1,pad_a=3,dtype=f32";
  const Record of_another = record_of({wrong});
  Record known = own;
  known.verdict = Verdict::known;
  EXPECT_TRUE(fails_as(*failure_of(own), own));
  EXPECT_FALSE(fails_as(*failure_of(own), of_another));
  EXPECT_FALSE(fails_as(*failure_of(own), known));
  EXPECT_TRUE(fails_as(*failure_of(known), own)) << "the policy may list the larger case alone";
  EXPECT_FALSE(fails_as(*failure_of(own), record_of({})));
}

TEST(Shrink, AFailureIsTheWorstVerdictAndTheFirstCheckThatGaveIt) {
  EXPECT_EQ(failure_of(record_of({})), std::nullopt);
  const CheckResult wrong = check_result("accuracy", Outcome::fail), memory = check_result("guards", Outcome::fail),
                    fresh = check_result("fresh", Outcome::fail);
  EXPECT_EQ(failure_of(record_of({wrong, fresh})), (Failure{Verdict::wrong, "accuracy"}));
  EXPECT_EQ(failure_of(record_of({memory, wrong})), (Failure{Verdict::wrong, "accuracy"}));
  EXPECT_EQ(failure_of(record_of({memory})), (Failure{Verdict::memory, "guards"}));
  const CheckResult in_company =
      check_result("accuracy", Outcome::fail, "beside others who call the kernel: y[0] got 0");
  EXPECT_NE(failure_of(record_of({wrong})), failure_of(record_of({in_company}))) << "alone it is another failure";
  EXPECT_EQ(failure_of(record_of({check_result("truth", Outcome::fail)})), std::nullopt);  // the harness's
  EXPECT_EQ(failure_of(record_of({check_result("trust", Outcome::fail)})), std::nullopt);  // proves nothing
  Record known = record_of({memory});
  known.verdict = Verdict::known;
  EXPECT_EQ(failure_of(known), (Failure{.verdict = Verdict::memory, .check = "guards", .is_known = true}));
  Record refused = record_of({});
  refused.verdict = Verdict::unsupported;
  EXPECT_EQ(failure_of(refused), std::nullopt);
}

}  // namespace
}  // namespace assay
