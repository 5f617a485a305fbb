// What shrink() draws and tries where one field at a time leaves many outputs, by predicates in place of a judge.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/draw.h"
#include "shrunk_by_predicate.h"

namespace assay {
namespace {

// A rounding that goes wrong in one output of so many: which ones, the seed says.
Predicate wrong_in_one_of(uint64_t outputs_each) {
  return [=](const Case& c) {
    const int64_t outputs = output_elements(every_op().named(c.op()), c);
    for (int64_t part = 0; part < c.integer("seeds"); ++part) {
      Draw draw(static_cast<uint64_t>(c.integer("seed") + part) * 0xd1342543de82ef95u);
      for (int64_t i = 0; i < outputs; ++i) {
        if (draw.one_in(outputs_each)) return true;
      }
    }
    return false;
  };
}

TEST(ShrinkDraws, DrawsFewOutputsWhereAFaultShowsInFewElements) {
  const std::string id = "gemm_int8:m=512,n=1024,k=16,fill=int8_full";
  for (const uint64_t outputs_each : {uint64_t{4096}, uint64_t{1} << 17}) {
    const Predicate fails = wrong_in_one_of(outputs_each);
    const Shrunk end = shrunk(id, fails);
    EXPECT_LE(outputs_of(end), kFewOutputs) << outputs_each << ": " << end.smallest.id();
    EXPECT_EQ(end.smallest.integer("seeds"), 1);
    EXPECT_GT(end.drawn, 0);
    EXPECT_TRUE(end.finished);
    EXPECT_EQ(shrunk(id, fails).smallest.id(), end.smallest.id()) << "the draws are seeded";
  }
}

// Where a case glanced at takes long, as on a GPU that others use too, it has fewer seeds.
TEST(ShrinkDraws, HaveAsManySeedsAsAGlanceHasTimeFor) {
  const Case start = every_op().parse_case("gemm_int8:m=512,n=1024,k=16,fill=int8_full");
  const Predicate fails = wrong_in_one_of(uint64_t{1} << 40);  // in no draw
  for (const double share_of_a_seed : {0.0, 0.0001}) {
    const auto is_large = [&](const Case& c) { return c.integer("m") * c.integer("n") > kFewOutputs || fails(c); };
    double used = 0;
    int64_t most = 0, most_late = 0;
    const auto glance = [&](const Case& c) {
      used += share_of_a_seed * static_cast<double>(c.integer("seeds"));
      most = std::max(most, c.integer("seeds"));
      if (used > 0.6) most_late = std::max(most_late, c.integer("seeds"));
      return !is_large(c);
    };
    const Shrunk end = shrink(every_op().named("gemm_int8"), start, {is_large, glance, [&] { return used; }, kUnheard});
    EXPECT_GT(outputs_of(end), kFewOutputs);
    if (share_of_a_seed == 0) {
      EXPECT_EQ(most, 1024);
    } else {
      EXPECT_LE(most, 64) << "twice of what takes half of a two hundredth";
      EXPECT_GE(most_late, 25);
      EXPECT_GT(end.drawn, 20);
    }
  }
}

TEST(ShrinkDraws, OfManySeedsGlancesFindTheOneThatFails) {
  const Predicate fails = wrong_in_one_of(uint64_t{1} << 15);
  int judged_with_many = 0;
  const Predicate counted = [&](const Case& c) {
    judged_with_many += c.integer("seeds") > 1;
    return fails(c);
  };
  const Shrunk end =
      shrunk("gemm_int8:m=512,n=1024,k=16,fill=int8_full", counted, 1 << 20, [&](const Case& c) { return !fails(c); });
  EXPECT_LE(outputs_of(end), kFewOutputs) << end.smallest.id();
  EXPECT_EQ(end.smallest.integer("seeds"), 1);
  EXPECT_EQ(judged_with_many, 0);
}

TEST(ShrinkDraws, KeepTheSeedsThatAFailureNeedsTogether) {
  const Shrunk end = shrunk("gemm:m=33,n=160,k=17,dtype=f32,seeds=8", [](const Case& c) {
    return c.integer("seeds") >= 8 && (c.integer("n") > 100 || c.integer("k") >= 50);
  });
  EXPECT_LE(outputs_of(end), kFewOutputs) << end.smallest.id();
  EXPECT_EQ(end.smallest.integer("seeds"), 8);
}

TEST(ShrinkDraws, DrawsLongerSumsForAPathThatNeedsMuchWork) {
  const auto much_work = [](const Case& c) { return c.integer("m") * c.integer("n") * c.integer("k") >= 1 << 15; };
  const Shrunk end = shrunk("gemm:m=64,n=64,k=64,dtype=f32", much_work);
  EXPECT_LE(outputs_of(end), kFewOutputs) << end.smallest.id();
  EXPECT_GT(end.smallest.integer("k"), 64);
}

// On two threads a product is cut in n; tiles of 16 columns, and much work, which takes half a million inputs.
TEST(ShrinkDraws, DrawsSumsOfHalfAMillionInputs) {
  const auto second_tile = [](const Case& c) {
    return c.integer("n") > 16 && c.integer("m") * c.integer("n") * c.integer("k") >= 1 << 19;
  };
  const Shrunk end = shrunk("gemm_int8:m=32,n=1040,k=21", second_tile);
  EXPECT_LE(outputs_of(end), kFewOutputs) << end.smallest.id();
}

// Rows as long as a tile is wide, or of padding as of elements.
TEST(ShrinkDraws, DrawsOtherAttributesForAPathThatHasOthersToo) {
  const auto behind_a_tile = [](const Case& c) { return c.integer("n") + c.integer("pad_b") >= 100; };
  const Shrunk padded = shrunk("gemm:m=3,n=160,k=5,pad_b=8,dtype=f32", behind_a_tile);
  EXPECT_LE(outputs_of(padded), kFewOutputs) << padded.smallest.id();
  const auto wide_unless_transposed = [](const Case& c) { return c.integer("n") >= (c.word("tb") == "t" ? 40 : 100); };
  const Shrunk transposed = shrunk("gemm:m=3,n=160,k=5,dtype=f32", wide_unless_transposed);
  EXPECT_EQ(outputs_of(transposed), 40) << transposed.smallest.id();
  EXPECT_EQ(transposed.smallest.word("tb"), "t");
}

// As gemm/simd cuts a matrix into two tiles: behind 1024 columns; of a transposed B behind 16 already, where there is
// work for two threads.
TEST(ShrinkDraws, DrawsAnAttributeAndMuchWorkForAPathThatTakesBoth) {
  const auto work = [](const Case& c) { return c.real("m") * c.real("n") * c.real("k") * c.real("batch"); };
  const auto has_two_tiles = [&](const Case& c) {
    return c.integer("n") > (c.word("tb") == "t" && work(c) >= 0x1p19 ? 16 : 1024);
  };
  const Shrunk end = shrunk("gemm:m=33,n=1100,k=17,dtype=f32", has_two_tiles);
  EXPECT_LE(outputs_of(end), kFewOutputs) << end.smallest.id();
}

// Of the smoke tier.
int listed_below(const Case& smallest) {
  const Op& op = every_op().named(smallest.op());
  const std::vector<Case> listed = op.cases(Tier::smoke);
  return static_cast<int>(std::ranges::count_if(listed, [&](const Case& c) {
    return c.word("dtype") == smallest.word("dtype") && output_elements(op, c) < output_elements(op, smallest);
  }));
}

// Sums beside ties are in few products of any numbers, and in all of a case that is made of them.
TEST(ShrinkDraws, TriesWhatIsListedWhereNoDrawFails) {
  const auto fails = [](const Case& c) {
    const bool is_drawn = c.integer("seed") != 1;
    return c.integer("m") * c.integer("n") > 100'000 ||
           (c.word("fill") == "ties" && c.integer("k") > 4096 && !is_drawn);
  };
  const Shrunk end = shrunk("gemm_int8:m=512,n=512,k=64,scales=channel", fails);
  EXPECT_EQ(outputs_of(end), 1) << end.smallest.id();
  // Nothing larger than what one field at a time leaves, and of no other type.
  const Shrunk small = shrunk("gemm:m=1,n=100,k=1,dtype=f32", [](const Case& c) {
    EXPECT_LE(output_elements(every_op().named("gemm"), c), 100) << c.id();
    EXPECT_EQ(c.word("dtype"), "f32");
    return c.integer("n") == 100 && c.integer("m") == 1;
  });
  EXPECT_EQ(small.smallest.id(), "gemm:m=1,n=100,k=1,dtype=f32,fill=zeros,support=none");
}

TEST(ShrinkDraws, OfWhatLooksRightAtAGlanceOneInSevenIsJudged) {
  const std::string id = "gemm:m=33,n=1100,k=17,dtype=f32";
  const auto is_wide = [](const Case& c) { return c.integer("n") > 1024; };
  const Shrunk without = shrunk(id, is_wide);
  int glances = 0;  // of which some see nothing, so that only draws go by them
  const Shrunk with = shrunk(id, is_wide, 1 << 20, [&](const Case& c) { return !is_wide(c) || ++glances % 8 == 0; });
  EXPECT_EQ(with.smallest, without.smallest);
  EXPECT_EQ(with.drawn, kMostDrawn);
  EXPECT_EQ(without.judged - with.judged, kMostDrawn - kMostDrawn / 7 + listed_below(without.smallest));
  int with_many_seeds = 0;
  const auto counted = [&](const Case& c) {
    with_many_seeds += c.integer("seeds") > 1;
    return is_wide(c);
  };
  const Case start = every_op().parse_case(id);
  for (const bool many : {true, false}) {
    with_many_seeds = 0;
    shrink(every_op().named("gemm"), start, {counted, kNoGlance, kTimeless, kUnheard, many});
    EXPECT_EQ(with_many_seeds > 0, many);
  }
  // A glance that sees nothing of it hides nothing.
  const auto fails = [&](const Case& c) { return is_wide(c) || (c.integer("n") > 8 && c.integer("n") < 64); };
  const Shrunk hidden = shrunk(id, fails, 1 << 20, [](const Case&) { return true; });
  EXPECT_LE(outputs_of(hidden), kFewOutputs) << hidden.smallest.id();
}

TEST(ShrinkDraws, WhatEachGlanceSeesIsNotJudgedWhereItLooksRight) {
  const std::string id = "gemm:m=129,n=127,k=1000,batch=3,ta=t,beta=0.5,pad_a=3,dtype=f32";
  const auto fails = [](const Case& c) {
    return c.integer("k") >= 33 && c.word("ta") == "t" && c.integer("m") % 2 == 1;
  };
  const Shrunk without = shrunk(id, fails);
  const Shrunk with = shrunk(id, fails, 1 << 20, [&](const Case& c) { return !fails(c); });
  EXPECT_EQ(with.smallest, without.smallest);
  EXPECT_LT(3 * with.judged, 2 * without.judged);
  const auto is_wide = [](const Case& c) { return c.integer("n") > 1024; };
  const Shrunk drawn =
      shrunk("gemm:m=33,n=1100,k=17,dtype=f32", is_wide, 1 << 20, [&](const Case& c) { return !is_wide(c); });
  EXPECT_EQ(drawn.drawn, kMostDrawn);
  EXPECT_LT(drawn.judged, kMostDrawn / 7) << "none of the draws";
  const Shrunk large =
      shrunk("gemm:m=3300,n=1100,k=17,dtype=f32", is_wide, 1 << 20, [&](const Case& c) { return !is_wide(c); });
  EXPECT_LT(large.judged, kMostDrawn / 7) << "a case too large for glances becomes one that is not";
  // Of a race some glances see nothing.
  int glances = 0;
  const Shrunk race = shrunk(id, fails, 1 << 20, [&](const Case& c) { return !fails(c) || ++glances % 8 == 0; });
  EXPECT_EQ(race.smallest, without.smallest);
  EXPECT_EQ(race.judged, without.judged);
}

TEST(ShrinkDraws, DrawsNothingWhereFewOutputsAreLeft) {
  EXPECT_EQ(shrunk("softmax:rows=50,cols=777,dtype=f32", [](const Case& c) { return c.integer("cols") >= 64; }).drawn,
            0);
}

TEST(ShrinkDraws, WhatNeedsManyOutputsIsLeftAndSaysSo) {
  const Shrunk end = shrunk("softmax:rows=50,cols=777,dtype=f32",
                            [](const Case& c) { return c.integer("cols") >= 100 && c.word("fill") == "normal"; });
  EXPECT_EQ(end.smallest.id(), "softmax:rows=1,cols=100,dtype=f32,support=none");
  EXPECT_EQ(end.drawn, kMostDrawn);
  EXPECT_TRUE(end.finished);
}

TEST(ShrinkDraws, DrawsUntilItIsStopped) {
  constexpr int kMost = 300;
  const Shrunk end = shrunk(
      "softmax:rows=50,cols=777,dtype=f32", [](const Case& c) { return c.integer("cols") >= 100; }, kMost);
  EXPECT_GT(end.drawn, 0);
  EXPECT_LT(end.drawn, kMostDrawn);
  EXPECT_FALSE(end.finished);
  EXPECT_EQ(outputs_of(end), 100);
}

TEST(ShrinkDraws, KeepsNoDrawnCaseThatFailsOnceOrAmongManySeedsAlone) {
  const auto is_wide = [](const Case& c) { return c.integer("cols") >= 100; };
  const std::string id = "softmax:rows=50,cols=777,dtype=f32";
  std::set<std::string> judged;
  const auto first_time = [&](const Case& c) { return c.integer("seed") != 1 && judged.insert(c.id()).second; };
  EXPECT_EQ(outputs_of(shrunk(id, [&](const Case& c) { return is_wide(c) || first_time(c); })), 100);
  EXPECT_FALSE(judged.empty());
  EXPECT_EQ(outputs_of(shrunk(id, [&](const Case& c) { return is_wide(c) || c.integer("seeds") > 1; })), 100);
}

}  // namespace
}  // namespace assay
