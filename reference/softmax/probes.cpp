// The probes of softmax: a sum of exponentials has no negative terms. Which small ones a 1 swallows, and random rows,
// tell one order from another, but no tree.
#include "reference/probe_list.h"
#include "reference/softmax/cases.h"

namespace assay::softmax {

std::vector<ProbeSet> probes(const Op& op) {
  std::vector<ProbeSet> all;
  for (const DType type : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    ProbeList list(op, "dtype=" + std::string(name_of(type)), "y");
    list.add(Reveals::absorbed, "rows=128,cols=128,fill=probe_absorb", 128, 128);
    list.add(Reveals::faint, "rows=4,cols=64,fill=probe_faint", 64, 64);
    list.add(Reveals::order, "rows=64,cols=1000", 1000, 1000);
    list.add(Reveals::order_alone, "rows=1,cols=1000", 1000, 1000);
    all.push_back(list.take());
  }
  return all;
}

}  // namespace assay::softmax
