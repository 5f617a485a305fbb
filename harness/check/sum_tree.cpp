#include "check/sum_tree.h"

#include <algorithm>
#include <numeric>

namespace assay {
namespace {

std::optional<SumTree> build(std::span<const int> sizes, int k, const std::vector<int>& terms) {
  if (terms.size() == 1) return SumTree{terms[0]};
  const int all = static_cast<int>(terms.size());
  const auto size = [&](int i, int j) { return sizes[static_cast<size_t>(i) * static_cast<size_t>(k) + j]; };
  // Terms that meet below this node are of one part.
  std::vector<std::vector<int>> parts;
  for (const int i : terms) {
    std::vector<std::vector<int>*> mine;
    for (std::vector<int>& part : parts) {
      const auto below = [&](int j) { return size(i, j) < all; };
      const auto count = std::count_if(part.begin(), part.end(), below);
      if (count == 0) continue;
      if (count != static_cast<std::ptrdiff_t>(part.size())) return std::nullopt;
      mine.push_back(&part);
    }
    if (mine.size() > 1) return std::nullopt;
    if (mine.empty()) {
      parts.push_back({i});
    } else {
      mine[0]->push_back(i);
    }
  }
  if (parts.size() < 2) return std::nullopt;
  SumTree node;
  for (const std::vector<int>& part : parts) {
    for (const int i : part) {
      for (const int j : terms) {
        if (std::find(part.begin(), part.end(), j) == part.end() && size(i, j) != all) return std::nullopt;
      }
    }
    std::optional<SumTree> below = build(sizes, k, part);
    if (!below) return std::nullopt;
    node.parts.push_back(std::move(*below));
  }
  return node;
}

// What a chain of two-part nodes adds in turn, the deepest first; the tree itself where it is none.
std::vector<const SumTree*> summands(const SumTree& tree) {
  std::vector<const SumTree*> all;
  const SumTree* at = &tree;
  while (at->parts.size() == 2) {
    const bool second_is_larger = at->parts[1].leaves() > at->parts[0].leaves();
    all.push_back(&at->parts[second_is_larger ? 0 : 1]);
    at = &at->parts[second_is_larger ? 1 : 0];
  }
  all.push_back(at);
  std::reverse(all.begin(), all.end());
  return all;
}

// "0:3", "0:6:2", "5": indices from `begin` on that go by equal steps; moves `begin` behind them.
std::string run_text(const std::vector<const SumTree*>& all, size_t& begin) {
  const int start = all[begin]->leaf;
  size_t end = begin + 1;
  const int step = end < all.size() && all[end]->is_leaf() ? all[end]->leaf - start : 0;
  while (end < all.size() && all[end]->is_leaf() && all[end]->leaf - all[end - 1]->leaf == step) ++end;
  if (end - begin < 3) {
    ++begin;
    return std::to_string(start);
  }
  const int last = all[end - 1]->leaf;
  begin = end;
  return std::to_string(start) + ":" + std::to_string(last) + (step == 1 ? "" : ":" + std::to_string(step));
}

std::string list_text(const std::vector<const SumTree*>& all) {
  std::string text;
  for (size_t i = 0; i < all.size();) {
    text += text.empty() ? "" : ",";
    if (all[i]->is_leaf()) {
      text += run_text(all, i);
    } else {
      text += text_of(*all[i++]);
    }
  }
  return text;
}

SumTree halves(int first, int step, int count) {
  if (count == 1) return {first};
  return {-1, {halves(first, step, count / 2), halves(first + count / 2 * step, step, count / 2)}};
}

// Each term first with the one half the length away.
SumTree far_first(int first, int step, int count) {
  if (count == 1) return {first};
  return {-1, {far_first(first, 2 * step, count / 2), far_first(first + step, 2 * step, count / 2)}};
}

// Leaves that are added in turn; empty when the tree is no such chain.
std::vector<int> chain(const SumTree& tree) {
  std::vector<int> indices;
  for (const SumTree* part : summands(tree)) {
    if (!part->is_leaf()) return {};
    indices.push_back(part->leaf);
  }
  return indices;
}

int common_step(const std::vector<int>& indices) {
  const int step = indices[1] - indices[0];
  for (size_t i = 1; i < indices.size(); ++i) {
    if (indices[i] - indices[i - 1] != step) return 0;
  }
  return step;
}

// The largest subtrees that are chains, in place of each a leaf numbered by its first term.
struct Chains {
  std::vector<std::vector<int>> all;
  SumTree rest;
};

SumTree collect(const SumTree& tree, std::vector<std::vector<int>>& all) {
  if (std::vector<int> indices = chain(tree); !indices.empty()) {
    const int first = *std::min_element(indices.begin(), indices.end());
    all.push_back(std::move(indices));
    return {first};
  }
  SumTree node;
  for (const SumTree& part : tree.parts) node.parts.push_back(collect(part, all));
  return node;
}

void renumber(SumTree& tree, const std::vector<int>& firsts) {
  if (tree.is_leaf()) {
    tree.leaf = static_cast<int>(std::lower_bound(firsts.begin(), firsts.end(), tree.leaf) - firsts.begin());
  }
  for (SumTree& part : tree.parts) renumber(part, firsts);
}

void sort_parts(SumTree& tree) {
  for (SumTree& part : tree.parts) sort_parts(part);
  std::sort(tree.parts.begin(), tree.parts.end(), [](const auto& a, const auto& b) { return a.first() < b.first(); });
}

// Equal chains and how their sums are added; empty when they are not equal.
std::string chains_text(const SumTree& tree) {
  std::vector<std::vector<int>> all;
  SumTree rest = collect(tree, all);
  const size_t length = all.front().size();
  const int step = length > 1 ? common_step(all.front()) : 0;
  if (step == 0 || all.size() < 2) return "";
  std::vector<int> firsts;
  for (const std::vector<int>& one : all) {
    if (one.size() != length || common_step(one) != step) return "";
    firsts.push_back(*std::min_element(one.begin(), one.end()));
  }
  std::sort(firsts.begin(), firsts.end());
  renumber(rest, firsts);
  sort_parts(rest);
  const std::string what = step == 1 || step == -1 ? "blocks of " + std::to_string(length)
                                                   : std::to_string(all.size()) + " lanes of " + std::to_string(length);
  return what + ", then " + shape_of(rest);
}

}  // namespace

int SumTree::leaves() const {
  int count = is_leaf() ? 1 : 0;
  for (const SumTree& part : parts) count += part.leaves();
  return count;
}

int SumTree::first() const {
  if (is_leaf()) return leaf;
  int least = parts.front().first();
  for (const SumTree& part : parts) least = std::min(least, part.first());
  return least;
}

std::optional<SumTree> tree_of(std::span<const int> sizes, int k) {
  std::vector<int> terms(static_cast<size_t>(k));
  std::iota(terms.begin(), terms.end(), 0);
  return build(sizes, k, terms);
}

std::string text_of(const SumTree& tree) {
  if (tree.is_leaf()) return std::to_string(tree.leaf);
  if (tree.parts.size() == 2) return "(" + list_text(summands(tree)) + ")";
  std::vector<const SumTree*> parts;
  for (const SumTree& part : tree.parts) parts.push_back(&part);
  return "[" + list_text(parts) + "]";
}

int step_of(const SumTree& tree) {
  int step = 0;
  for (const SumTree* at = &tree;;) {
    const auto is_leaf = [](const SumTree& part) { return part.is_leaf(); };
    const auto leaves = static_cast<int>(std::count_if(at->parts.begin(), at->parts.end(), is_leaf));
    const auto sum = std::find_if_not(at->parts.begin(), at->parts.end(), is_leaf);
    const bool is_last = sum == at->parts.end();
    if (at->parts.size() - static_cast<size_t>(leaves) > 1 || (step != 0 && leaves != step)) return 0;
    step = leaves;
    if (is_last) return step;
    at = &*sum;
  }
}

std::string shape_of(const SumTree& tree) {
  const int k = tree.leaves();
  if (k == 1) return "one term";
  const std::string text = text_of(tree);
  const bool power_of_two = (k & (k - 1)) == 0;
  if (power_of_two && k > 2 && text == text_of(halves(0, 1, k))) return "pairwise";
  if (power_of_two && k > 2 && text == text_of(far_first(0, 1, k))) return "pairwise, far ones first";
  if (const std::vector<int> indices = chain(tree); !indices.empty()) {
    if (k == 2 || (indices[0] == 0 && common_step(indices) == 1)) return "sequential";
    std::vector<int> turned(indices.rbegin(), indices.rend());  // the two deepest have no order
    if (turned[0] == 0 && turned.back() == k - 2 && common_step({turned.begin(), turned.end() - 2}) == 1) {
      return "sequential, last to first";
    }
    return "one at a time, in another order";
  }
  if (const int step = step_of(tree); step == k) return "all at once";
  if (const int step = step_of(tree); step > 1) return "steps of " + std::to_string(step);
  const std::string chains = chains_text(tree);
  return chains.empty() ? "irregular" : chains;
}

}  // namespace assay
