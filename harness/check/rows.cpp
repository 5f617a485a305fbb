#include "check/rows.h"

#include <algorithm>

namespace assay {

std::vector<AdjacentElements> runs_by_address(const TensorSpec& tensor) {
  std::vector<AdjacentElements> runs;
  const auto add = [&runs](int64_t offset, int64_t count) {
    if (!runs.empty() && runs.back().offset + runs.back().count == offset) {
      runs.back().count += count;
    } else {
      runs.push_back({offset, count});
    }
  };
  for_each_row(tensor, [&](const Row& row) {
    if (row.stride == 1 || row.count == 1) {
      add(row.offset, row.count);
    } else {
      for (int64_t i = 0; i < row.count; ++i) add(row.offset + i * row.stride, 1);
    }
  });
  const auto before = [](const AdjacentElements& a, const AdjacentElements& b) { return a.offset < b.offset; };
  if (!std::is_sorted(runs.begin(), runs.end(), before)) std::sort(runs.begin(), runs.end(), before);
  return runs;
}

}  // namespace assay
