// Summation trees: which terms are added to which, and when, as FPRev's probes show it (core/probe.h). A node with more
// than two parts adds them all at once, as a matrix unit does.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace assay {

struct SumTree {
  int leaf = -1;  // index of a term; -1: a node
  std::vector<SumTree> parts{};

  bool is_leaf() const { return parts.empty(); }
  int leaves() const;  // terms below
  int first() const;   // the least index of them
};

// Of k terms, from sizes[i * k + j], the number of terms below the point where i and j meet. Nothing when these are not
// those of a tree.
std::optional<SumTree> tree_of(std::span<const int> sizes, int k);

// Canonical, without spaces: "(0,1,(2,3))" is (0 + 1) + (2 + 3), parts of a node with two being added to the larger,
// each in turn; "[0:15]" adds sixteen at once; "a:b" and "a:b:s" are indices from a to b, by steps of s.
std::string text_of(const SumTree& tree);

// In words: "sequential", "pairwise", "steps of 16" (terms added at once to the running sum), "16 lanes of 4, then
// pairwise", ... "irregular" where there is none.
std::string shape_of(const SumTree& tree);

// Terms that each step adds to the running sum at once; 0 when the tree is no such chain of steps.
int step_of(const SumTree& tree);

}  // namespace assay
