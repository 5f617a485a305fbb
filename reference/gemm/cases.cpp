// What is tried of gemm at each tier. The faults each group is there for stand beside it.
#include <algorithm>
#include <cstdlib>

#include "reference/case_list.h"
#include "reference/gemm/gemm.h"

namespace assay::gemm {
namespace {

using std::to_string;

const std::vector<std::string> kDTypes{"f32", "f64", "f16", "bf16"};
const std::vector<std::string> kLayouts{"", ",ta=t", ",tb=t", ",ta=t,tb=t"};
const std::string kPads = ",pad_a=3,pad_b=1,pad_c=5";  // all different, so that a swapped leading dimension shows

std::string shape(int64_t m, int64_t n, int64_t k) {
  return "m=" + to_string(m) + ",n=" + to_string(n) + ",k=" + to_string(k);
}
std::string of(const std::string& dtype) { return ",dtype=" + dtype; }

void add_smoke(CaseList& list) {
  for (const char* fields : {
           "m=1,n=1,k=1,dtype=f32",
           "m=0,n=5,k=3,dtype=f32",
           "m=5,n=7,k=0,beta=0.5,dtype=f64",
           "m=33,n=17,k=65,dtype=f32",
           "m=65,n=31,k=33,ta=t,dtype=f64",
           "m=17,n=65,k=31,tb=t,dtype=f16",
           "m=31,n=33,k=129,ta=t,tb=t,dtype=bf16",
           "m=31,n=9,k=47,alpha=-0.75,beta=0.5,pad_a=3,pad_b=1,pad_c=5,dtype=f32",
           "m=9,n=31,k=63,ta=t,alpha=1.5,beta=1,pad_a=3,pad_b=1,pad_c=5,dtype=f16",
           "m=19,n=23,k=29,alpha=0,beta=0.5,dtype=bf16",
           "m=19,n=23,k=29,alpha=0,dtype=f32",
           "batch=3,m=15,n=17,k=33,tb=t,pad_a=3,pad_b=1,pad_c=5,dtype=f32",
           "m=16,n=16,k=1024,dtype=f16,fill=uniform",  // a 16-bit accumulator
           "m=16,n=16,k=1024,dtype=bf16,fill=uniform",
           "m=8,n=16,k=4096,dtype=f32,fill=uniform",
           "m=129,n=127,k=65,dtype=f32,fill=ones",  // dropped tails
           "m=33,n=65,k=129,ta=t,tb=t,dtype=f32,fill=integers",
           "m=33,n=29,k=47,dtype=f16,fill=onehot",
           "m=37,n=41,k=43,dtype=f64,fill=identity",
           "m=33,n=29,k=47,dtype=bf16,fill=special",
           "m=33,n=29,k=47,dtype=f16,fill=nan_one",
           "m=33,n=29,k=47,dtype=f32,fill=huge",
           "m=33,n=29,k=47,dtype=f32,fill=subnormal",
           "m=33,n=29,k=48,tb=t,dtype=f64,fill=cancelling",
           "m=33,n=29,k=47,dtype=f32,fill=scaled",
           "m=33,n=29,k=47,dtype=f32,offset=1",
           "m=33,n=29,k=47,dtype=f64,place=start",
           "m=32,n=24,k=32,ta=t,dtype=f32",  // a transpose ignored
           "m=24,n=32,k=32,tb=t,dtype=f32",
           "m=64,n=64,k=64,dtype=f32,seeds=8",
           "m=33,n=65,k=129,tb=t,out=bf16,dtype=e4m3",
           "m=16,n=16,k=1024,out=f32,dtype=e4m3,fill=uniform",  // sums that were never promoted
           "m=33,n=29,k=47,out=f32,dtype=e4m3,fill=integers",
           "m=21,n=19,k=517,ta=t,dtype=f32",                // a tail after several blocks of k
           "m=1008,n=5,k=7,dtype=f32",                      // more than one of the largest tiles
           "m=3,n=1030,k=260,tb=t,dtype=bf16",              // and along rows of one tile
           "m=192,n=256,k=128,beta=1,dtype=bf16",           // where tiles need no edges, with the old c
           "m=25,n=37,k=19,alpha=0.3,beta=-0.7,dtype=f64",  // narrowed scalars
           "m=25,n=37,k=19,alpha=1.2000000476837158,beta=-0.699999988079071,tb=t,dtype=bf16",  // and the sign of beta
           "m=19,n=35,k=23,alpha=0,beta=-0.699999988079071,dtype=f16",
           "m=1,n=61,k=75,ta=t,tb=t,pad_a=3,pad_b=1,pad_c=5,dtype=f32",  // a vector that is not contiguous
           "m=63,n=1,k=75,pad_a=3,pad_b=1,pad_c=5,dtype=f64",
           "batch=2100,m=8,n=8,k=8,beta=0.5,dtype=f32",  // a job taken by two threads adds C twice
           // what `assay selftest --minimise` found to catch more seeded faults
           "m=1,n=5,k=15,ta=t,dtype=f64",
           "m=19,n=35,k=23,alpha=0,beta=-0.699999988079071,dtype=bf16",
           "m=19,n=35,k=23,ta=t,alpha=0,dtype=f32",
           "m=3,n=5,k=4099,tb=t,dtype=f32,fill=uniform",
           "m=3,n=5,k=7,batch=17,alpha=-0.75,beta=0.5,dtype=f32",
           "m=33,n=29,k=47,ta=t,alpha=0.1,beta=-0.3,dtype=f64",
           "m=33,n=29,k=47,ta=t,dtype=f16,fill=nan_one",
           "m=33,n=29,k=47,ta=t,dtype=f64,fill=subnormal",
           "m=33,n=29,k=47,tb=t,dtype=f16,fill=subnormal",
           "m=48,n=48,k=256,dtype=f16,fill=uniform,seeds=8",
           "m=7,n=5,k=0,dtype=bf16",
           "m=8,n=129,k=7,ta=t,tb=t,dtype=f16",
           "m=8,n=8,k=4096,dtype=f64,fill=uniform",
           "m=9,n=2,k=17,dtype=f32",
           "m=9,n=33,k=17,batch=5,pad_a=3,pad_b=1,pad_c=5,dtype=f16",
       }) {
    list.add(Tier::smoke, fields);
  }
}

// Tile edges and tails in each of the layouts' fast paths (alpha 1, beta 0): every size meets every role once.
void add_edges(CaseList& list) {
  const std::vector<int64_t>& sizes = edge_sizes();
  const size_t count = sizes.size();
  for (size_t i = 0; i < count; ++i) {
    for (size_t layout = 0; layout < kLayouts.size(); ++layout) {
      const std::string fields =
          shape(sizes[i], sizes[(5 * i + 3 + layout) % count], sizes[(11 * i + 7 + 2 * layout) % count]) +
          kLayouts[layout] + ((i / 4 + layout) % 3 == 0 ? kPads : "");
      for (size_t d = 0; d < kDTypes.size(); ++d) {
        list.add(d == (i + layout) % 4 ? Tier::ci : Tier::nightly, fields + of(kDTypes[d]));
      }
    }
  }
}

// Scalars and paddings: an argument ignored, beta = 0 that reads C, a leading dimension mixed up.
void add_scalars(CaseList& list) {
  const std::vector<std::string> shapes{shape(19, 35, 23), shape(33, 16, 9), shape(7, 5, 65)};
  size_t i = 0;
  for (const std::string& layout : kLayouts) {
    for (const char* alpha : {"1", "0", "-0.75"}) {
      for (const char* beta : {"0", "1", "0.5"}) {
        for (const std::string& pads : {std::string(), kPads}) {
          const std::string fields = shapes[i % 3] + layout + ",alpha=" + alpha + ",beta=" + beta + pads;
          for (size_t d = 0; d < kDTypes.size(); ++d) {
            list.add(d == (i / 2 + i / 6) % 4 ? Tier::ci : Tier::nightly, fields + of(kDTypes[d]));
          }
          ++i;
        }
      }
    }
  }
}

// Scalars of either sign that no narrower type holds, each with a product and without one; rows and columns alone,
// which kernels may hand to a product of a matrix and a vector, in every layout, padded: a narrowed or ignored scalar,
// a stride taken for 1.
void add_fine_scalars(CaseList& list) {
  const std::string single = ",alpha=1.2000000476837158,beta=-0.699999988079071";  // the floats next to 1.2 and -0.7
  for (size_t d = 0; d < kDTypes.size(); ++d) {
    const bool is_f64 = kDTypes[d] == "f64";
    const std::string beta = is_f64 ? ",beta=-0.1" : ",beta=-0.699999988079071";
    list.add(Tier::ci, shape(33, 29, 47) + kLayouts[d] + (is_f64 ? ",alpha=0.1,beta=-0.3" : single) + of(kDTypes[d]));
    list.add(Tier::ci,
             shape(33, 70, 47) + kLayouts[3 - d] + kPads + (is_f64 ? ",alpha=-0.3,beta=0.1" : single) + of(kDTypes[d]));
    list.add(Tier::ci, shape(19, 35, 23) + ",alpha=0" + beta + of(kDTypes[d]));
    list.add(Tier::ci, shape(19, 35, 23) + beta + of(kDTypes[d]));
    for (size_t layout = 0; layout < kLayouts.size(); ++layout) {
      const Tier tier = (layout + d) % 2 == 0 ? Tier::ci : Tier::nightly;
      list.add(tier, shape(1, 57, 78) + kLayouts[layout] + kPads + of(kDTypes[d]));
      list.add(tier, shape(57, 1, 78) + kLayouts[3 - layout] + kPads + of(kDTypes[d]));
    }
  }
  const std::string e4m3 = ",out=f32,dtype=e4m3";
  list.add(Tier::ci, shape(33, 29, 47) + single + e4m3);
  list.add(Tier::ci, shape(19, 35, 23) + ",alpha=0,beta=-0.699999988079071" + e4m3);
}

void add_fills(CaseList& list) {
  const std::vector<std::string> fills{"uniform",      "cancelling", "scaled",  "huge",     "subnormal",
                                       "signed_zeros", "special",    "nan_one", "ones",     "integers",
                                       "onehot",       "identity",   "index",   "negative", "constant"};
  for (size_t f = 0; f < fills.size(); ++f) {
    for (size_t d = 0; d < kDTypes.size(); ++d) {
      const size_t layout = (f + d) % 4;
      const std::string fill = of(kDTypes[d]) + ",fill=" + fills[f];
      list.add(Tier::ci, shape(33, 29, 47) + kLayouts[layout] + fill);
      list.add(Tier::nightly, shape(16, 70, 260) + kLayouts[layout] + kPads + fill + ",alpha=-0.75,beta=0.5,seed=2");
    }
  }
}

void add_shapes(CaseList& list) {
  for (const char* fields : {
           "m=7,n=0,k=3,dtype=f32",  // nothing to do
           "m=0,n=0,k=0,dtype=f16",
           "m=7,n=5,k=0,dtype=f32",
           "m=7,n=5,k=0,dtype=bf16",
           "m=7,n=5,k=0,beta=1,dtype=f16",
           "m=7,n=5,k=0,alpha=0,beta=0.5,dtype=f32",
           "batch=0,m=7,n=5,k=3,dtype=f32",
           "m=101,n=103,k=107,dtype=f32",  // primes
           "m=127,n=131,k=137,tb=t,dtype=f64",
           "m=53,n=59,k=61,ta=t,dtype=f16",
           "m=67,n=71,k=73,ta=t,tb=t,dtype=bf16",
           "m=1,n=300,k=257,dtype=f32",  // products of a matrix and a vector
           "m=1,n=300,k=257,tb=t,dtype=f16",
           "m=257,n=1,k=300,dtype=f64",
           "m=257,n=1,k=300,ta=t,dtype=bf16",
           "m=300,n=257,k=1,dtype=f32",
           "m=300,n=257,k=1,ta=t,tb=t,alpha=-0.75,beta=0.5,dtype=f16",
           "m=1,n=1,k=4096,dtype=f32",
           "m=8,n=8,k=4096,dtype=f64,fill=uniform",  // accumulator width, blocks of k
           "m=8,n=8,k=4096,dtype=f16,fill=uniform",
           "m=8,n=8,k=4096,ta=t,dtype=bf16,fill=uniform",
           "m=3,n=5,k=4099,tb=t,dtype=f32,fill=uniform",
           "m=5,n=3,k=2053,dtype=f32,fill=integers",
           "m=2,n=5000,k=3,dtype=f32",
           "m=5000,n=2,k=3,dtype=f16",
           "m=3,n=1030,k=260,tb=t,dtype=bf16",
           "m=1030,n=3,k=260,ta=t,dtype=f32",
           "batch=2,m=33,n=17,k=9,ta=t,dtype=f64",
           "batch=5,m=9,n=33,k=17,pad_a=3,pad_b=1,pad_c=5,dtype=f16",
           "batch=17,m=3,n=5,k=7,alpha=-0.75,beta=0.5,dtype=f32",
           "batch=4,m=16,n=16,k=16,beta=1,tb=t,dtype=bf16",
           "m=256,n=256,k=256,dtype=f32",
           "m=200,n=384,k=512,dtype=bf16",
           "m=260,n=130,k=520,tb=t,dtype=f64",
           "m=33,n=29,k=47,dtype=f64,offset=1",
           "m=33,n=29,k=47,tb=t,dtype=f16,offset=1",
           "m=33,n=29,k=47,ta=t,dtype=bf16,offset=3",
           "m=31,n=9,k=47,alpha=-0.75,beta=0.5,pad_a=3,pad_b=1,pad_c=5,dtype=f32,offset=3",
           "m=33,n=29,k=47,dtype=f32,place=start",
           "m=33,n=29,k=47,ta=t,pad_a=3,pad_b=1,pad_c=5,dtype=f16,place=start",
           "m=33,n=29,k=47,tb=t,beta=0.5,dtype=bf16,place=start,offset=1",
           "m=48,n=48,k=256,dtype=f16,fill=uniform,seeds=8",
           "m=48,n=48,k=256,dtype=bf16,fill=uniform,seeds=8",
           "m=48,n=48,k=256,dtype=f64,seeds=8",
           "m=48,n=48,k=256,tb=t,dtype=f32,fill=uniform,seeds=8",
       }) {
    list.add(Tier::ci, fields);
  }
  list.add(Tier::nightly, "m=384,n=320,k=400,dtype=f32");
  list.add(Tier::nightly, "m=400,n=300,k=350,ta=t,dtype=f16");
}

// e4m3 by the tails, layouts and scalars of the other types. Its fills keep within its range: no scaled rows, and NaN
// where there would be an infinity.
void add_fp8(CaseList& list) {
  const std::vector<std::string> outs{",out=bf16,dtype=e4m3", ",out=f32,dtype=e4m3", ",out=f16,dtype=e4m3"};
  const std::vector<std::string> scalars{"", ",alpha=-0.75,beta=0.5", ",beta=1", ",alpha=1.5", ",alpha=0,beta=0.5"};
  const std::vector<int64_t>& sizes = edge_sizes();
  const size_t count = sizes.size();
  for (size_t i = 0; i < count; ++i) {
    list.add(Tier::ci, shape(sizes[i], sizes[(5 * i + 3) % count], sizes[(11 * i + 7) % count]) + kLayouts[i % 4] +
                           scalars[i % 5] + (i % 3 == 0 ? kPads : "") + outs[i % 3]);
  }
  size_t f = 0;
  for (const char* fill : {"uniform", "cancelling", "huge", "subnormal", "signed_zeros", "nan_one", "ones", "onehot",
                           "identity", "index", "negative", "constant"}) {
    list.add(Tier::ci, shape(33, 29, 47) + kLayouts[f % 4] + outs[f % 3] + ",fill=" + fill);
    list.add(Tier::nightly, shape(16, 70, 260) + kLayouts[f % 4] + kPads + outs[(f + 1) % 3] + ",fill=" + fill);
    ++f;
  }
  for (const char* fields : {
           "m=7,n=5,k=0,beta=1,out=f16,dtype=e4m3",
           "batch=3,m=15,n=17,k=33,tb=t,pad_a=3,pad_b=1,pad_c=5,out=bf16,dtype=e4m3",
           "m=128,n=256,k=512,tb=t,out=bf16,dtype=e4m3",  // a shape that bulk copies can fetch
           "batch=2,m=200,n=384,k=512,tb=t,out=f32,dtype=e4m3",
           "m=8,n=8,k=4096,out=f32,dtype=e4m3,fill=uniform",
           "m=33,n=29,k=47,out=f16,dtype=e4m3,offset=1",
           "m=33,n=29,k=47,tb=t,out=bf16,dtype=e4m3,place=start",
           "m=48,n=48,k=256,tb=t,out=bf16,dtype=e4m3,fill=uniform,seeds=8",
       }) {
    list.add(Tier::ci, fields);
  }
}

// Independent draws, not only round sizes.
void add_random(CaseList& list) {
  Draw draw(20260);
  const std::vector<std::string> scalars{"", "", ",alpha=-0.75,beta=0.5", ",beta=1", ",alpha=1.5", ",alpha=0,beta=1"};
  for (int i = 0; i < 120; ++i) {
    std::string fields = shape(draw.log_uniform(8), draw.log_uniform(8), draw.log_uniform(10));
    fields += draw.one_of(kLayouts) + draw.one_of(scalars) + of(draw.one_of(kDTypes));
    for (const char* pad : {"a", "b", "c"}) fields += ",pad_" + std::string(pad) + "=" + to_string(draw.below(3) * 4);
    list.add(Tier::nightly, fields + ",seed=" + to_string(i + 10));
  }
}

// The largest sum of integers that is exact wherever the type and its matrix units are as usual.
double exact_up_to(const std::string& dtype, const std::string& out) {
  if (dtype == "bf16" || out == "bf16") return 0x1p8;
  if (dtype == "f16" || out == "f16") return 0x1p11;
  return dtype == "e4m3" ? 0x1p13 : 0x1p23;
}

}  // namespace

Case drawn(const Op& op, uint64_t seed, int64_t index) {
  constexpr uint64_t kAny = ~uint64_t{0};
  constexpr int64_t kMostOutputs = int64_t{1} << 16, kMostInputs = int64_t{1} << 18;
  Draw draw(Draw(Draw(seed).below(kAny) + static_cast<uint64_t>(index)).below(kAny));
  const int64_t batch = draw.below(8) == 0 ? static_cast<int64_t>(2 + draw.below(4)) : 1;
  int64_t m, n, k;
  do {
    m = draw.log_uniform(11);
    n = draw.log_uniform(11);
    k = draw.log_uniform(13);
  } while (batch * m * n > kMostOutputs || batch * (m + n) * k > kMostInputs);
  const std::string dtype = draw.one_of<std::string>({"f32", "f64", "f16", "bf16", "e4m3"});
  const std::string out = dtype == "e4m3" ? draw.one_of<std::string>({"f32", "f16", "bf16"}) : "same";
  const auto alpha = draw.one_of<int64_t>({1, 1, 1, 0, -1, 2, 3}), beta = draw.one_of<int64_t>({0, 0, 1, -1, 2, -2});
  std::string fields = "batch=" + to_string(batch) + "," + shape(m, n, k) + draw.one_of(kLayouts) +
                       ",alpha=" + to_string(alpha) + ",beta=" + to_string(beta) + ",out=" + out + of(dtype);
  for (const char* pad : {"a", "b", "c"}) {
    const uint64_t longer = draw.below(2) == 0 ? 0 : 1 + draw.below(9);
    fields += ",pad_" + std::string(pad) + "=" + to_string(longer);
  }
  // Factors are at most 8 each; what is sparse sums up to 64 at most.
  const auto factor = static_cast<double>(std::max<int64_t>(1, std::abs(alpha)));
  const double largest = 64 * static_cast<double>(k) * factor + 8 * static_cast<double>(std::abs(beta));
  fields += largest <= exact_up_to(dtype, out) ? ",fill=integers" : ",fill=sparse";
  return op.make(parse_id("gemm:" + fields).fields);
}

std::vector<Case> cases(const Op& op, Tier tier) {
  CaseList list(op, tier);
  add_smoke(list);
  add_edges(list);
  add_scalars(list);
  add_fine_scalars(list);
  add_fills(list);
  add_shapes(list);
  add_fp8(list);
  add_random(list);
  return list.take();
}

}  // namespace assay::gemm
