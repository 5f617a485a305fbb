// Sums of thousands of terms: in what order stretches of neighbours meet the first term, as probe_spine shows it
// (core/probe.h). Of few terms every pair is asked, and the whole tree is seen: check/sum_tree.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace assay {

struct SumSpine {
  // In words: "sequential", "pairwise", "all meet last", "blocks of 256 in turn, sequential inside", "blocks of 11 x
  // 320, 2 x 288 in turn, which meet as one"; empty: none of these.
  std::string order{};
  int64_t block = 0;   // terms of the first block; 0: there are none
  int64_t blocks = 0;  // how many
};

// From lost[r], the number of stretches that were swallowed before the end of the r-th met the first term. `stretch`:
// the terms of each; of one term, row 0 has no pair and is not looked at.
SumSpine spine_of(std::span<const int> lost, int64_t stretch);

}  // namespace assay
