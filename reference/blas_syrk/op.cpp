// The BLAS symmetric update of rank k, C := alpha A A^T + beta C or alpha A^T A + beta C (?syrk; of complex numbers too
// without conjugation), in one triangle of C. The other triangle is neither read nor written. As in the reference BLAS,
// A is not read when alpha is 0, nor C when beta is 0, and k = 0 leaves beta C. It leaves out elements of A that are 0
// (3.12, dsyrk.f), others multiply: where NaN or infinity meets them an element may be NaN too.
#include "reference/blas_matrix.h"
#include "reference/blas_syrk/cases.h"
#include "reference/product_fills.h"

namespace assay {
namespace blas_syrk {
namespace {

using namespace blas;

constexpr size_t kA = 0, kC = 1;

// C is part of the output beyond its triangle, whose content must stay, so that it is filled even where beta is 0: with
// NaN, which shows when it is read. That the other triangle stays shows where beta is not 0.
FillSpec fill_of_c(const Case& c, FillSpec fill) {
  if (scalar_of(c, "beta").is_zero()) return {.generator = "ones", .scale = std::numeric_limits<double>::quiet_NaN()};
  return fill;
}

class SyrkOp final : public ProductOp {
 public:
  std::string_view name() const override { return "blas_syrk"; }
  std::string_view summary() const override { return "c = alpha op(a) op(a)^T + beta c, one triangle (BLAS ?syrk)"; }

  std::vector<FieldSpec> fields() const override {
    return joined({{{.name = "n", .doc = "rows and columns of c"},
                    {.name = "k", .doc = "products summed"},
                    order_field(),
                    choice_field("uplo", "the triangle of c that is computed", {"u", "l"}),
                    choice_field("trans", "n: a is n x k; t: a is k x n", {"n", "t"})},
                   scalar_fields("alpha", "factor of the product; 0: a not read", "1"),
                   scalar_fields("beta", "factor of the old c; 0: c not read", "0"),
                   {pad_field("pad_a"), pad_field("pad_c"), domain_field(), dtype_field()}});
  }

  std::vector<Case> cases(Tier tier) const override { return blas_syrk::cases(*this, tier); }

  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    const int64_t n = c.integer("n"), k = c.integer("k");
    const bool transposed = c.word("trans") == "t";
    const ProductFills fills = product_fills(c.word("fill"), k * parts_of(c));
    std::vector<TensorSpec> all{
        matrix_tensor(c, "a", transposed ? k : n, transposed ? n : k, c.integer("pad_a"), Role::input,
                      along(transposed ? 0 : 1, fills.a)),
        matrix_tensor(c, "c", n, n, c.integer("pad_c"), Role::inout, along(1, fill_of_c(c, fills.c)))};
    all[kA].is_read = !scalar_of(c, "alpha").is_zero();
    return all;
  }

  std::vector<Reference> oracle(const Case& c, std::span<const TensorView> tensors, int threads) const override {
    const Scaling scaling{.alpha = scalar_of(c, "alpha"),
                          .beta = scalar_of(c, "beta"),
                          .is_complex = is_complex(c),
                          .zeros_may_be_skipped = true};
    const int64_t k = scaling.alpha.is_zero() ? 0 : c.integer("k");
    const bool upper = c.word("uplo") == "u";
    const Matrix a(c, tensors[kA], c.word("trans")), old(c, tensors[kC]);
    return {reference_of(c, tensors[kC], k, threads, [&](int64_t i, int64_t j) {
      if (upper ? i > j : i < j) return untouched(old(i, j));
      return element_of(scaling, old(i, j), [&](ProductSum& sum) {
        for (int64_t p = 0; p < k; ++p) sum.add(a(i, p), a(j, p));
      });
    })};
  }

  std::vector<Sensitivity> sensitivities(const Case& c) const override {
    const int64_t outputs = c.integer("n") * c.integer("n");
    std::vector<Sensitivity> all;
    if (!scalar_of(c, "alpha").is_zero() && c.integer("k") > 0) all = changes(c, outputs, {"alpha"}, {"a"});
    // Not to c: its other triangle is part of the output as it is, so that any change of c shows, whatever was read.
    if (!scalar_of(c, "beta").is_zero()) {
      for (Sensitivity& s : changes(c, outputs, {"beta"}, {})) all.push_back(std::move(s));
    }
    return all;
  }

  std::optional<Case> more_terms(const Case& c) const override {
    if (scalar_of(c, "alpha").is_zero() || c.integer("k") == 0) return std::nullopt;
    return longer(c, "k");
  }

 protected:
  int64_t terms(const Case& c) const override { return c.integer("k"); }
};

}  // namespace
}  // namespace blas_syrk

std::unique_ptr<Op> make_blas_syrk_op() { return std::make_unique<blas_syrk::SyrkOp>(); }

}  // namespace assay
