// The field `support`: its text, what it refuses, and what it leaves of a case's inputs.
#include "core/support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "core/error.h"
#include "core/op.h"
#include "fill/fill.h"
#include "golden/filled_case.h"
#include "scratch.h"

namespace assay {
namespace {

std::string canonical(const std::string& text) { return Support::parse(text).text(); }

TEST(Support, TextIsCanonicalAndReadsBack) {
  EXPECT_EQ(canonical("all"), "all");
  EXPECT_EQ(canonical("none"), "none");
  EXPECT_EQ(canonical("b+a"), "a+b");
  EXPECT_EQ(canonical("a.7.0.5-6"), "a.0.5-7");
  EXPECT_EQ(canonical("a.3-9.1-4.20"), "a.1-9.20");
  EXPECT_EQ(canonical("a.007"), "a.7");
  std::mt19937_64 random(11);
  for (int round = 0; round < 500; ++round) {
    Support support{.all = false};
    for (const char* name : {"a", "b", "scale_y"}) {
      IndexRanges ranges;
      for (uint64_t left = random() % 5; left > 0; --left) {
        const auto first = static_cast<int64_t>(random() % 40);
        ranges.push_back({first, first + static_cast<int64_t>(random() % 6)});
      }
      if (random() % 8 == 0) ranges = {{}};
      support.kept[name] = merged(ranges);
    }
    EXPECT_EQ(canonical(support.text()), support.text()) << "seed 11, round " << round;
    for (const char* name : {"a", "b", "scale_y"}) {
      EXPECT_EQ(Support::parse(support.text()).kept_of(name), support.kept_of(name)) << support.text();
    }
  }
}

TEST(Support, WhatItCannotMeanIsSaid) {
  const auto error = [](const std::string& text) { return message_of([&] { Support::parse(text); }); };
  EXPECT_NE(error("").find("names no tensor"), std::string::npos);
  EXPECT_NE(error("a+").find("names no tensor"), std::string::npos);
  EXPECT_NE(error(".3").find("names no tensor"), std::string::npos);
  EXPECT_NE(error("a.").find("is no index"), std::string::npos);
  EXPECT_NE(error("a.x").find("'x' in 'a.x' is no index"), std::string::npos);
  EXPECT_NE(error("a.-3").find("is no index"), std::string::npos);
  EXPECT_NE(error("a.3-").find("is no index"), std::string::npos);
  EXPECT_NE(error("a.1-2-3").find("is no index"), std::string::npos);
  EXPECT_NE(error("a.99999999999999999999").find("is no index"), std::string::npos);
  EXPECT_NE(error("a.5-3").find("runs backwards"), std::string::npos);
  EXPECT_NE(error("a.1+a.2").find("a is named twice"), std::string::npos);
}

TEST(Support, ACaseWithoutItHasTheIdItHad) {
  const OpRegistry ops = make_op_registry();
  const std::string id = "gemm:m=2,n=3,k=4,beta=0.5,dtype=f32,seed=9";
  EXPECT_EQ(ops.parse_case(id).id(), id);
  EXPECT_EQ(ops.parse_case(id + ",support=all").id(), id);
  EXPECT_EQ(ops.parse_case(id + ",support=b+a.7.0").id(), id + ",support=a.0.7+b");
}

TEST(Support, LiesWithinTheInputsThatAreRead) {
  const OpRegistry ops = make_op_registry();
  const auto error = [&](const std::string& fields) {
    return message_of([&] { ops.parse_case("gemm:m=2,n=3,k=4,dtype=f32," + fields); });
  };
  EXPECT_EQ(error("support=a.8"), "case of gemm: field 'support' = 'a.8': a has no element 8; it has 8, from 0 on");
  EXPECT_NE(error("support=d").find("no input 'd' that is read; there are a, b"), std::string::npos);
  EXPECT_NE(error("support=c.0").find("no input 'c'"), std::string::npos) << "beta is 0";
  EXPECT_NE(error("support=a.0-").find("case of gemm: field 'support' = 'a.0-': "), std::string::npos);
  EXPECT_NO_THROW(ops.parse_case("gemm:m=2,n=3,k=4,beta=1,dtype=f32,support=a.7+b+c.0-5"));
  EXPECT_NE(message_of([&] { ops.parse_case("reduce:kind=sum,n=3,dtype=f32,support=y.0"); }).find("no input 'y'"),
            std::string::npos);
}

// Every other element has the bits of the same case without a support; padding is not touched.
TEST(Support, KeepsItsElementsAndZeroesTheOthers) {
  const OpRegistry ops = make_op_registry();
  std::mt19937_64 random(5);
  for (const char* id : {"gemm:m=5,n=6,k=7,batch=2,ta=t,beta=1,pad_a=3,pad_b=1,dtype=bf16",
                         "gemm:m=5,n=6,k=7,dtype=e4m3,out=f32", "reduce:kind=sum,outer=3,n=17,inner=5,pad=2,dtype=f64",
                         "softmax:rows=9,cols=13,mask=additive,dtype=f16,fill=masked", "gemm_int8:m=3,n=5,k=9"}) {
    for (int round = 0; round < 20; ++round) {
      const Case whole = ops.parse_case(id);
      const Op& op = ops.named(whole.op());
      Support support{.all = false};
      for (const TensorSpec& t : op.tensors(whole)) {
        if (t.role == Role::output || !t.is_read || random() % 4 == 0) continue;
        const auto first = static_cast<int64_t>(random() % static_cast<uint64_t>(t.elements()));
        support.kept[t.name] = merged({{first, std::min(first + 3, t.elements() - 1)}, {0, 0}});
      }
      const Case part = whole.with({{"support", support.text()}});
      EXPECT_NO_THROW(op.require(part)) << part.id();
      const FilledCase all(op, whole, 3, 2), some(op, part, 3, 2);
      for (size_t t = 0; t < all.tensors().size(); ++t) {
        const TensorSpec& spec = all.tensors()[t];
        if (spec.role == Role::output || !spec.is_read) continue;
        const IndexRanges kept = support.kept_of(spec.name);
        const size_t size = size_of(spec.dtype);
        std::vector<bool> is_element(static_cast<size_t>(spec.span_elements()), false);
        for (int64_t i = 0; i < spec.elements(); ++i) {
          const bool keeps =
              std::ranges::any_of(kept, [&](const IndexRange& r) { return r.first <= i && i <= r.last; });
          const int64_t offset = offset_of(spec, i);
          const uint64_t want = keeps ? load_bits(spec.dtype, all.views()[t].data, offset) : 0;
          ASSERT_EQ(load_bits(spec.dtype, some.views()[t].data, offset), want)
              << "seed 5: " << part.id() << " " << spec.name << "[" << i << "]";
          const TensorSpec& filled = some.tensors()[t];
          EXPECT_EQ(encode(spec.dtype, fill_value(filled.fill, 3, spec.name, spec.shape, spec.dtype, i)), want);
          is_element[static_cast<size_t>(offset)] = true;
        }
        for (size_t at = 0; at < is_element.size(); ++at) {
          if (is_element[at]) continue;
          EXPECT_EQ(std::memcmp(some.views()[t].data + at * size, all.views()[t].data + at * size, size), 0)
              << part.id();
        }
      }
    }
  }
}

// Whose tensors may be shorter: what the support names of the whole beyond them counts for nothing.
TEST(Support, ALeadingPartHasTheLeadingElementsOfItsWhole) {
  const OpRegistry ops = make_op_registry();
  const Op& op = ops.named("reduce");
  const Case whole = ops.parse_case("reduce:kind=max,outer=3,n=4,dtype=f32,support=x.1.3-7.11");
  const FilledCase all(op, whole, 1, 1), first(op, op.leading_part(whole).value(), 1, 1);
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(first.views()[0].at(i), all.views()[0].at(i)) << i;
  EXPECT_NE(all.views()[0].at(3), 0);
  EXPECT_EQ(all.views()[0].at(8), 0);
}

}  // namespace
}  // namespace assay
