// The BLAS product of a triangular matrix and a vector, x := op(A) x (?trmv). The other triangle of A is not read, nor
// is its diagonal when diag=u. The reference BLAS (3.12, dtrmv.f) leaves out an x_j that is 0, others multiply: where
// NaN or infinity in A meets it an element may be NaN too.
#include "reference/blas_matrix.h"
#include "reference/blas_triangle.h"
#include "reference/blas_trmv/cases.h"
#include "reference/product_fills.h"

namespace assay {
namespace blas_trmv {
namespace {

using namespace blas;

constexpr size_t kA = 0, kX = 1;

class TrmvOp final : public ProductOp {
 public:
  std::string_view name() const override { return "blas_trmv"; }
  std::string_view summary() const override { return "x = op(a) x, a triangular (BLAS ?trmv)"; }

  std::vector<FieldSpec> fields() const override {
    return {{.name = "n", .doc = "rows and columns of a"},
            order_field(),
            uplo_field(),
            transposed_field("trans"),
            diag_field(),
            pad_field("pad"),
            increment_field("incx"),
            domain_field(),
            dtype_field()};
  }

  std::vector<Case> cases(Tier tier) const override { return blas_trmv::cases(*this, tier); }

  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    const int64_t n = c.integer("n"), incx = increment_of(c, "incx");
    const ProductFills fills = product_fills(c.word("fill"), n * parts_of(c));
    return {matrix_tensor(c, "a", n, n, c.integer("pad"), Role::input, triangle_fill(c, fills.a)),
            vector_tensor(c, "x", n, incx, Role::inout, along(0, fills.b))};
  }

  std::vector<Reference> oracle(const Case& c, std::span<const TensorView> tensors, int threads) const override {
    const int64_t n = c.integer("n"), incx = c.integer("incx");
    const Triangle a(c, tensors[kA]);
    // A unit diagonal adds x_i, which is no product: of a complex x_i one part may be finite, the other not.
    const Complex of_own{a.has_unit_diagonal() ? 1.0 : 0.0, 0};
    const Scaling scaling{.beta = of_own, .is_complex = is_complex(c), .zeros_may_be_skipped = true};
    const Numbers x(c, tensors[kX], n, incx);
    return {reference_of(c, tensors[kX], n, threads, [&](int64_t place, int64_t) {
      const int64_t i = place_of(place, n, incx);
      return element_of(scaling, x(i), [&](ProductSum& sum) {
        for (int64_t p = a.first(i); p < a.end(i); ++p) {
          if (p != i || !a.has_unit_diagonal()) sum.add(a(i, p), x(p));
        }
      });
    })};
  }

  std::vector<Sensitivity> sensitivities(const Case& c) const override {
    return changes(c, c.integer("n"), {}, {"a", "x"});
  }

 protected:
  int64_t terms(const Case& c) const override { return c.integer("n"); }
};

}  // namespace
}  // namespace blas_trmv

std::unique_ptr<Op> make_blas_trmv_op() { return std::make_unique<blas_trmv::TrmvOp>(); }

}  // namespace assay
