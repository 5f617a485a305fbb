// The BLAS product of a matrix and a vector, y := alpha op(A) x + beta y (?gemv). As in the reference BLAS (3.12,
// dgemv.f), A and x are not read when alpha is 0 and y is not read when beta is 0; a matrix with no rows or no columns
// leaves y as it is, whatever beta.
#include "reference/blas_gemv/cases.h"
#include "reference/blas_matrix.h"
#include "reference/product_fills.h"

namespace assay {
namespace blas_gemv {
namespace {

using namespace blas;

constexpr size_t kA = 0, kX = 1, kY = 2;

bool is_empty(const Case& c) { return c.integer("m") == 0 || c.integer("n") == 0; }
bool reads_products(const Case& c) { return !scalar_of(c, "alpha").is_zero() && !is_empty(c); }
int64_t length_of_x(const Case& c) { return c.integer(c.word("trans") == "n" ? "n" : "m"); }
int64_t length_of_y(const Case& c) { return c.integer(c.word("trans") == "n" ? "m" : "n"); }

class GemvOp final : public ProductOp {
 public:
  std::string_view name() const override { return "blas_gemv"; }
  std::string_view summary() const override { return "y = alpha op(a) x + beta y (BLAS ?gemv)"; }

  std::vector<FieldSpec> fields() const override {
    return joined(
        {{{.name = "m", .doc = "rows of a"},
          {.name = "n", .doc = "columns of a"},
          order_field(),
          transposed_field("trans")},
         scalar_fields("alpha", "factor of the product; 0: a, x not read", "1"),
         scalar_fields("beta", "factor of the old y; 0: y not read", "0"),
         {pad_field("pad"), increment_field("incx"), increment_field("incy"), domain_field(), dtype_field()}});
  }

  std::vector<Case> cases(Tier tier) const override { return blas_gemv::cases(*this, tier); }

  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    const int64_t m = c.integer("m"), n = c.integer("n");
    const int64_t incx = increment_of(c, "incx"), incy = increment_of(c, "incy");
    ProductFills fills = product_fills(c.word("fill"), length_of_x(c) * parts_of(c));
    if (c.word("fill") == "nan_one") std::swap(fills.a, fills.b);  // a NaN in x is in all of y
    const int axis = c.word("trans") == "n" ? 1 : 0;
    std::vector<TensorSpec> all{matrix_tensor(c, "a", m, n, c.integer("pad"), Role::input, along(axis, fills.a)),
                                vector_tensor(c, "x", length_of_x(c), incx, Role::input, along(0, fills.b)),
                                vector_tensor(c, "y", length_of_y(c), incy, Role::inout, along(0, fills.c))};
    all[kA].is_read = all[kX].is_read = !scalar_of(c, "alpha").is_zero();
    all[kY].is_read = !scalar_of(c, "beta").is_zero() || is_empty(c);
    return all;
  }

  std::vector<Reference> oracle(const Case& c, std::span<const TensorView> tensors, int threads) const override {
    const Scaling scaling{.alpha = scalar_of(c, "alpha"), .beta = scalar_of(c, "beta"), .is_complex = is_complex(c)};
    const int64_t rows = length_of_y(c), k = reads_products(c) ? length_of_x(c) : 0;
    const Matrix a(c, tensors[kA], c.word("trans"));
    const Numbers x(c, tensors[kX], length_of_x(c), c.integer("incx")), y(c, tensors[kY], rows, c.integer("incy"));
    return {reference_of(c, tensors[kY], k, threads, [&](int64_t place, int64_t) {
      const int64_t i = place_of(place, rows, c.integer("incy"));
      if (is_empty(c)) return untouched(y(i));
      return element_of(scaling, y(i), [&](ProductSum& sum) {
        for (int64_t p = 0; p < k; ++p) sum.add(a(i, p), x(p));
      });
    })};
  }

  std::vector<Sensitivity> sensitivities(const Case& c) const override {
    std::vector<Sensitivity> all;
    if (reads_products(c)) all = changes(c, length_of_y(c), {"alpha"}, {"a", "x"});
    if (!scalar_of(c, "beta").is_zero() && !is_empty(c)) {
      for (Sensitivity& s : changes(c, length_of_y(c), {"beta"}, {"y"})) all.push_back(std::move(s));
    }
    return all;
  }

  std::vector<TensorAxis> row_order(const Case& c) const override {
    if (length_of_y(c) < 2) return {};
    return {{"a", c.word("trans") == "n" ? 0 : 1}, {"y", 0}};
  }

  // The last of x where its tensor's last elements are.
  std::optional<Case> more_terms(const Case& c) const override {
    if (!reads_products(c) || c.integer("incx") < 0) return std::nullopt;
    return longer(c, c.word("trans") == "n" ? "n" : "m");
  }

 protected:
  int64_t terms(const Case& c) const override { return length_of_x(c); }
};

}  // namespace
}  // namespace blas_gemv

std::unique_ptr<Op> make_blas_gemv_op() { return std::make_unique<blas_gemv::GemvOp>(); }

}  // namespace assay
