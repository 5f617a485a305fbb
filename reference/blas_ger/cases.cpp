// Tails in each layout, increments either way, factors of either sign and kind, NaN and infinity in each operand.
#include "reference/blas_ger/cases.h"

#include "reference/blas_matrix.h"

namespace assay::blas_ger {
namespace {

using namespace blas;
using std::to_string;

const std::vector<std::string> kOrders{"", ",order=col"};
const std::vector<std::string> kPads{"", ",pad=3"};
const std::vector<std::string> kIncrements{"", "", ",incx=2", ",incy=-1", ",incx=-3,incy=2", ",incx=-1,incy=3"};

std::string shape(int64_t m, int64_t n) { return "m=" + to_string(m) + ",n=" + to_string(n); }

}  // namespace

std::vector<Case> cases(const Op& op, Tier tier) {
  CaseList list(op, tier);
  for (const char* fields : {
           "m=1,n=1,dtype=f32",
           "m=33,n=17,dtype=f64",
           "m=17,n=33,order=col,alpha=-0.75,pad=3,incx=2,incy=-1,dtype=f32",
           "m=31,n=15,conj=y,alpha=0.5,alpha_im=1,incx=-3,incy=2,domain=complex,dtype=f64",
           "m=15,n=31,conj=y,order=col,pad=1,domain=complex,dtype=f32",
           "m=12,n=9,alpha=0,dtype=f32",
           "m=29,n=47,order=col,dtype=f64,fill=integers",
           "m=29,n=47,domain=complex,dtype=f64,fill=special",
           "m=100,n=63,order=col,dtype=f32,offset=1",
       }) {
    list.add(Tier::smoke, fields);
  }
  for (const char* fields : {
           "m=0,n=5,dtype=f32",  // nothing to do
           "m=5,n=0,order=col,domain=complex,dtype=f64",
           "m=12,n=10,alpha=0,incx=-1,order=col,dtype=f64",  // x and y hold NaN
           "m=12,n=10,alpha=0,domain=complex,dtype=f32",
           "m=12,n=10,alpha=0,conj=y,incy=2,order=col,domain=complex,dtype=f64",
           "m=1,n=1000,dtype=f32",  // long and thin
           "m=1000,n=1,dtype=f64",
           "m=3,n=1000,order=col,domain=complex,dtype=f32",
           "m=1000,n=2,order=col,incx=-1,dtype=f32,fill=uniform",
           "m=1000,n=5,conj=y,domain=complex,dtype=f64",
           "m=127,n=129,dtype=f32",  // from 8192 elements OpenBLAS takes two threads
           "m=129,n=127,order=col,incx=2,incy=-3,dtype=f64",
           "m=100,n=129,order=col,domain=complex,dtype=f32",
           "m=129,n=100,conj=y,domain=complex,dtype=f64",
           "m=33,n=29,domain=complex,dtype=f32,offset=1",
           "m=33,n=29,dtype=f64,place=start",
           "m=40,n=50,dtype=f32,seeds=8",
           "m=40,n=50,conj=y,order=col,domain=complex,dtype=f32,seeds=8",
       }) {
    list.add(Tier::ci, fields);
  }
  const std::vector<int64_t>& sizes = matrix_sizes();
  Draw draw(20263);
  const auto conj = [&](size_t kind) { return std::string(kind >= 2 && draw.one_in(2) ? ",conj=y" : ""); };
  const auto any = [&](size_t kind) {
    std::string fields = draw.one_of(kOrders) + conj(kind) + factor(draw, "alpha", kind);
    return fields + draw.one_of(kPads) + draw.one_of(kIncrements) + kinds()[kind];
  };
  constexpr size_t kMost = 14;  // of the sizes: up to 100 each
  for (size_t i = 0; i < kMost; ++i) {
    for (size_t kind = 0; kind < kinds().size(); ++kind) {
      const std::string at = shape(sizes[i], sizes[(5 * i + 3 + kind) % kMost]);
      list.add((i + kind) % 2 == 0 ? Tier::ci : Tier::nightly, at + any(kind));
    }
  }
  const std::vector<std::string> fills{"uniform",      "cancelling", "scaled",    "huge",      "subnormal",
                                       "signed_zeros", "special",    "special_b", "special_c", "nan_one",
                                       "ones",         "integers",   "negative"};
  for (size_t f = 0; f < fills.size(); ++f) {
    for (size_t kind = 0; kind < kinds().size(); ++kind) {
      list.add((f + kind) % 2 == 0 ? Tier::ci : Tier::nightly, shape(37, 23) + draw.one_of(kOrders) + conj(kind) +
                                                                   draw.one_of(kIncrements) + kinds()[kind] +
                                                                   ",fill=" + fills[f]);
    }
  }
  for (int64_t i = 0; i < 80; ++i) {
    const auto kind = static_cast<size_t>(draw.below(kinds().size()));
    const std::string at = shape(draw.log_uniform(8), draw.log_uniform(8));
    list.add(Tier::nightly, at + any(kind) + ",seed=" + to_string(10 + i));
  }
  return list.take();
}

}  // namespace assay::blas_ger
