// The BLAS update of rank 1, A := alpha x y^T + A, of complex numbers also with y conjugated (?ger, ?geru, ?gerc). As
// in the reference BLAS (3.12, dger.f), x and y are not read when alpha is 0. It leaves out a y_j that is 0, others
// multiply: where NaN or infinity in x meets it an element may be NaN too.
#include "reference/blas_ger/cases.h"
#include "reference/blas_matrix.h"
#include "reference/product_fills.h"

namespace assay {
namespace blas_ger {
namespace {

using namespace blas;

constexpr size_t kX = 0, kY = 1, kA = 2;

class GerOp final : public ProductOp {
 public:
  std::string_view name() const override { return "blas_ger"; }
  std::string_view summary() const override { return "a = alpha x y^T + a (BLAS ?ger, ?geru, ?gerc)"; }

  std::vector<FieldSpec> fields() const override {
    return joined(
        {{{.name = "m", .doc = "rows of a, elements of x"},
          {.name = "n", .doc = "columns of a, elements of y"},
          order_field(),
          choice_field("conj", "y: y is conjugated (?gerc)", {"n", "y"})},
         scalar_fields("alpha", "factor of the product; 0: x, y not read", "1"),
         {pad_field("pad"), increment_field("incx"), increment_field("incy"), domain_field(), dtype_field()}});
  }

  std::vector<Case> cases(Tier tier) const override { return blas_ger::cases(*this, tier); }

  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    const int64_t m = c.integer("m"), n = c.integer("n");
    const int64_t incx = increment_of(c, "incx"), incy = increment_of(c, "incy");
    const ProductFills fills = product_fills(c.word("fill"), parts_of(c));
    require_complex(c, "conj", "y");
    std::vector<TensorSpec> all{vector_tensor(c, "x", m, incx, Role::input, along(0, fills.a)),
                                vector_tensor(c, "y", n, incy, Role::input, along(0, fills.b)),
                                matrix_tensor(c, "a", m, n, c.integer("pad"), Role::inout, along(1, fills.c))};
    all[kX].is_read = all[kY].is_read = !scalar_of(c, "alpha").is_zero();
    return all;
  }

  std::vector<Reference> oracle(const Case& c, std::span<const TensorView> tensors, int threads) const override {
    const Scaling scaling{
        .alpha = scalar_of(c, "alpha"), .beta = {1, 0}, .is_complex = is_complex(c), .zeros_may_be_skipped = true};
    const bool is_read = !scaling.alpha.is_zero(), conjugated = c.word("conj") == "y";
    const Numbers x(c, tensors[kX], c.integer("m"), c.integer("incx"));
    const Numbers y(c, tensors[kY], c.integer("n"), c.integer("incy"));
    const Matrix old(c, tensors[kA]);
    return {reference_of(c, tensors[kA], 1, threads, [&](int64_t i, int64_t j) {
      if (!is_read) return untouched(old(i, j));
      return element_of(scaling, old(i, j), [&](ProductSum& sum) {
        const Complex factor = y(j);
        sum.add(x(i), {factor.re, conjugated ? -factor.im : factor.im});
      });
    })};
  }

  std::vector<Sensitivity> sensitivities(const Case& c) const override {
    const int64_t outputs = c.integer("m") * c.integer("n");
    if (scalar_of(c, "alpha").is_zero()) return changes(c, outputs, {}, {"a"});
    return changes(c, outputs, {"alpha"}, {"x", "y", "a"});
  }

  std::vector<TensorAxis> row_order(const Case& c) const override {
    if (c.integer("m") < 2) return {};
    return {{"x", 0}, {"a", 0}};
  }

 protected:
  int64_t terms(const Case&) const override { return 1; }
};

}  // namespace
}  // namespace blas_ger

std::unique_ptr<Op> make_blas_ger_op() { return std::make_unique<blas_ger::GerOp>(); }

}  // namespace assay
