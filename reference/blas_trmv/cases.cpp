// Tails of either triangle in each layout, increments either way, NaN and infinity, also where nothing is read.
#include "reference/blas_trmv/cases.h"

#include "reference/blas_matrix.h"

namespace assay::blas_trmv {
namespace {

using namespace blas;
using std::to_string;

const std::vector<std::string> kOrders{"", ",order=col"};
const std::vector<std::string> kTriangles{"", ",uplo=l"};
const std::vector<std::string> kTrans{"", ",trans=t", ",trans=c"};
const std::vector<std::string> kDiagonals{"", ",diag=u"};
const std::vector<std::string> kPads{"", ",pad=3"};
const std::vector<std::string> kIncrements{"", "", ",incx=2", ",incx=-1", ",incx=-3"};

std::string shape(int64_t n) { return "n=" + to_string(n); }

}  // namespace

std::vector<Case> cases(const Op& op, Tier tier) {
  CaseList list(op, tier);
  for (const char* fields : {
           "n=1,dtype=f32",
           "n=33,dtype=f64",
           "n=17,order=col,uplo=l,trans=t,diag=u,pad=3,incx=2,dtype=f32",
           "n=65,uplo=l,trans=c,incx=-3,domain=complex,dtype=f64",
           "n=31,order=col,diag=u,domain=complex,dtype=f32",
           "n=47,uplo=l,dtype=f64,fill=triangle",
           "n=29,trans=t,dtype=f32,fill=integers",
           "n=29,order=col,domain=complex,dtype=f64,fill=special",
           "n=100,trans=t,uplo=l,dtype=f32,offset=1",
       }) {
    list.add(Tier::smoke, fields);
  }
  for (const char* fields : {
           "n=0,dtype=f32",  // nothing to do
           "n=0,order=col,domain=complex,dtype=f64",
           "n=29,dtype=f32,fill=triangle",  // NaN in the triangle that is not read
           "n=70,order=col,uplo=l,trans=t,diag=u,dtype=f32,fill=triangle",
           "n=29,trans=c,uplo=l,incx=-1,domain=complex,dtype=f64,fill=triangle",
           "n=70,order=col,trans=t,domain=complex,dtype=f32,fill=triangle",
           "n=257,dtype=f32",  // from about here two threads
           "n=300,uplo=l,trans=t,order=col,dtype=f64",
           "n=257,order=col,domain=complex,dtype=f32",
           "n=200,trans=c,uplo=l,incx=-1,domain=complex,dtype=f64",
           "n=1000,uplo=l,dtype=f32,fill=uniform",
           "n=33,domain=complex,dtype=f32,offset=1",
           "n=33,trans=t,dtype=f64,place=start",
           "n=100,dtype=f32,seeds=8",
       }) {
    list.add(Tier::ci, fields);
  }
  const std::vector<int64_t>& sizes = matrix_sizes();
  Draw draw(20265);
  const auto layout = [&] {
    return draw.one_of(kOrders) + draw.one_of(kTriangles) + draw.one_of(kTrans) + draw.one_of(kDiagonals);
  };
  const auto any = [&](size_t kind) {
    const std::string where = layout();
    return where + draw.one_of(kPads) + draw.one_of(kIncrements) + kinds()[kind];
  };
  for (size_t i = 0; i < sizes.size(); ++i) {
    for (size_t kind = 0; kind < kinds().size(); ++kind) {
      list.add((i + kind) % 4 != 3 ? Tier::ci : Tier::nightly, shape(sizes[i]) + any(kind));
      list.add(Tier::nightly, shape(sizes[i]) + any(kind) + ",seed=2");
    }
  }
  const std::vector<std::string> fills{"uniform", "cancelling", "scaled", "huge",     "subnormal", "signed_zeros",
                                       "special", "nan_one",    "ones",   "integers", "identity",  "negative"};
  for (size_t f = 0; f < fills.size(); ++f) {
    for (size_t kind = 0; kind < kinds().size(); ++kind) {
      list.add((f + kind) % 2 == 0 ? Tier::ci : Tier::nightly,
               shape(37) + layout() + draw.one_of(kIncrements) + kinds()[kind] + ",fill=" + fills[f]);
    }
  }
  for (int64_t i = 0; i < 80; ++i) {
    const auto kind = static_cast<size_t>(draw.below(kinds().size()));
    list.add(Tier::nightly, shape(draw.log_uniform(8)) + any(kind) + ",seed=" + to_string(10 + i));
  }
  return list.take();
}

}  // namespace assay::blas_trmv
