// Tails of n and k in each triangle and layout, factors of either sign and kind, NaN and infinity in either operand.
#include "reference/blas_syrk/cases.h"

#include "reference/blas_matrix.h"

namespace assay::blas_syrk {
namespace {

using namespace blas;
using std::to_string;

const std::vector<std::string> kLayouts{
    "",         ",order=col",         ",uplo=l",         ",order=col,uplo=l",
    ",trans=t", ",order=col,trans=t", ",uplo=l,trans=t", ",order=col,uplo=l,trans=t"};
const std::vector<std::string> kPads{"", ",pad_a=3,pad_c=5"};

std::string shape(int64_t n, int64_t k) { return "n=" + to_string(n) + ",k=" + to_string(k); }

}  // namespace

std::vector<Case> cases(const Op& op, Tier tier) {
  CaseList list(op, tier);
  for (const char* fields : {
           "n=1,k=1,dtype=f32",
           "n=33,k=17,dtype=f64",
           "n=17,k=33,order=col,uplo=l,trans=t,alpha=-0.75,beta=0.5,pad_a=3,pad_c=5,dtype=f32",
           "n=31,k=15,uplo=l,alpha=0.5,alpha_im=1,beta=-1,beta_im=0.5,domain=complex,dtype=f64",
           "n=15,k=31,order=col,trans=t,domain=complex,dtype=f32",
           "n=12,k=9,alpha=0,beta=0.5,dtype=f32",
           "n=29,k=47,order=col,beta=1,dtype=f64,fill=integers",
           "n=29,k=17,uplo=l,beta=0.5,domain=complex,dtype=f64,fill=special",
           "n=65,k=100,trans=t,beta=1,dtype=f32,offset=1",
       }) {
    list.add(Tier::smoke, fields);
  }
  for (const char* fields : {
           "n=0,k=5,dtype=f32",  // nothing to do
           "n=7,k=0,dtype=f64",
           "n=7,k=0,beta=0.5,uplo=l,domain=complex,dtype=f32",
           "n=7,k=0,beta=1,order=col,dtype=f32",
           "n=12,k=10,alpha=0,order=col,dtype=f64",  // A holds NaN
           "n=12,k=10,alpha=0,beta=-0.75,uplo=l,trans=t,domain=complex,dtype=f32",
           "n=3,k=4,alpha=0,beta=1,domain=complex,dtype=f64",
           "n=3,k=1000,dtype=f32,fill=uniform",  // long sums, and none
           "n=2,k=1000,order=col,trans=t,beta=1,domain=complex,dtype=f64",
           "n=200,k=1,uplo=l,dtype=f32",
           "n=100,k=3,order=col,beta=-1,domain=complex,dtype=f32",
           "n=129,k=100,dtype=f32",  // more than one block, two threads
           "n=127,k=65,uplo=l,trans=t,beta=0.5,order=col,dtype=f64",
           "n=100,k=63,uplo=l,domain=complex,dtype=f32",
           "n=127,k=33,order=col,trans=t,beta=1,domain=complex,dtype=f64",
           "n=33,k=29,domain=complex,dtype=f32,offset=1",
           "n=33,k=29,trans=t,beta=1,dtype=f64,place=start",
           "n=48,k=40,beta=0.5,dtype=f32,seeds=8",
       }) {
    list.add(Tier::ci, fields);
  }
  const std::vector<int64_t>& sizes = matrix_sizes();
  Draw draw(20264);
  const auto any = [&](size_t kind) {
    std::string fields = draw.one_of(kLayouts) + factor(draw, "alpha", kind) + factor(draw, "beta", kind);
    return fields + draw.one_of(kPads) + kinds()[kind];
  };
  constexpr size_t kMost = 14;  // of the sizes: up to 100 each
  for (size_t i = 0; i < kMost; ++i) {
    for (size_t kind = 0; kind < kinds().size(); ++kind) {
      const std::string at = shape(sizes[i], sizes[(5 * i + 3 + kind) % kMost]);
      list.add((i + kind) % 2 == 0 ? Tier::ci : Tier::nightly, at + any(kind));
    }
  }
  const std::vector<std::string> fills{"uniform", "scaled", "subnormal", "signed_zeros", "special", "special_c",
                                       "nan_one", "ones",   "integers",  "onehot",       "negative"};
  for (size_t f = 0; f < fills.size(); ++f) {
    for (size_t kind = 0; kind < kinds().size(); ++kind) {
      const std::string beta = fills[f] == "special_c" ? ",beta=-0.75" : "";
      list.add((f + kind) % 2 == 0 ? Tier::ci : Tier::nightly,
               shape(29, 23) + draw.one_of(kLayouts) + beta + kinds()[kind] + ",fill=" + fills[f]);
    }
  }
  for (int64_t i = 0; i < 80; ++i) {
    const auto kind = static_cast<size_t>(draw.below(kinds().size()));
    list.add(Tier::nightly, shape(draw.log_uniform(7), draw.log_uniform(7)) + any(kind) + ",seed=" + to_string(10 + i));
  }
  return list.take();
}

}  // namespace assay::blas_syrk
