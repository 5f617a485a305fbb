// Tails of either triangle on either side in each layout, factors of either sign and kind, NaN and infinity, also
// where nothing is read.
#include "reference/blas_trsm/cases.h"

#include "reference/blas_matrix.h"

namespace assay::blas_trsm {
namespace {

using namespace blas;
using std::to_string;

const std::vector<std::string> kOrders{"", ",order=col"};
const std::vector<std::string> kTriangles{"", ",uplo=l"};
const std::vector<std::string> kTrans{"", ",trans=t", ",trans=c"};
const std::vector<std::string> kDiagonals{"", ",diag=u"};
const std::vector<std::string> kSides{"", ",side=r"};
const std::vector<std::string> kPads{"", ",pad_a=3,pad_b=5"};

std::string shape(int64_t m, int64_t n) { return "m=" + to_string(m) + ",n=" + to_string(n); }

}  // namespace

std::vector<Case> cases(const Op& op, Tier tier) {
  CaseList list(op, tier);
  for (const char* fields : {
           "m=1,n=1,dtype=f32",
           "m=33,n=17,dtype=f64",
           "m=17,n=33,order=col,side=r,uplo=l,trans=t,diag=u,alpha=-0.75,pad_a=3,pad_b=5,dtype=f32",
           "m=31,n=15,uplo=l,trans=c,alpha=0.5,alpha_im=1,domain=complex,dtype=f64",
           "m=15,n=31,order=col,side=r,domain=complex,dtype=f32",
           "m=12,n=9,alpha=0,dtype=f32",
           "m=47,n=8,uplo=l,dtype=f64,fill=triangle",
           "m=29,n=17,order=col,trans=t,dtype=f32,fill=special",
           "m=65,n=20,side=l,order=col,diag=u,dtype=f32,offset=1",
       }) {
    list.add(Tier::smoke, fields);
  }
  for (const char* fields : {
           "m=0,n=5,dtype=f32",  // nothing to do
           "m=5,n=0,side=r,domain=complex,dtype=f64",
           "m=12,n=10,alpha=0,side=r,order=col,dtype=f64",  // A and B hold NaN
           "m=12,n=10,alpha=0,domain=complex,dtype=f32",
           "m=29,n=7,dtype=f32,fill=triangle",  // NaN in the triangle that is not read
           "m=7,n=40,side=r,order=col,uplo=l,trans=t,diag=u,dtype=f32,fill=triangle",
           "m=29,n=6,trans=c,uplo=l,domain=complex,dtype=f64,fill=triangle",
           "m=5,n=33,side=r,order=col,trans=t,domain=complex,dtype=f32,fill=triangle",
           "m=100,n=1,dtype=f32",  // one system, and small ones
           "m=1,n=100,side=r,uplo=l,order=col,dtype=f64",
           "m=1,n=200,dtype=f64",
           "m=2,n=127,order=col,uplo=l,domain=complex,dtype=f32",
           "m=200,n=3,side=r,trans=t,dtype=f32",
           "m=129,n=65,dtype=f32",  // more than one block, two threads
           "m=65,n=127,side=r,uplo=l,trans=t,order=col,dtype=f64",
           "m=100,n=63,order=col,uplo=l,domain=complex,dtype=f32",
           "m=33,n=100,side=r,trans=c,domain=complex,dtype=f64",
           "m=257,n=9,uplo=l,order=col,dtype=f64",
           "m=33,n=29,domain=complex,dtype=f32,offset=1",
           "m=33,n=29,trans=t,dtype=f64,place=start",
           "m=48,n=40,dtype=f32,seeds=8",
       }) {
    list.add(Tier::ci, fields);
  }
  const std::vector<int64_t>& sizes = matrix_sizes();
  Draw draw(20266);
  const auto layout = [&] {
    return draw.one_of(kOrders) + draw.one_of(kSides) + draw.one_of(kTriangles) + draw.one_of(kTrans) +
           draw.one_of(kDiagonals);
  };
  const auto any = [&](size_t kind) {
    const std::string where = layout();
    return where + factor(draw, "alpha", kind) + draw.one_of(kPads) + kinds()[kind];
  };
  constexpr size_t kMost = 14;  // of the sizes: up to 100 each
  for (size_t i = 0; i < kMost; ++i) {
    for (size_t kind = 0; kind < kinds().size(); ++kind) {
      const std::string at = shape(sizes[i], sizes[(5 * i + 3 + kind) % kMost]);
      list.add((i + kind) % 4 != 3 ? Tier::ci : Tier::nightly, at + any(kind));
    }
  }
  const std::vector<std::string> fills{"uniform", "scaled",  "huge", "subnormal", "signed_zeros",
                                       "special", "nan_one", "ones", "integers",  "negative"};
  for (size_t f = 0; f < fills.size(); ++f) {
    for (size_t kind = 0; kind < kinds().size(); ++kind) {
      list.add((f + kind) % 2 == 0 ? Tier::ci : Tier::nightly,
               shape(21, 19) + layout() + kinds()[kind] + ",fill=" + fills[f]);
    }
  }
  for (int64_t i = 0; i < 80; ++i) {
    const auto kind = static_cast<size_t>(draw.below(kinds().size()));
    const std::string at = shape(draw.log_uniform(7), draw.log_uniform(7));
    list.add(Tier::nightly, at + any(kind) + ",seed=" + to_string(10 + i));
  }
  return list.take();
}

}  // namespace assay::blas_trsm
