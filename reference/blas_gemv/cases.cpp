// Tails in each layout, increments either way, factors of either sign and kind, NaN and infinity in each operand.
#include "reference/blas_gemv/cases.h"

#include "reference/blas_matrix.h"

namespace assay::blas_gemv {
namespace {

using namespace blas;
using std::to_string;

const std::vector<std::string> kOrders{"", ",order=col"};
const std::vector<std::string> kTrans{"", ",trans=t", ",trans=c"};
const std::vector<std::string> kPads{"", ",pad=3"};
const std::vector<std::string> kIncrements{"", "", ",incx=2", ",incy=-1", ",incx=-3,incy=2", ",incx=-1,incy=3"};

std::string shape(int64_t m, int64_t n) { return "m=" + to_string(m) + ",n=" + to_string(n); }

}  // namespace

std::vector<Case> cases(const Op& op, Tier tier) {
  CaseList list(op, tier);
  for (const char* fields : {
           "m=1,n=1,dtype=f32",
           "m=33,n=17,dtype=f64",
           "m=17,n=33,order=col,trans=t,alpha=-0.75,beta=0.5,pad=3,incx=2,incy=-1,dtype=f32",
           "m=31,n=65,trans=c,order=col,alpha=0.5,alpha_im=1,beta=0.5,incx=-3,incy=2,domain=complex,dtype=f64",
           "m=65,n=31,beta=-1,beta_im=0.5,pad=1,domain=complex,dtype=f32",
           "m=12,n=9,alpha=0,beta=0.5,dtype=f32",
           "m=29,n=47,order=col,dtype=f32,fill=integers",
           "m=29,n=47,trans=t,beta=1,domain=complex,dtype=f64,fill=special",
           "m=100,n=63,order=col,trans=t,dtype=f64,offset=1",
       }) {
    list.add(Tier::smoke, fields);
  }
  for (const char* fields : {
           "m=0,n=5,beta=0.5,dtype=f32",  // y stays as it was, whatever beta
           "m=5,n=0,dtype=f64",
           "m=5,n=0,beta=0.5,incy=2,domain=complex,dtype=f32",
           "m=0,n=5,trans=t,order=col,domain=complex,dtype=f64",
           "m=12,n=10,alpha=0,dtype=f32",  // NaN in all that is not to be read
           "m=12,n=10,alpha=0,trans=t,incx=-1,incy=2,dtype=f64",
           "m=12,n=10,alpha=0,order=col,domain=complex,dtype=f32",
           "m=12,n=10,alpha=0,beta=1,trans=c,domain=complex,dtype=f64",
           "m=12,n=10,alpha=0,beta=-0.75,order=col,incy=-3,domain=complex,dtype=f32",
           "m=1,n=1000,dtype=f32",  // long and thin
           "m=1000,n=1,dtype=f64",
           "m=3,n=1000,order=col,domain=complex,dtype=f32",
           "m=1000,n=2,trans=t,order=col,incx=-1,dtype=f32,fill=uniform",
           "m=1000,n=5,trans=c,domain=complex,dtype=f64",
           "m=257,n=300,dtype=f32",  // from about here two threads
           "m=300,n=257,trans=t,order=col,dtype=f64",
           "m=257,n=129,order=col,domain=complex,dtype=f32",
           "m=129,n=257,trans=c,domain=complex,dtype=f64",
           "m=5,n=10001,dtype=f64,fill=uniform",
           "m=10001,n=3,trans=t,dtype=f32",
           "m=33,n=29,domain=complex,dtype=f32,offset=1",
           "m=33,n=29,trans=t,dtype=f64,place=start",
           "m=64,n=100,dtype=f32,seeds=8",
           "m=64,n=100,trans=t,order=col,domain=complex,dtype=f32,seeds=8",
       }) {
    list.add(Tier::ci, fields);
  }
  const std::vector<int64_t>& sizes = matrix_sizes();
  Draw draw(20262);
  const auto any = [&](size_t kind) {
    std::string fields = draw.one_of(kOrders) + draw.one_of(kTrans);
    fields += factor(draw, "alpha", kind) + factor(draw, "beta", kind);
    return fields + draw.one_of(kPads) + draw.one_of(kIncrements) + kinds()[kind];
  };
  for (size_t i = 0; i < sizes.size(); ++i) {
    for (size_t kind = 0; kind < kinds().size(); ++kind) {
      const std::string at = shape(sizes[i], sizes[(5 * i + 3 + kind) % sizes.size()]);
      list.add((i + kind) % 2 == 0 ? Tier::ci : Tier::nightly, at + any(kind));
    }
  }
  const std::vector<std::string> fills{"uniform",      "cancelling", "scaled",    "huge",    "subnormal",
                                       "signed_zeros", "special",    "special_c", "nan_one", "ones",
                                       "integers",     "onehot",     "negative"};
  for (size_t f = 0; f < fills.size(); ++f) {
    for (size_t kind = 0; kind < kinds().size(); ++kind) {
      const std::string beta = fills[f] == "special_c" ? ",beta=-0.75" : "";
      list.add((f + kind) % 2 == 0 ? Tier::ci : Tier::nightly, shape(37, 23) + draw.one_of(kOrders) +
                                                                   draw.one_of(kTrans) + draw.one_of(kIncrements) +
                                                                   beta + kinds()[kind] + ",fill=" + fills[f]);
    }
  }
  for (int64_t i = 0; i < 100; ++i) {
    const auto kind = static_cast<size_t>(draw.below(kinds().size()));
    const std::string at = shape(draw.log_uniform(9), draw.log_uniform(9));
    list.add(Tier::nightly, at + any(kind) + ",seed=" + to_string(10 + i));
  }
  return list.take();
}

}  // namespace assay::blas_gemv
