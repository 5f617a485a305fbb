#include "check/sum_spine.h"

#include <algorithm>
#include <vector>

namespace assay {
namespace {

// Lengths of blocks of two and more, the first of length `first`, each of which meets the first term as a whole when
// those before it have. Empty when they are none.
std::vector<int> blocks_after(std::span<const int> lost, int first) {
  const auto n = static_cast<int>(lost.size());
  std::vector<int> lengths{first};
  for (int begin = first; begin < n; begin += lengths.back()) {
    const int end = lost[static_cast<size_t>(begin)];
    if (end - begin < 2 || end > n) return {};
    for (int r = begin; r < end; ++r) {
      if (lost[static_cast<size_t>(r)] != end) return {};
    }
    lengths.push_back(end - begin);
  }
  return lengths;
}

// "256", "11 x 320, 2 x 288": terms.
std::string lengths_text(const std::vector<int>& lengths, int64_t stretch) {
  std::string text;
  for (size_t i = 0; i < lengths.size();) {
    size_t end = i;
    while (end < lengths.size() && lengths[end] == lengths[i]) ++end;
    const std::string length = std::to_string(lengths[i] * stretch);
    if (end - i == lengths.size()) return length;
    text += (text.empty() ? "" : ", ") + std::to_string(end - i) + " x " + length;
    i = end;
  }
  return text;
}

}  // namespace

SumSpine spine_of(std::span<const int> lost, int64_t stretch) {
  const auto n = static_cast<int>(lost.size());
  const int from = stretch == 1 ? 1 : 0;
  const auto holds = [&](const auto& expected) {
    for (int r = from; r < n; ++r) {
      if (lost[static_cast<size_t>(r)] != expected(r)) return false;
    }
    return true;
  };
  if (holds([](int r) { return r + 1; })) return {"sequential"};
  if (holds([&](int) { return n; })) return {"all meet last"};
  if (holds([](int r) {
        int size = 1;
        while (size < r + 1) size *= 2;
        return size;
      })) {
    return {"pairwise"};
  }
  for (int first = 2; first <= n / 2; ++first) {
    const std::vector<int> lengths = blocks_after(lost, first);
    if (lengths.empty() || *std::max_element(lost.begin() + from, lost.begin() + first) > first) continue;
    bool in_turn = true;
    for (int r = from; r < first; ++r) in_turn = in_turn && lost[static_cast<size_t>(r)] == r + 1;
    const bool at_once = lost[static_cast<size_t>(from)] == first;
    return {"blocks of " + lengths_text(lengths, stretch) + " in turn, " +
                (in_turn   ? "sequential inside"
                 : at_once ? "which meet as one"
                           : "of their own order inside"),
            lengths[0] * stretch, static_cast<int64_t>(lengths.size())};
  }
  return {};
}

}  // namespace assay
