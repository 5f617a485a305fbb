// The faults each group is there for stand beside it.
#include "reference/reduce/cases.h"

#include "reference/case_list.h"

namespace assay::reduce {
namespace {

using std::to_string;

const std::vector<std::string> kKinds{"kind=sum", "kind=max"};
const std::vector<std::string> kDTypes{"f32", "f64", "f16", "bf16"};

std::string shape(int64_t outer, int64_t n, int64_t inner) {
  return ",outer=" + to_string(outer) + ",n=" + to_string(n) + ",inner=" + to_string(inner);
}
std::string of(const std::string& dtype) { return ",dtype=" + dtype; }

void add_smoke(CaseList& list) {
  for (const char* fields : {
           "kind=sum,n=1,dtype=f32",
           "kind=max,n=1,dtype=f64",
           "kind=sum,outer=3,n=0,inner=5,dtype=f32",  // of nothing
           "kind=max,outer=3,n=0,inner=5,dtype=f16",
           "kind=sum,outer=0,n=4,inner=5,dtype=f64",
           "kind=sum,outer=33,n=65,dtype=f32",
           "kind=sum,outer=17,n=129,inner=31,dtype=f64",
           "kind=sum,outer=5,n=127,inner=33,pad=3,dtype=f16",
           "kind=sum,outer=9,n=63,inner=17,pad=1,dtype=bf16",
           "kind=max,outer=33,n=65,dtype=f32",
           "kind=max,outer=17,n=129,inner=31,dtype=f64",
           "kind=max,outer=5,n=127,inner=33,pad=3,dtype=f16",
           "kind=max,outer=9,n=63,inner=17,pad=1,dtype=bf16",
           "kind=sum,outer=16,n=4096,dtype=f16,fill=uniform",  // a 16-bit accumulator, one long chain
           "kind=sum,outer=16,n=4096,dtype=bf16,fill=uniform",
           "kind=sum,outer=16,n=4096,dtype=f32,fill=uniform",
           "kind=sum,n=4096,inner=16,dtype=f32,fill=uniform",
           "kind=sum,outer=33,n=65,dtype=f32,fill=ones",  // dropped tails
           "kind=sum,outer=7,n=129,inner=19,dtype=f32,fill=integers",
           "kind=max,outer=33,n=65,dtype=f32,fill=negative",  // a wrong initial value
           "kind=max,outer=40,n=33,dtype=bf16,fill=special",  // NaN swallowed
           "kind=sum,outer=40,n=33,dtype=f32,fill=special",
           "kind=max,outer=5,n=100,inner=3,dtype=f32,fill=nan_one",
           "kind=sum,outer=33,n=64,dtype=f64,fill=cancelling",
           "kind=sum,outer=33,n=47,dtype=f32,fill=huge",
           "kind=sum,outer=33,n=47,dtype=f32,fill=subnormal",
           "kind=sum,outer=33,n=47,dtype=f32,offset=1",
           "kind=max,outer=33,n=47,dtype=f16,place=start",
           "kind=sum,outer=64,n=300,dtype=f32,seeds=8",
           "kind=sum,n=500009,dtype=f32,fill=uniform",  // partial sums of many threads, combined
           "kind=sum,n=20483,inner=3,dtype=f32",
           "kind=max,n=20483,inner=3,dtype=f32,fill=negative",
           "kind=max,n=131,inner=136,dtype=f32,fill=negative",
           "kind=max,outer=40,n=37,dtype=f64,fill=special",
           "kind=max,outer=3,n=0,dtype=f32",
           "kind=sum,outer=5,n=2100,dtype=f64",
           "kind=sum,outer=5,n=2100,dtype=f32,fill=uniform",
           "kind=sum,outer=4,n=90001,dtype=bf16,fill=uniform",  // partial sums of one row
           "kind=sum,outer=3,n=41,inner=26,pad=2,dtype=f32",
           // what `assay selftest --minimise` found to catch more seeded faults
           "kind=max,outer=3,n=0,inner=5,dtype=f32",
           "kind=max,outer=3,n=128,inner=65,pad=3,dtype=f64",
           "kind=max,outer=3,n=2,inner=5000,dtype=bf16",
           "kind=max,outer=3,n=70001,dtype=f16",
           "kind=max,outer=33,n=47,dtype=f64,fill=special",
           "kind=sum,n=15,inner=64,pad=3,dtype=f16",
           "kind=sum,n=65537,dtype=f32",
           "kind=sum,outer=2,n=129,inner=63,pad=3,dtype=f32",
           "kind=sum,outer=3,n=47,inner=29,dtype=bf16,offset=3",
           "kind=sum,outer=3,n=70001,dtype=bf16,fill=uniform",
           "kind=sum,outer=33,n=47,dtype=f16,fill=special",
       }) {
    list.add(Tier::smoke, fields);
  }
}

// Ends of vectors and blocks along each axis, dense and padded.
void add_edges(CaseList& list) {
  const std::vector<int64_t>& sizes = edge_sizes();
  const size_t count = sizes.size();
  for (size_t i = 0; i < count; ++i) {
    for (size_t kind = 0; kind < kKinds.size(); ++kind) {
      const std::string rows = kKinds[kind] + shape(1 + static_cast<int64_t>(i % 5) * 4, sizes[i], 1);
      const std::string columns = kKinds[kind] + shape(1 + static_cast<int64_t>(i % 3), sizes[(5 * i + 3) % count],
                                                       sizes[(11 * i + 7) % count]);
      const std::string pad = i % 2 == 0 ? ",pad=3" : "";
      for (size_t d = 0; d < kDTypes.size(); ++d) {
        const bool now = d == (i + kind) % 4;
        list.add(now ? Tier::ci : Tier::nightly, rows + of(kDTypes[d]));
        list.add(now ? Tier::ci : Tier::nightly, columns + pad + of(kDTypes[d]));
      }
    }
  }
}

void add_fills(CaseList& list) {
  const std::vector<std::string> fills{"uniform",      "cancelling", "scaled",  "huge",     "subnormal",
                                       "signed_zeros", "special",    "nan_one", "ones",     "integers",
                                       "negative",     "shifted",    "index",   "ascending"};
  for (size_t f = 0; f < fills.size(); ++f) {
    for (size_t kind = 0; kind < kKinds.size(); ++kind) {
      for (size_t d = 0; d < kDTypes.size(); ++d) {
        if (fills[f] == "shifted" && kDTypes[d] == "bf16") continue;  // its eight bits keep nothing of the deviations
        const std::string fill = of(kDTypes[d]) + ",fill=" + fills[f];
        list.add(d % 2 == (f + kind) % 2 ? Tier::ci : Tier::nightly, kKinds[kind] + shape(33, 47, 1) + fill);
        list.add(d == (f + kind) % 4 ? Tier::ci : Tier::nightly, kKinds[kind] + shape(3, 50, 29) + ",pad=2" + fill);
      }
    }
  }
}

void add_shapes(CaseList& list) {
  for (const std::string& kind : kKinds) {
    for (const char* fields : {
             ",outer=3,n=0,inner=5,dtype=bf16",  // nothing, or of nothing
             ",outer=3,n=0,inner=5,dtype=f32",
             ",outer=3,n=0,dtype=f64",
             ",outer=5,n=0,dtype=f16",
             ",outer=3,n=4,inner=0,dtype=f32",
             ",n=4096,dtype=f32,fill=uniform",  // one long row or column
             ",n=65537,dtype=f32",
             ",n=100003,dtype=f16,fill=uniform",
             ",n=20011,inner=3,dtype=bf16",
             ",n=33333,inner=2,pad=1,dtype=f64,fill=uniform",
             ",outer=3,n=2055,dtype=f32",  // rows that end at any vector of a long row's last block
             ",outer=3,n=2100,dtype=f64",
             ",outer=3,n=2171,dtype=bf16",
             ",outer=3,n=4222,dtype=f16",
             ",outer=3,n=70001,dtype=bf16,fill=uniform",  // rows of several chunks
             ",outer=3,n=70001,dtype=f16",
             ",outer=2,n=140003,dtype=f32,fill=uniform",
             ",outer=5000,n=3,dtype=f32",  // many short ones
             ",outer=3,n=2,inner=5000,dtype=bf16",
             ",outer=70000,n=2,dtype=f16",
             ",outer=101,n=103,inner=107,dtype=f32",  // primes
             ",outer=13,n=1031,inner=65,pad=7,dtype=f16",
             ",outer=33,n=47,dtype=f64,offset=1",
             ",outer=3,n=47,inner=29,dtype=bf16,offset=3",
             ",outer=33,n=47,dtype=f16,place=start",
             ",outer=3,n=47,inner=29,pad=3,dtype=f32,place=start,offset=1",
         }) {
      list.add(Tier::ci, kind + fields);
    }
  }
  for (const char* fields : {
           "kind=sum,outer=64,n=1000,dtype=f16,fill=uniform,seeds=8",
           "kind=sum,outer=64,n=1000,dtype=bf16,fill=uniform,seeds=8",
           "kind=sum,outer=2,n=1000,inner=48,dtype=f32,fill=uniform,seeds=8",
           "kind=sum,outer=64,n=1000,dtype=f64,seeds=8",
       }) {
    list.add(Tier::ci, fields);
  }
}

// Independent draws, not only round sizes.
void add_random(CaseList& list) {
  Draw draw(20261);
  for (int i = 0; i < 80; ++i) {
    const int64_t inner = draw.below(2) == 0 ? 1 : draw.log_uniform(8);
    std::string fields = draw.one_of(kKinds) + shape(draw.log_uniform(7), draw.log_uniform(12), inner);
    fields += ",pad=" + to_string(draw.below(3) * 4) + of(draw.one_of(kDTypes));
    list.add(Tier::nightly, fields + ",seed=" + to_string(i + 10));
  }
}

}  // namespace

std::vector<Case> cases(const Op& op, Tier tier) {
  CaseList list(op, tier);
  add_smoke(list);
  add_edges(list);
  add_fills(list);
  add_shapes(list);
  add_random(list);
  return list.take();
}

}  // namespace assay::reduce
