// The probes of gemm: A holds the terms, one sum a row, and B ones, but where a product needs both factors.
#include "reference/gemm/gemm.h"
#include "reference/probe_list.h"

namespace assay::gemm {
namespace {

constexpr int64_t kFew = 64, kSome = 128, kMany = 4096;
constexpr int64_t kColumns = 16;  // of B: a tile of most kernels, and no vector

std::string sizes(int64_t m, int64_t n, int64_t k, const char* fill) {
  return "m=" + std::to_string(m) + ",n=" + std::to_string(n) + ",k=" + std::to_string(k) + ",fill=" + fill;
}

// The second factor differs from column to column, so that there are as many columns as rows: one sum on the diagonal.
void add_spine(ProbeList& list, Reveals reveals, DType type, int64_t rows, int64_t k) {
  const int64_t columns = probe::in_both_factors(type) ? rows : kColumns;
  list.add(reveals, sizes(rows, columns, k, "probe_spine"), k, columns);
}

ProbeSet probes_of(const Op& op, DType type) {
  const std::string variant = type == DType::e4m3 ? "tb=t,out=f32,dtype=e4m3" : "dtype=" + std::string(name_of(type));
  ProbeList list(op, variant, "c");
  if (probe::in_both_factors(type)) {
    add_spine(list, Reveals::steps, type, kSome, kSome);
  } else {
    list.add(Reveals::tree, sizes(probe::pair_rows(kFew), kColumns, kFew, "probe_pairs"), kFew, kColumns);
  }
  add_spine(list, Reveals::spine, type, spine_rows(type), kMany);
  add_spine(list, Reveals::spine_half, type, spine_rows(type), kMany / 2);
  list.add(Reveals::near, sizes(probe::kLadderRows, kColumns, kSome, "probe_near"), kSome, kColumns);
  list.add(Reveals::far, sizes(probe::kLadderRows, kColumns, kSome, "probe_far"), kSome, kColumns);
  list.add(Reveals::ends, sizes(probe::kLadderSteps, kColumns, kMany, "probe_ends"), kMany, kColumns);
  if (type == DType::f32 || type == DType::f64) {
    list.add(Reveals::input_bits, sizes(probe::kBitsRows, kColumns, kFew, "probe_bits"), kFew, kColumns);
    list.add(Reveals::fused_multiply, sizes(probe::fused_rows(kFew), kColumns, kFew, "probe_fused"), kFew, kColumns);
  }
  // 2^6 makes subnormal numbers of any type normal ones that it holds, or that the output does.
  list.add(Reveals::subnormals_in, sizes(16, kColumns, kFew, "probe_subnormal") + ",alpha=64", kFew, kColumns, 64);
  list.add(Reveals::subnormals_out, sizes(16, kColumns, kFew, "probe_subnormal") + ",alpha=0.5", kFew, kColumns, 0.5);
  list.add(Reveals::order, sizes(64, 64, 1024, "probe_order"), 1024, 64);
  list.add(Reveals::order_alone, sizes(1, 64, 1024, "probe_order"), 1024, 64);
  return list.take();
}

}  // namespace

std::vector<ProbeSet> probes(const Op& op) {
  std::vector<ProbeSet> all;
  for (const DType type : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::e4m3}) {
    all.push_back(probes_of(op, type));
  }
  return all;
}

}  // namespace assay::gemm
