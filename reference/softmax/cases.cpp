#include "reference/softmax/cases.h"

#include "reference/row_ops.h"

namespace assay::softmax {

std::vector<Case> cases(const Op& op, Tier tier) {
  CaseList list(op, tier);
  const std::vector<std::string> types{"dtype=f32", "dtype=f64", "dtype=f16", "dtype=bf16"};
  add_product(list, Tier::smoke, {"rows=7,cols=33"}, types);
  add_product(list, Tier::smoke, {"rows=3,cols=1000,fill=large"}, {"dtype=f32", "dtype=f64", "dtype=bf16"});
  add_product(list, Tier::smoke, {"rows=4,cols=129,fill=negative"}, {"dtype=f32", "dtype=f64", "dtype=f16"});
  for (const char* fields : {
           "rows=4,cols=515,dtype=f32,fill=ascending",
           "rows=5,cols=65,scale=0.125,mask=additive,dtype=f32,fill=masked",
           "rows=18,cols=17,scale=0.125,mask=additive,dtype=f32,fill=causal",
           "rows=7,cols=31,mask=additive,dtype=f32,fill=full_rows",
           "rows=6,cols=128,scale=0.3,mask=additive,dtype=bf16,fill=finite_mask",
           "rows=5,cols=64,dtype=f32,fill=nan_one",
           "rows=40,cols=37,dtype=f32,fill=special",
           "rows=40,cols=37,mask=additive,dtype=f32,fill=special",
           "rows=3,cols=9,dtype=f32,fill=huge",
           "rows=5,cols=127,pad=5,dtype=f32,offset=1",
           "rows=5,cols=16,pad=1,dtype=f32,place=start,fill=uniform",
           "rows=0,cols=16,dtype=f32",
           "rows=3,cols=0,dtype=f32",
           "rows=5,cols=1,dtype=f32",
           "rows=2,cols=4099,dtype=f32,fill=uniform",
           "rows=16,cols=197,scale=0.125,dtype=f32,seeds=8",
           "rows=16,cols=197,scale=0.125,dtype=bf16,seeds=8",
           "rows=5,cols=64,scale=0.3,dtype=f64",  // a scale rounded to f32
           "rows=1,cols=32771,dtype=f64",         // a row that no cache close by holds
           "rows=256,cols=1031,dtype=f32",        // scratch of several threads
           "rows=3,cols=20011,dtype=f32",         // rows that a block walks along, and
           "rows=2,cols=140009,dtype=bf16",
           "rows=4,cols=20011,scale=2,mask=additive,dtype=f32,fill=causal",  // what is masked or large in their first
                                                                             // part
           "rows=3,cols=20011,scale=100,dtype=f32,fill=negative",
           "rows=21,cols=39,scale=4,dtype=f16",
           "rows=5,cols=70,scale=0.3,mask=additive,dtype=f32",
           "rows=7,cols=38,pad=3,dtype=bf16",
           // what `assay selftest --minimise` found to catch more seeded faults
           "rows=1,cols=127,scale=0.08838834764831845,mask=additive,dtype=f32,fill=full_rows",
           "rows=5,cols=77,scale=0.08838834764831845,mask=additive,dtype=f64,fill=full_rows",
       }) {
    list.add(Tier::smoke, fields);
  }

  std::vector<std::string> variants;
  for (const Fill& fill : kFills) variants.push_back("fill=" + std::string(fill.name));
  const std::string attention = "scale=0.08838834764831845,mask=additive,fill=";  // 1/sqrt(128)
  for (const char* word : {"normal", "masked", "causal", "full_rows", "finite_mask", "special"}) {
    variants.push_back(attention + word);
  }
  add_row_sweep(list, variants);

  // Lengths of attention rows and vocabularies (ViT, Whisper, GPT-2, Qwen 2.5), and more rows than 2^16.
  add_product(list, Tier::ci,
              {"rows=12,cols=197", "rows=4,cols=1500", "rows=2,cols=8192", "rows=1,cols=50257", "rows=1,cols=151936"},
              {"dtype=f32", "dtype=bf16"});
  list.add(Tier::ci, "rows=65537,cols=3,dtype=f32");
  // Outputs past the caches, which kernels may store around them; rows begin where a cache line does, or anywhere.
  list.add(Tier::ci, "rows=1024,cols=2049,pad=7,dtype=f64");
  list.add(Tier::nightly, "rows=2049,cols=4097,dtype=bf16");
  list.add(Tier::ci, "rows=8,cols=384,scale=0.125,mask=additive,dtype=f32,fill=masked,seeds=8");
  add_product(list, Tier::ci, {"rows=8,cols=384,seeds=8"}, {"dtype=f16", "dtype=f64"});
  add_product(list, Tier::nightly, {"rows=3,cols=128256", "rows=512,cols=512,scale=0.125,mask=additive,fill=causal"},
              types);
  list.add(Tier::nightly, "rows=1,cols=1048576,dtype=f32");
  return list.take();
}

}  // namespace assay::softmax
