// Summation trees and the spines of long sums: what is read from counts of terms, which fingerprint_test.cpp takes from
// simulated kernels.
#include "check/sum_tree.h"

#include <gtest/gtest.h>

#include "check/sum_spine.h"

namespace assay {
namespace {

TEST(SumTree, TextsAndShapes) {
  const auto leaf = [](int i) { return SumTree{i}; };
  const SumTree four{-1, {{-1, {leaf(0), leaf(1)}}, {-1, {leaf(2), leaf(3)}}}};
  EXPECT_EQ(text_of(four), "(0,1,(2,3))");
  EXPECT_EQ(shape_of(four), "pairwise");
  const SumTree far{-1, {{-1, {leaf(0), leaf(2)}}, {-1, {leaf(1), leaf(3)}}}};
  EXPECT_EQ(shape_of(far), "pairwise, far ones first");
  const SumTree at_once{-1, {leaf(0), leaf(1), leaf(2), leaf(3)}};
  EXPECT_EQ(text_of(at_once), "[0:3]");
  EXPECT_EQ(shape_of(at_once), "all at once");
  EXPECT_EQ(step_of(at_once), 4);
  EXPECT_EQ(step_of(four), 0);
  const SumTree other{-1, {{-1, {leaf(0), leaf(3)}}, {-1, {leaf(1), leaf(2)}}}};
  EXPECT_EQ(shape_of(other), "irregular");
}

TEST(SumTree, WhatIsNoTreeIsNone) {
  EXPECT_TRUE(tree_of(std::vector<int>{1, 2, 3, 2, 1, 3, 3, 3, 1}, 3).has_value());
  EXPECT_FALSE(tree_of(std::vector<int>{1, 2, 2, 2, 1, 3, 2, 3, 1}, 3).has_value());
  EXPECT_FALSE(tree_of(std::vector<int>{1, 2, 2, 2, 1, 2, 2, 2, 1}, 3).has_value());
  EXPECT_FALSE(tree_of(std::vector<int>{1, 5, 5, 1}, 2).has_value());
}

// "sequential"; of blocks "ORDER; TERMS of the first, NUMBER".
std::string spine(const std::vector<int>& lost, int64_t stretch = 32) {
  const SumSpine found = spine_of(lost, stretch);
  if (found.blocks == 0) return found.order;
  return found.order + "; " + std::to_string(found.block) + ", " + std::to_string(found.blocks);
}

TEST(SumSpine, Orders) {
  EXPECT_EQ(spine({1, 2, 3, 4, 5, 6, 7, 8}), "sequential");
  EXPECT_EQ(spine({8, 8, 8, 8, 8, 8, 8, 8}), "all meet last");
  EXPECT_EQ(spine({1, 2, 4, 4, 8, 8, 8, 8}), "pairwise");
  EXPECT_EQ(spine({1, 2, 4, 4, 6, 6, 8, 8}), "blocks of 64 in turn, sequential inside; 64, 4");
  EXPECT_EQ(spine({3, 3, 3, 6, 6, 6, 8, 8}), "blocks of 2 x 96, 1 x 64 in turn, which meet as one; 96, 3");
  EXPECT_EQ(spine({1, 4, 4, 3, 8, 8, 8, 8}), "blocks of 128 in turn, of their own order inside; 128, 2");
}

TEST(SumSpine, OfSingleTermsTheFirstRowHasNoPair) {
  EXPECT_EQ(spine({0, 2, 3, 4}, 1), "sequential");
  EXPECT_EQ(spine({0, 4, 4, 4, 8, 8, 8, 8}, 1), "blocks of 4 in turn, which meet as one; 4, 2");
  EXPECT_EQ(spine({0, 2, 3, 4}, 2), "");
}

TEST(SumSpine, WhatIsNoneOfTheseHasNoOrder) {
  EXPECT_EQ(spine({1, 2, 3, 4, 5, 6, 8, 8}), "") << "blocks of one term";
  EXPECT_EQ(spine({1, 2, 4, 4, 8, 7, 8, 8}), "") << "a block that does not meet as a whole";
  EXPECT_EQ(spine({2, 2, 9, 9, 9, 9, 9, 9}), "") << "more than there are";
  EXPECT_EQ(spine({8, 7, 6, 5, 4, 3, 2, 1}), "");
}

}  // namespace
}  // namespace assay
