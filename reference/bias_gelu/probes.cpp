// The probes of bias_gelu: nothing is summed; the function itself is told by its values, of 16-bit types by all of
// them.
#include "reference/bias_gelu/cases.h"
#include "reference/probe_list.h"

namespace assay::gelu {

std::vector<ProbeSet> probes(const Op& op) {
  std::vector<ProbeSet> all;
  for (const char* form : {"erf", "tanh"}) {
    for (const DType type : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
      ProbeList list(op, "form=" + std::string(form) + ",dtype=" + std::string(name_of(type)), "y");
      list.add(Reveals::values, "rows=256,cols=256,fill=probe_patterns", 1, 256);
      list.add(Reveals::subnormals, "rows=3,cols=64,fill=probe_subnormal", 1, 64, 0.5);
      all.push_back(list.take());
    }
  }
  return all;
}

}  // namespace assay::gelu
