// Tails of m, n and k in each layout, factors of either sign and kind, NaN and infinity in each operand.
#include "reference/blas_gemm/cases.h"

#include "reference/blas_matrix.h"

namespace assay::blas_gemm {
namespace {

using namespace blas;
using std::to_string;

const std::vector<std::string> kOrders{"", ",order=col"};
const std::vector<std::string> kA{"", ",transa=t", ",transa=c"}, kB{"", ",transb=t", ",transb=c"};
const std::vector<std::string> kPads{"", ",pad_a=3,pad_b=1,pad_c=5"};

std::string shape(int64_t m, int64_t n, int64_t k) {
  return "m=" + to_string(m) + ",n=" + to_string(n) + ",k=" + to_string(k);
}

}  // namespace

std::vector<Case> cases(const Op& op, Tier tier) {
  CaseList list(op, tier);
  for (const char* fields : {
           "m=1,n=1,k=1,domain=complex,dtype=f32",
           "m=5,n=7,k=0,beta=0.5,order=col,dtype=f64",
           "m=33,n=17,k=65,order=col,dtype=f32",
           "m=17,n=31,k=33,transa=c,transb=t,alpha=0.5,alpha_im=-0.75,beta=-1,beta_im=0.5,domain=complex,dtype=f64",
           "m=31,n=9,k=47,order=col,transa=t,alpha=-0.75,beta=0.5,pad_a=3,pad_b=1,pad_c=5,domain=complex,dtype=f32",
           "m=15,n=16,k=31,transb=c,domain=complex,dtype=f64,fill=integers",
           "m=9,n=12,k=17,alpha=0,beta=0.5,domain=complex,dtype=f32",
           "m=17,n=13,k=9,transa=t,order=col,domain=complex,dtype=f64,fill=special",
           "m=65,n=3,k=100,order=col,transb=t,dtype=f64,offset=1",
       }) {
    list.add(Tier::smoke, fields);
  }
  for (const char* fields : {
           "m=0,n=5,k=3,domain=complex,dtype=f32",  // nothing to do
           "m=5,n=0,k=3,order=col,domain=complex,dtype=f64",
           "m=7,n=5,k=0,domain=complex,dtype=f32",
           "m=7,n=5,k=0,beta=0.5,beta_im=1,order=col,domain=complex,dtype=f64",
           "m=12,n=10,k=11,alpha=0,domain=complex,dtype=f64",  // A and B hold NaN, and nothing of it shows
           "m=12,n=10,k=11,alpha=0,order=col,dtype=f32",
           "m=3,n=4,k=5,alpha=0,dtype=f32",
           "m=3,n=4,k=5,alpha=0,beta=1,order=col,domain=complex,dtype=f32",
           "m=1,n=100,k=63,order=col,domain=complex,dtype=f32",  // products of a matrix and a vector
           "m=100,n=1,k=63,transa=t,domain=complex,dtype=f64",
           "m=127,n=1,k=1,order=col,transb=c,domain=complex,dtype=f32",
           "m=2,n=3,k=1000,domain=complex,dtype=f32,fill=uniform",
           "m=3,n=2,k=1000,transa=c,order=col,domain=complex,dtype=f64,fill=uniform",
           "m=1000,n=3,k=5,order=col,domain=complex,dtype=f64",
           "m=3,n=1000,k=5,order=col,dtype=f32",
           "m=127,n=65,k=100,order=col,transa=t,transb=t,dtype=f32",  // more than one block, and from about here two
                                                                      // threads
           "m=100,n=127,k=129,order=col,dtype=f64",
           "m=100,n=65,k=127,transb=c,domain=complex,dtype=f32",
           "m=65,n=127,k=100,transa=t,order=col,domain=complex,dtype=f64",
           "m=33,n=29,k=47,order=col,domain=complex,dtype=f32,offset=1",
           "m=33,n=29,k=47,transa=t,domain=complex,dtype=f64,place=start",
           "m=48,n=48,k=64,domain=complex,dtype=f32,seeds=8",
       }) {
    list.add(Tier::ci, fields);
  }
  const std::vector<int64_t>& sizes = matrix_sizes();
  Draw draw(20261);
  const auto any = [&](size_t kind) {
    std::string fields = draw.one_of(kOrders) + draw.one_of(kA) + draw.one_of(kB);
    fields += factor(draw, "alpha", kind) + factor(draw, "beta", kind);
    return fields + draw.one_of(kPads) + kinds()[kind];
  };
  constexpr size_t kMost = 14;  // of the sizes: up to 100 each
  for (size_t i = 0; i < kMost; ++i) {
    for (size_t kind = 0; kind < kinds().size(); ++kind) {
      const std::string at = shape(sizes[i], sizes[(5 * i + 3 + kind) % kMost], sizes[(11 * i + 7 + kind) % kMost]);
      list.add(i % 4 == kind || kind == 3 ? Tier::ci : Tier::nightly, at + any(kind));
    }
  }
  const std::vector<std::string> fills{"uniform",      "cancelling", "scaled",    "huge",      "subnormal",
                                       "signed_zeros", "special",    "special_b", "special_c", "nan_one",
                                       "ones",         "integers",   "onehot",    "negative"};
  for (size_t f = 0; f < fills.size(); ++f) {
    for (size_t kind = 0; kind < kinds().size(); ++kind) {
      const std::string beta = fills[f] == "special_c" ? ",beta=-0.75" : "";
      list.add(kind == 2 + f % 2 ? Tier::ci : Tier::nightly, shape(13, 11, 23) + draw.one_of(kOrders) +
                                                                 draw.one_of(kA) + draw.one_of(kB) + beta +
                                                                 kinds()[kind] + ",fill=" + fills[f]);
    }
  }
  for (int64_t i = 0; i < 80; ++i) {
    const auto kind = static_cast<size_t>(draw.below(kinds().size()));
    const std::string at = shape(draw.log_uniform(6), draw.log_uniform(6), draw.log_uniform(8));
    list.add(Tier::nightly, at + any(kind) + ",seed=" + to_string(10 + i));
  }
  return list.take();
}

}  // namespace assay::blas_gemm
