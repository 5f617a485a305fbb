#include "reference/layernorm_residual/cases.h"

#include "reference/row_ops.h"

namespace assay::layernorm {

std::vector<Case> cases(const Op& op, Tier tier) {
  CaseList list(op, tier);
  const std::vector<std::string> types{"dtype=f32", "dtype=f64", "dtype=f16", "dtype=bf16"};
  add_product(list, Tier::smoke, {"rows=7,cols=33"}, types);
  add_product(list, Tier::smoke, {"rows=3,cols=1000,fill=shifted"}, {"dtype=f32", "dtype=f64", "dtype=bf16"});
  add_product(list, Tier::smoke, {"rows=4,cols=129,fill=tiny"}, {"dtype=f32", "dtype=f64", "dtype=f16"});
  for (const char* fields : {
           "rows=5,cols=65,bias=no,dtype=f32",
           "rows=5,cols=96,eps=0.1,dtype=f32",
           "rows=3,cols=300,dtype=f32,fill=level",
           "rows=5,cols=64,dtype=f32,fill=constant",
           "rows=4,cols=515,dtype=f32,fill=ascending",
           "rows=4,cols=128,dtype=f32,fill=cancelling",
           "rows=9,cols=31,dtype=f32,fill=scaled",
           "rows=6,cols=63,dtype=f32,fill=nan_one",
           "rows=40,cols=37,dtype=f32,fill=special",
           "rows=3,cols=9,dtype=f32,fill=huge",
           "rows=4,cols=17,dtype=f32,fill=zeros",
           "rows=5,cols=127,pad=5,dtype=f32,offset=1",
           "rows=5,cols=16,pad=1,dtype=f32,place=start,fill=uniform",
           "rows=0,cols=16,dtype=f32",
           "rows=5,cols=1,dtype=f32",
           "rows=5,cols=2,dtype=f32",
           "rows=2,cols=4099,dtype=f32,fill=uniform",
           "rows=16,cols=197,dtype=f32,seeds=8",
           "rows=16,cols=197,dtype=bf16,seeds=8",
           "rows=64,cols=1031,dtype=f32",          // several threads
           "rows=3,cols=20011,eps=0.5,dtype=f32",  // rows that a block walks along
           "rows=2,cols=20011,bias=no,dtype=bf16",
           "rows=7,cols=38,pad=3,dtype=bf16",
           // what `assay selftest --minimise` found to catch more seeded faults
           "rows=4,cols=63,dtype=f32,fill=nan_one",
           "rows=5,cols=77,bias=no,dtype=f16,fill=shifted",
           "rows=5,cols=77,dtype=f64,fill=constant",
           "rows=5,cols=77,pad=3,eps=1e-12,dtype=bf16,fill=tiny",
       }) {
    list.add(Tier::smoke, fields);
  }

  std::vector<std::string> variants;
  for (const Fill& fill : fills()) variants.push_back("fill=" + std::string(fill.name));
  for (const char* fields :
       {"bias=no", "bias=no,fill=shifted", "eps=1e-12,fill=tiny", "eps=0.25", "bias=no,fill=special"}) {
    variants.emplace_back(fields);
  }
  add_row_sweep(list, variants);

  // Hidden sizes of transformers (GPT-2, Qwen 2.5, Llama 3.1), and more rows than 2^16.
  add_product(list, Tier::ci, {"rows=17,cols=768", "rows=8,cols=896", "rows=4,cols=3584", "rows=2,cols=8192"},
              {"dtype=f32", "dtype=bf16", "dtype=f16"});
  list.add(Tier::ci, "rows=65537,cols=3,dtype=f32");
  // Outputs past the caches, which kernels may store around them; rows begin anywhere in a cache line, or where it
  // does.
  list.add(Tier::ci, "rows=1025,cols=2049,dtype=f64");
  list.add(Tier::nightly, "rows=2049,cols=4097,pad=31,dtype=f16");
  list.add(Tier::ci, "rows=8,cols=768,dtype=f32,fill=shifted,seeds=8");
  add_product(list, Tier::ci, {"rows=8,cols=384,seeds=8"}, {"dtype=f16", "dtype=f64"});
  add_product(list, Tier::nightly, {"rows=64,cols=16384", "rows=512,cols=768,fill=shifted"}, types);
  list.add(Tier::nightly, "rows=1,cols=1048576,dtype=f32");
  return list.take();
}

}  // namespace assay::layernorm
