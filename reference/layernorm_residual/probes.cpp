// The probes of layernorm_residual: x holds the terms, the residual is zero, and the mean, which is stored in the type
// of the statistics, tells of the first sum. The sum of squares has no negative terms and is told by `order` alone.
#include "reference/layernorm_residual/cases.h"
#include "reference/probe_list.h"

namespace assay::layernorm {

std::vector<ProbeSet> probes(const Op& op) {
  // As many rows as pairs have for what needs fewer: a library that compiles for each shape compiles once.
  constexpr int64_t kFew = 64, kMany = 4096, kRows = probe::pair_rows(kFew);
  static_assert(kRows >= probe::kLadderRows && kRows >= probe::kSubnormalRows);
  const auto add = [](ProbeList& list, Reveals reveals, int64_t rows, int64_t cols, const char* fill) {
    list.add(reveals, "rows=" + std::to_string(rows) + ",cols=" + std::to_string(cols) + ",fill=" + fill, cols, 1,
             1 / static_cast<double>(cols));
  };
  std::vector<ProbeSet> all;
  for (const DType type : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const std::string variant = "dtype=" + std::string(name_of(type));
    ProbeList list(op, variant, "mean");
    add(list, Reveals::tree, kRows, kFew, "probe_pairs");
    add(list, Reveals::spine, spine_rows(type), kMany, "probe_spine");
    add(list, Reveals::near, kRows, kFew, "probe_near");
    add(list, Reveals::far, kRows, kFew, "probe_far");
    add(list, Reveals::subnormals, kRows, kFew, "probe_subnormal");
    ProbeSet set = list.take();
    ProbeList of_y(op, variant, "y");
    of_y.add(Reveals::order, "rows=64,cols=1024", 1024, 1024);
    of_y.add(Reveals::order_alone, "rows=1,cols=1024", 1024, 1024);
    for (Probe& probe : of_y.take().probes) set.probes.push_back(std::move(probe));
    all.push_back(std::move(set));
  }
  return all;
}

}  // namespace assay::layernorm
