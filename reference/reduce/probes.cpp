// The probes of reduce: sums of rows, and of columns; a maximum is the same in any order.
#include "reference/probe_list.h"
#include "reference/reduce/cases.h"

namespace assay::reduce {
namespace {

std::string rows(int64_t outer, int64_t n, const char* fill) {
  return "outer=" + std::to_string(outer) + ",n=" + std::to_string(n) + ",fill=" + fill;
}

}  // namespace

std::vector<ProbeSet> probes(const Op& op) {
  constexpr int64_t kFew = 64, kSome = 128, kMany = 4096;
  std::vector<ProbeSet> all;
  for (const DType type : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    ProbeList list(op, "kind=sum,dtype=" + std::string(name_of(type)), "y");
    list.add(Reveals::tree, rows(probe::pair_rows(kSome), kSome, "probe_pairs"), kSome);
    list.add(Reveals::tree_across,
             "inner=" + std::to_string(probe::pair_rows(kFew)) + "," + rows(1, kFew, "probe_pairs"), kFew);
    list.add(Reveals::spine, rows(spine_rows(type), kMany, "probe_spine"), kMany);
    list.add(Reveals::spine_half, rows(spine_rows(type), kMany / 2, "probe_spine"), kMany / 2);
    list.add(Reveals::near, rows(probe::kLadderRows, kSome, "probe_near"), kSome);
    list.add(Reveals::far, rows(probe::kLadderRows, kSome, "probe_far"), kSome);
    if (type == DType::f32 || type == DType::f64) {
      list.add(Reveals::input_bits, rows(probe::kBitsRows, kFew, "probe_bits"), kFew);
    }
    list.add(Reveals::subnormals, rows(16, kFew, "probe_subnormal"), kFew);
    list.add(Reveals::order, rows(64, 1024, "probe_order"), 1024);
    list.add(Reveals::order_alone, rows(1, 1024, "probe_order"), 1024);
    all.push_back(list.take());
  }
  return all;
}

}  // namespace assay::reduce
