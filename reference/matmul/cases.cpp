// Ranks crossed with layouts, broadcasts and paddings: an axis mixed up, a stride taken for another, an entry used for
// all.
#include "reference/matmul/cases.h"

#include "reference/case_list.h"

namespace assay::matmul {
namespace {

using std::to_string;

const std::vector<std::string> kDTypes{",dtype=f32", ",dtype=bf16", ",dtype=f16"};
const std::vector<std::string> kLayouts{"n", "t", "h", "r"};
const std::vector<std::string> kBroadcasts{
    "", "", ",broadcast_a=first", ",broadcast_b=all", ",broadcast_a=all", ",broadcast_b=last"};
const std::vector<std::string> kBothBroadcast{",broadcast_a=first,broadcast_b=last",
                                              ",broadcast_a=last,broadcast_b=first"};
const std::vector<std::string> kPads{"", "", ",pad_a=3,pad_b=1,pad_c=5", ",pad_b=7", ",pad_c=2"};

// Batch axes all of another length, so that a swap shows.
std::string axes(int64_t rank) {
  const std::vector<std::string> kAxes{"", ",b1=3", ",b1=3,b2=2", ",b1=2,b2=3,b3=4"};
  return "rank=" + to_string(rank) + kAxes[static_cast<size_t>(rank - 2)];
}
std::string shape(int64_t m, int64_t n, int64_t k) {
  return ",m=" + to_string(m) + ",n=" + to_string(n) + ",k=" + to_string(k);
}
std::string layouts(Draw& draw, int64_t rank) {
  std::string fields;
  for (const char* name : {",la=", ",lb=", ",lc="}) {
    std::string word = draw.one_of(kLayouts);
    if (rank == 2 && word == "h") word = "n";
    fields += name + word;
  }
  return fields;
}

}  // namespace

std::vector<Case> cases(const Op& op, Tier tier) {
  CaseList list(op, tier);
  for (const char* fields : {
           "rank=2,m=1,n=1,k=1,dtype=f32", "rank=2,m=17,n=33,k=65,lb=t,pad_a=3,pad_b=1,pad_c=5,dtype=f32",
           "rank=3,b1=3,m=15,n=17,k=31,la=h,lb=t,lc=h,dtype=bf16",
           "rank=4,b1=2,b2=3,m=16,n=15,k=33,la=h,lb=h,lc=h,dtype=f32",
           "rank=4,b1=2,b2=3,m=7,n=9,k=16,broadcast_a=first,broadcast_b=last,pad_c=3,dtype=f32",
           "rank=5,b1=2,b2=3,b3=4,m=5,n=7,k=17,la=r,lb=r,lc=t,dtype=f32",
           "rank=5,b1=2,b2=1,b3=3,m=8,n=5,k=31,broadcast_b=first,dtype=bf16",
           "rank=3,b1=2,m=16,n=16,k=1024,dtype=bf16,fill=uniform",  // a 16-bit accumulator
           "rank=3,b1=3,m=9,n=11,k=47,lc=r,dtype=f32,fill=integers", "rank=3,b1=2,m=13,n=11,k=23,lb=t,dtype=f16",
           "rank=4,b1=2,b2=2,m=9,n=8,k=15,la=t,dtype=f32,fill=special",
           "rank=3,b1=4,m=33,n=17,k=15,lb=h,lc=h,dtype=f32",  // heads inside rows
       }) {
    list.add(Tier::smoke, fields);
  }
  for (const char* fields : {
           "rank=3,b1=0,m=5,n=7,k=3,dtype=f32",  // nothing to do
           "rank=2,m=0,n=7,k=3,dtype=bf16",
           "rank=4,b1=2,b2=3,m=5,n=0,k=3,lc=h,dtype=f32",
           "rank=4,b1=1,b2=1,m=5,n=7,k=9,la=h,lb=h,lc=h,dtype=f32",  // axes of length 1 with strides of their own
           "rank=5,b1=1,b2=3,b3=1,m=1,n=9,k=17,la=r,pad_a=3,dtype=f32",
           "rank=3,b1=4,m=1,n=65,k=33,lb=t,pad_b=3,dtype=f32",  // products of a matrix and a vector
           "rank=3,b1=4,m=65,n=1,k=33,la=t,dtype=bf16",
           "rank=3,b1=5,m=1,n=1,k=257,dtype=f32,fill=uniform",
           "rank=2,m=127,n=129,k=100,la=t,lb=t,lc=t,dtype=f32",
           "rank=3,b1=12,m=64,n=64,k=64,lb=t,dtype=f32",  // an attention's scores, and what they weigh, heads inside
                                                          // rows
           "rank=4,b1=2,b2=12,m=32,n=32,k=64,la=h,lb=h,dtype=f32",
           "rank=4,b1=2,b2=12,m=32,n=64,k=32,lb=h,lc=h,dtype=bf16",
           "rank=4,b1=1,b2=8,m=1,n=128,k=64,lb=t,broadcast_b=first,dtype=f32",
           "rank=3,b1=8,m=100,n=63,k=31,broadcast_b=all,dtype=f32",
           "rank=3,b1=2,m=33,n=29,k=1000,dtype=f32,fill=uniform",
           "rank=2,m=8,n=8,k=4096,lb=t,dtype=bf16,fill=uniform",
           "rank=3,b1=3,m=33,n=29,k=47,dtype=f32,offset=1",
           "rank=4,b1=2,b2=3,m=17,n=15,k=33,lb=h,dtype=bf16,offset=1",
           "rank=3,b1=3,m=33,n=29,k=47,la=t,dtype=f32,place=start",
           "rank=3,b1=4,m=48,n=48,k=64,dtype=f32,seeds=8",
           "rank=3,b1=4,m=48,n=48,k=64,lb=t,dtype=bf16,seeds=8",
       }) {
    list.add(Tier::ci, fields);
  }
  Draw draw(20267);
  const std::vector<int64_t> sizes{1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 63, 65};
  for (size_t i = 0; i < sizes.size(); ++i) {
    for (int64_t rank = 2; rank <= 5; ++rank) {
      const auto turn = static_cast<size_t>(rank);
      const size_t most = rank == 5 ? 11 : sizes.size();
      const std::string fields =
          axes(rank) + shape(sizes[i % most], sizes[(5 * i + turn) % most], sizes[(7 * i + 3 * turn) % most]) +
          layouts(draw, rank) + draw.one_of(rank > 3 && i % 3 == 0 ? kBothBroadcast : kBroadcasts) + draw.one_of(kPads);
      for (size_t d = 0; d < kDTypes.size(); ++d) {
        list.add(d == (i + turn) % 3 ? Tier::ci : Tier::nightly, fields + kDTypes[d]);
      }
    }
  }
  const std::vector<std::string> fills{"cancelling", "scaled", "huge",     "subnormal", "signed_zeros", "special_b",
                                       "nan_one",    "ones",   "integers", "onehot",    "negative"};
  for (size_t f = 0; f < fills.size(); ++f) {
    for (size_t d = 0; d < kDTypes.size(); ++d) {
      const int64_t rank = 3 + static_cast<int64_t>(f % 2);
      list.add(d == f % 3 ? Tier::ci : Tier::nightly,
               axes(rank) + shape(13, 11, 23) + layouts(draw, rank) + kDTypes[d] + ",fill=" + fills[f]);
    }
  }
  return list.take();
}

}  // namespace assay::matmul
