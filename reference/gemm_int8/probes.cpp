// The probes of gemm_int8: its sums are exact in any order; what it may do in its own way is the rounding of results.
#include "reference/gemm_int8/gemm_int8.h"
#include "reference/probe_list.h"

namespace assay::gemm_int8 {

std::vector<ProbeSet> probes(const Op& op) {
  ProbeList list(op, "dtype=i8", "y");
  list.add(Reveals::ties, "m=128,n=16,k=64,fill=probe_steps", 64, 16, 0.5);
  list.add(Reveals::order, "m=64,n=64,k=1024,zy=3,scales=channel,fill=int8_full", 1024, 64);
  list.add(Reveals::order_alone, "m=1,n=64,k=1024,zy=3,scales=channel,fill=int8_full", 1024, 64);
  return {list.take()};
}

}  // namespace assay::gemm_int8
