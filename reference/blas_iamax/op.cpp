// The BLAS index of the largest magnitude: the first i for which |x_i|, of complex numbers |re x_i| + |im x_i|, is not
// less than any other; counted from 0, as CBLAS does. Of `batch` vectors, one call each. An increment of 0 or less, as
// no elements, gives 0. That sum of two magnitudes is rounded by some implementations and exact in others, so that
// either's first largest is right, and so is what lies between. Where such a sum overflows f64 that is not told, and
// where there is a NaN the reference BLAS depends on where it is, and others on their blocks: any index of the vector,
// no evidence.
#include "reference/blas.h"
#include "reference/math/caps.h"

namespace assay {
namespace blas_iamax {
namespace {

using namespace blas;

struct Largest {
  double first = 0, last = 0;  // indices
  bool is_evidence = true;
};

Largest largest_of(const Vector& x, int64_t n, int64_t parts, DType dtype) {
  Largest found;
  DoubleDouble exact = -1;
  double rounded = -1;
  for (int64_t i = 0; i < n; ++i) {
    const DoubleDouble sum = two_sum(std::fabs(x(i)), parts == 2 ? std::fabs(x(i, 1)) : 0);
    const bool overflows = !is_finite(sum.hi) && is_finite(x(i)) && (parts == 1 || is_finite(x(i, 1)));
    // NOLINTNEXTLINE(misc-redundant-expression): NaN alone differs from itself
    if (!(sum.hi == sum.hi) || overflows) return {0, static_cast<double>(n - 1), false};
    if (const double kept = round_to(dtype, sum.hi); kept > rounded) {
      rounded = kept;
      found.first = static_cast<double>(i);
    }
    if (sum > exact) {
      exact = sum;
      found.last = static_cast<double>(i);
    }
  }
  return found;
}

class IamaxOp final : public MovingOp {
 public:
  std::string_view name() const override { return "blas_iamax"; }
  std::string_view summary() const override { return "k = first index of the largest |x_i| (BLAS i?amax)"; }
  std::vector<FieldSpec> fields() const override { return norm_fields(); }

  std::vector<Case> cases(Tier tier) const override {
    CaseList list(*this, tier);
    add_norm_cases(list);
    for (const char* fields : {"n=4097,batch=16,dtype=f32,fill=integers", "n=4097,batch=16,dtype=f64,fill=index",
                               "n=4097,batch=9,domain=complex,dtype=f32,fill=integers",
                               "n=63,batch=64,dtype=f32,fill=negative", "n=130,batch=64,dtype=f64"}) {
      list.add(Tier::ci, fields);
    }
    return list.take();
  }

  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    TensorSpec x = std::move(norm_tensors(c, {.generator = c.word("fill")})[0]);
    return {std::move(x), real_tensor("k", DType::i32, c.integer("batch"), Role::output)};
  }

  std::vector<Reference> oracle(const Case& c, std::span<const TensorView> tensors, int) const override {
    const int64_t n = c.integer("incx") > 0 ? c.integer("n") : 0;
    Reference k = moved_reference(*tensors[1].spec);
    k.bitwise = false;
    k.conditions.assign(1, std::vector<double>(k.size()));
    for (int64_t entry = 0; entry < c.integer("batch"); ++entry) {
      const Vector x(c, tensors[0], n, c.integer("incx"), entry);
      const Largest found = largest_of(x, n, parts_of(c), dtype_of(c));
      const auto at = static_cast<size_t>(entry);
      k.hi[at] = (found.first + found.last) / 2;
      k.e_ref[at] = (found.last - found.first) / 2;
      k.conditions[0][at] = found.is_evidence ? 1 : 0;
    }
    return {k};
  }

  // That all of sixteen indices below 8 or more stay what they are is not to be expected.
  std::vector<Sensitivity> sensitivities(const Case& c) const override {
    return c.integer("n") < 8 ? std::vector<Sensitivity>{} : norm_sensitivities(c);
  }

  std::vector<RowIndependence> row_independence(const Case& c) const override { return norm_row_independence(c, "k"); }
  std::optional<Case> leading_part(const Case& c) const override { return first_of_batch(c); }
  std::vector<TensorAxis> row_order(const Case& c) const override { return order_of_batch(c, {"x", "k"}); }

  Bounds bounds(const Case&, const Contract&, const Reference& reference) const override {
    Bounds b;
    b.e_alg.resize(reference.size());
    for (const double is_evidence : reference.conditions[0]) {
      b.evidence.push_back(is_evidence != 0 ? Evidence::exact : Evidence::no_evidence);
    }
    return b;
  }
};

}  // namespace
}  // namespace blas_iamax

std::unique_ptr<Op> make_blas_iamax_op() { return std::make_unique<blas_iamax::IamaxOp>(); }

}  // namespace assay
