// What is tried of gemm_int8 at each tier. The faults each group is there for stand beside it.
#include "reference/case_list.h"
#include "reference/gemm_int8/gemm_int8.h"

namespace assay::gemm_int8 {
namespace {

using std::to_string;

const std::vector<std::string> kLayouts{"", ",tb=t"};
const std::string kPads = ",pad_a=3,pad_b=1,pad_c=5";  // all different, so that a swapped leading dimension shows
const std::vector<std::string> kZeros{"", ",za=5,zb=-3,zy=7", ",za=-128,zb=127,zy=-20", ",za=11", ",zb=-17", ",zy=33"};

std::string shape(int64_t m, int64_t n, int64_t k) {
  return "m=" + to_string(m) + ",n=" + to_string(n) + ",k=" + to_string(k);
}

void add_smoke(CaseList& list) {
  for (const char* fields : {
           "m=1,n=1,k=1,fill=int8_full",
           "m=0,n=3,k=5",
           "m=4,n=3,k=0,zy=9",
           "m=33,n=17,k=65",
           "m=17,n=65,k=31,tb=t",
           "m=31,n=33,k=129,scales=channel,fill=int8_full",
           "m=65,n=31,k=33,tb=t,scales=channel,za=5,zb=-3,zy=7,fill=int8_full",
           "m=31,n=9,k=47,pad_a=3,pad_b=1,pad_c=5,za=5,zb=-3,zy=7,fill=int8_full",
           "m=9,n=31,k=63,tb=t,pad_a=3,pad_b=1,pad_c=5,scales=channel",
           "m=33,n=29,k=47,fill=int8_extreme",  // saturation
           "m=33,n=29,k=47,tb=t,za=-128,zb=127,zy=-20,fill=int8_extreme",
           "m=33,n=29,k=64,fill=integers",  // ties
           "m=33,n=29,k=64,tb=t,zy=7,fill=integers",
           "m=5,n=257,k=600,tb=t,fill=ties",  // beside ties: of sums that a float holds
           "m=3,n=65,k=4100,fill=ties",       // and of sums that it does not
           "m=33,n=29,k=47,fill=onehot",
           "m=37,n=41,k=43,tb=t,fill=identity",
           "m=129,n=127,k=65,fill=ones",  // dropped tails
           "m=16,n=16,k=47,za=11,fill=index",
           "m=16,n=16,k=1024,scales=channel,fill=int8_full",  // a 16-bit sum of pairs
           "m=16,n=16,k=1024,tb=t,fill=int8_extreme",
           "m=33,n=29,k=47,zb=-17,fill=negative",
           "m=33,n=29,k=47,scales=channel,fill=constant",
           "m=24,n=48,k=48,tb=t,scales=channel,fill=int8_full",  // a transpose ignored
           "m=1,n=65,k=127,tb=t",
           "m=65,n=1,k=127,scales=channel",
           "m=33,n=29,k=47,offset=1,fill=int8_full",
           "m=33,n=29,k=47,tb=t,place=start,fill=int8_full",
           "m=48,n=48,k=64,seeds=8,fill=int8_full",
           "m=261,n=389,k=37,scales=channel,zy=5,fill=int8_full",  // scales of more than one tile of columns
           "m=12,n=20,k=3000,zb=-23,fill=negative",                // large sums of a line
           "m=512,n=1024,k=24,scales=channel,fill=int8_full",      // so many results that some come close to ties
           // what `assay selftest --minimise` found to catch more seeded faults
           "m=127,n=131,k=137,tb=t,scales=channel,za=5,zb=-3,zy=7,fill=int8_full",
           "m=33,n=29,k=47,tb=t,za=5,zb=-3,zy=7,fill=onehot",
           "m=8,n=65,k=1,za=5,zb=-3,zy=7,fill=int8_full",
       }) {
    list.add(Tier::smoke, fields);
  }
}

// Tile edges and tails; zero points and per-column scales in turn.
void add_edges(CaseList& list) {
  const std::vector<int64_t>& sizes = edge_sizes();
  const size_t count = sizes.size();
  for (size_t i = 0; i < count; ++i) {
    for (size_t layout = 0; layout < kLayouts.size(); ++layout) {
      const std::string fields =
          shape(sizes[i], sizes[(5 * i + 3 + layout) % count], sizes[(11 * i + 7 + 2 * layout) % count]) +
          kLayouts[layout];
      const std::string pads = (i + layout) % 3 == 0 ? kPads : "";
      list.add(Tier::ci, fields + pads + ",fill=int8_full" + kZeros[(i + layout) % 2]);
      list.add(Tier::nightly, fields + kPads + ",fill=int8_full,scales=channel" + kZeros[(i + layout) % kZeros.size()]);
      list.add(Tier::nightly, fields + ",fill=normal" + kZeros[(i + layout + 3) % kZeros.size()]);
    }
  }
}

// Every combination of the arguments: one ignored, a sign turned, a scale broadcast wrongly.
void add_arguments(CaseList& list) {
  const std::vector<std::string> shapes{shape(19, 35, 23), shape(33, 16, 9), shape(7, 21, 65)};
  size_t i = 0;
  for (const std::string& layout : kLayouts) {
    for (const char* scales : {"", ",scales=channel"}) {
      for (const std::string& zeros : kZeros) {
        for (const std::string& pads : {std::string(), kPads}) {
          const std::string rest = layout + scales + zeros + pads;
          list.add(Tier::ci, shapes[i % 3] + rest + (i % 2 == 0 ? ",fill=int8_full" : ""));
          list.add(Tier::nightly, shapes[(i + 1) % 3] + rest + ",fill=int8_full,seed=2");
          list.add(Tier::nightly, shapes[(i + 2) % 3] + rest + ",fill=integers");
          ++i;
        }
      }
    }
  }
}

void add_fills(CaseList& list) {
  const std::vector<std::string> fills{"normal", "int8_full", "int8_extreme", "integers", "ones",
                                       "index",  "onehot",    "identity",     "negative", "constant"};
  for (size_t f = 0; f < fills.size(); ++f) {
    for (size_t layout = 0; layout < kLayouts.size(); ++layout) {
      const std::string fill = kLayouts[layout] + ",fill=" + fills[f];
      list.add(Tier::ci, shape(33, 29, 47) + fill + kZeros[(f + layout) % 2]);
      list.add(Tier::ci, shape(16, 70, 260) + kPads + fill + ",scales=channel");
      list.add(Tier::nightly, shape(5, 64, 1030) + fill + kZeros[f % kZeros.size()]);
    }
  }
}

void add_shapes(CaseList& list) {
  for (const char* fields : {
           "m=7,n=0,k=3",  // nothing to do
           "m=0,n=0,k=0",
           "m=7,n=5,k=0",
           "m=7,n=5,k=0,za=3,zy=-128,tb=t",
           "m=101,n=103,k=107,fill=int8_full",  // primes
           "m=127,n=131,k=137,tb=t,scales=channel,za=5,zb=-3,zy=7,fill=int8_full",
           "m=1,n=300,k=257,fill=int8_full",
           "m=257,n=1,k=300,tb=t,fill=int8_full",
           "m=300,n=257,k=1,scales=channel,fill=int8_full",
           "m=1,n=1,k=4096,fill=int8_full",
           "m=8,n=24,k=4096,fill=int8_full",
           "m=8,n=24,k=4099,tb=t,za=5,zb=-3,fill=int8_extreme",
           "m=2,n=3,k=33025,za=-128,zb=-128,fill=int8_full",  // the longest sums int32 holds
           "m=2,n=3,k=33025,tb=t,za=-128,zb=127,fill=int8_extreme",
           "m=1,n=2,k=131071,tb=t,fill=int8_extreme",
           "m=2,n=5000,k=3,scales=channel,fill=int8_full",
           "m=5000,n=2,k=3,fill=int8_full",
           "m=3,n=1030,k=260,tb=t,fill=int8_full",
           "m=256,n=256,k=256,fill=int8_full",
           "m=512,n=2048,k=16,scales=channel,fill=int8_full",  // so many results that some come close to ties
           "m=512,n=2048,k=24,tb=t,fill=normal",
           "m=17,n=40,k=131071,tb=t,fill=ties",
           "m=21,n=131,k=4098,zy=-20,fill=ties",
           "m=200,n=384,k=512,tb=t,scales=channel,fill=int8_full",
           "m=33,n=29,k=47,tb=t,offset=1,fill=int8_full",
           "m=33,n=29,k=47,scales=channel,offset=3,fill=int8_full",
           "m=33,n=29,k=47,place=start,fill=int8_full",
           "m=33,n=29,k=47,pad_a=3,pad_b=1,pad_c=5,scales=channel,place=start,offset=1,fill=int8_full",
           "m=48,n=48,k=256,scales=channel,seeds=8,fill=int8_full",
           "m=48,n=48,k=64,tb=t,zy=7,seeds=8",
       }) {
    list.add(Tier::ci, fields);
  }
  list.add(Tier::nightly, "m=65537,n=1,k=1,pad_c=34000");  // rows that begin beyond 2^31 bytes
}

// Independent draws, not only round sizes.
void add_random(CaseList& list) {
  Draw draw(20262);
  for (int i = 0; i < 80; ++i) {
    std::string fields = shape(draw.log_uniform(8), draw.log_uniform(8), draw.log_uniform(11));
    fields += draw.one_of(kLayouts) + draw.one_of(kZeros) + (draw.below(2) == 0 ? ",scales=channel" : "");
    for (const char* pad : {"a", "b", "c"}) fields += ",pad_" + std::string(pad) + "=" + to_string(draw.below(3) * 4);
    list.add(Tier::nightly, fields + ",fill=int8_full,seed=" + to_string(i + 10));
  }
}

}  // namespace

std::vector<Case> cases(const Op& op, Tier tier) {
  CaseList list(op, tier);
  add_smoke(list);
  add_edges(list);
  add_arguments(list);
  add_fills(list);
  add_shapes(list);
  add_random(list);
  return list.take();
}

}  // namespace assay::gemm_int8
