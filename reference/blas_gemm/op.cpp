// The BLAS product of matrices, C := alpha op(A) op(B) + beta C (?gemm), with what the op gemm leaves out: complex
// numbers and column order. As in the reference BLAS, A and B are not read when alpha is 0, C is not read when beta is
// 0, and k = 0 leaves beta C.
#include "reference/blas_gemm/cases.h"
#include "reference/blas_matrix.h"
#include "reference/product_fills.h"

namespace assay {
namespace blas_gemm {
namespace {

using namespace blas;

constexpr size_t kA = 0, kB = 1, kC = 2;

class GemmOp final : public ProductOp {
 public:
  std::string_view name() const override { return "blas_gemm"; }
  std::string_view summary() const override { return "c = alpha op(a) op(b) + beta c (BLAS ?gemm)"; }

  std::vector<FieldSpec> fields() const override {
    return joined({{{.name = "m", .doc = "rows of c"},
                    {.name = "n", .doc = "columns of c"},
                    {.name = "k", .doc = "products summed"},
                    order_field(),
                    transposed_field("transa"),
                    transposed_field("transb")},
                   scalar_fields("alpha", "factor of the product; 0: a, b not read", "1"),
                   scalar_fields("beta", "factor of the old c; 0: c not read", "0"),
                   {pad_field("pad_a"), pad_field("pad_b"), pad_field("pad_c"), domain_field(), dtype_field()}});
  }

  std::vector<Case> cases(Tier tier) const override { return blas_gemm::cases(*this, tier); }

  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    const int64_t m = c.integer("m"), n = c.integer("n"), k = c.integer("k");
    const bool ta = c.word("transa") != "n", tb = c.word("transb") != "n";
    const ProductFills fills = product_fills(c.word("fill"), k * parts_of(c));
    std::vector<TensorSpec> all{
        matrix_tensor(c, "a", ta ? k : m, ta ? m : k, c.integer("pad_a"), Role::input, along(ta ? 0 : 1, fills.a)),
        matrix_tensor(c, "b", tb ? n : k, tb ? k : n, c.integer("pad_b"), Role::input, along(tb ? 1 : 0, fills.b)),
        matrix_tensor(c, "c", m, n, c.integer("pad_c"), Role::inout, along(1, fills.c))};
    all[kA].is_read = all[kB].is_read = !scalar_of(c, "alpha").is_zero();
    all[kC].is_read = !scalar_of(c, "beta").is_zero();
    return all;
  }

  std::vector<Reference> oracle(const Case& c, std::span<const TensorView> tensors, int threads) const override {
    const Scaling scaling{.alpha = scalar_of(c, "alpha"), .beta = scalar_of(c, "beta"), .is_complex = is_complex(c)};
    const int64_t k = scaling.alpha.is_zero() ? 0 : c.integer("k");
    const Matrix a(c, tensors[kA], c.word("transa")), b(c, tensors[kB], c.word("transb")), old(c, tensors[kC]);
    return {reference_of(c, tensors[kC], k, threads, [&](int64_t i, int64_t j) {
      return element_of(scaling, old(i, j), [&](ProductSum& sum) {
        for (int64_t p = 0; p < k; ++p) sum.add(a(i, p), b(p, j));
      });
    })};
  }

  std::vector<Sensitivity> sensitivities(const Case& c) const override {
    const bool reads_products = !scalar_of(c, "alpha").is_zero() && c.integer("k") > 0;
    const int64_t outputs = c.integer("m") * c.integer("n");
    std::vector<Sensitivity> all;
    if (reads_products) all = changes(c, outputs, {"alpha"}, {"a", "b"});
    if (!scalar_of(c, "beta").is_zero()) {
      for (Sensitivity& s : changes(c, outputs, {"beta"}, {"c"})) all.push_back(std::move(s));
    }
    return all;
  }

  std::vector<RowIndependence> row_independence(const Case& c) const override {
    if (scalar_of(c, "alpha").is_zero() || c.integer("k") == 0) return {};
    return {{.input = "a", .input_axis = c.word("transa") == "n" ? 0 : 1, .output = "c", .output_axis = 0},
            {.input = "b", .input_axis = c.word("transb") == "n" ? 1 : 0, .output = "c", .output_axis = 1}};
  }

  std::vector<TensorAxis> row_order(const Case& c) const override {
    if (c.integer("m") < 2) return {};
    return {{"a", c.word("transa") == "n" ? 0 : 1}, {"c", 0}};
  }

  std::optional<Case> more_terms(const Case& c) const override {
    if (scalar_of(c, "alpha").is_zero() || c.integer("k") == 0) return std::nullopt;
    return longer(c, "k");
  }

 protected:
  int64_t terms(const Case& c) const override { return c.integer("k"); }
};

}  // namespace
}  // namespace blas_gemm

std::unique_ptr<Op> make_blas_gemm_op() { return std::make_unique<blas_gemm::GemmOp>(); }

}  // namespace assay
