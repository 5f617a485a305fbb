#include "reference/bias_gelu/cases.h"

#include "reference/row_ops.h"

namespace assay::gelu {

std::vector<Case> cases(const Op& op, Tier tier) {
  CaseList list(op, tier);
  const std::vector<std::string> types{"dtype=f32", "dtype=f64", "dtype=f16", "dtype=bf16"};
  const std::vector<std::string> forms{"form=erf", "form=tanh"};
  add_product(list, Tier::smoke, {"rows=7,cols=33,form=erf", "rows=7,cols=33,form=tanh"}, types);
  add_product(list, Tier::smoke,
              {"rows=5,cols=257,dtype=f32,fill=negative", "rows=5,cols=257,dtype=f32,fill=tails",
               "rows=3,cols=129,dtype=f64,fill=ascending", "rows=40,cols=37,dtype=f32,fill=special"},
              forms);
  for (const char* fields : {
           "rows=6,cols=63,form=erf,dtype=f32,fill=nan_one",
           "rows=9,cols=17,form=tanh,dtype=f32,fill=bias_onehot",
           "rows=4,cols=65,form=erf,dtype=f32,fill=opposite",
           "rows=3,cols=9,form=tanh,dtype=f32,fill=huge",
           "rows=4,cols=31,form=erf,dtype=f32,fill=subnormal",
           "rows=4,cols=16,form=tanh,dtype=f32,fill=zeros",
           "rows=5,cols=127,pad=5,form=erf,dtype=f32,offset=1",
           "rows=5,cols=16,pad=1,form=tanh,dtype=f32,place=start,fill=uniform",
           "rows=0,cols=16,form=erf,dtype=f32",
           "rows=3,cols=0,form=tanh,dtype=f32",
           "rows=5,cols=1,form=erf,dtype=f32",
           "rows=16,cols=197,form=erf,dtype=f32,seeds=8",
           "rows=16,cols=197,form=tanh,dtype=bf16,seeds=8",
           "rows=5,cols=8209,form=tanh,dtype=f32",  // several threads, and a long row's later pieces
           "rows=20,cols=56,form=erf,dtype=bf16",
           "rows=20,cols=56,form=tanh,dtype=f16",
           "rows=5,cols=51,pad=1,form=erf,dtype=f32",
           // what `assay selftest --minimise` found to catch more seeded faults
           "rows=5,cols=77,form=tanh,dtype=f32,fill=integers",
       }) {
    list.add(Tier::smoke, fields);
  }

  std::vector<std::string> variants;
  for (const std::string& form : forms) {
    for (const Fill& fill : fills()) {
      if (fill.name != "every") variants.push_back(form + ",fill=" + std::string(fill.name));
    }
  }
  add_row_sweep(list, variants);
  add_every_input(list, forms);

  // Feed-forward widths of transformers (GPT-2, BERT: 3072; Qwen 2.5: 4864), and more rows than 2^16.
  add_product(list, Tier::ci, {"rows=17,cols=3072", "rows=4,cols=4864"},
              {"form=tanh,dtype=f32", "form=erf,dtype=f32", "form=tanh,dtype=bf16", "form=erf,dtype=f16"});
  list.add(Tier::ci, "rows=65537,cols=3,form=erf,dtype=f32");
  // Outputs past the caches, which kernels may store around them, and rows that begin where a cache line does: what
  // fills whole lines goes straight there, what is left of a row does not.
  list.add(Tier::ci, "rows=1024,cols=8193,pad=31,form=tanh,dtype=bf16");
  list.add(Tier::ci, "rows=1024,cols=8193,pad=31,form=erf,dtype=f16");
  list.add(Tier::nightly, "rows=1025,cols=2049,form=erf,dtype=f64");
  add_product(list, Tier::ci, {"rows=8,cols=384,seeds=8,form=tanh"}, {"dtype=f16", "dtype=f64"});
  add_product(list, Tier::nightly, {"rows=64,cols=14336,form=tanh", "rows=64,cols=14336,form=erf"}, types);
  list.add(Tier::nightly, "rows=1,cols=1048576,form=tanh,dtype=f32");
  return list.take();
}

}  // namespace assay::gelu
