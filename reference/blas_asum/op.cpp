// The BLAS sum of magnitudes: r = sum_i |x_i|, of complex numbers |re x_i| + |im x_i|. Of `batch` vectors, one call
// each. An increment of 0 or less, as no elements, gives 0.
#include "reference/blas.h"

namespace assay {
namespace blas_asum {
namespace {

using namespace blas;

class AsumOp final : public BlasOp {
 public:
  std::string_view name() const override { return "blas_asum"; }
  std::string_view summary() const override { return "r = sum of |x_i| (BLAS ?asum, scasum, dzasum)"; }
  std::vector<FieldSpec> fields() const override { return norm_fields(); }

  std::vector<Case> cases(Tier tier) const override {
    CaseList list(*this, tier);
    add_norm_cases(list);
    return list.take();
  }

  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    const std::string& fill = c.word("fill");
    const double share = fill == "huge" ? 0.5 / std::max(c.real("n"), 1.0) : 1;  // so that few sums overflow
    return norm_tensors(c, {.generator = fill, .scale = share});
  }

  std::vector<Reference> oracle(const Case& c, std::span<const TensorView> tensors, int) const override {
    const int64_t n = c.integer("incx") > 0 ? c.integer("n") : 0;
    Reference r = blank_reference(*tensors[1].spec);
    for (int64_t entry = 0; entry < c.integer("batch"); ++entry) {
      const Vector x(c, tensors[0], n, c.integer("incx"), entry);
      Products sum;
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t part = 0; part < parts_of(c); ++part) sum.add(1, std::fabs(x(i, part)));
      }
      store(r, entry, sum.finish());
    }
    return {r};
  }

  std::vector<Sensitivity> sensitivities(const Case& c) const override { return norm_sensitivities(c); }

  std::vector<RowIndependence> row_independence(const Case& c) const override { return norm_row_independence(c); }
  std::optional<Case> leading_part(const Case& c) const override { return first_of_batch(c); }
  std::vector<TensorAxis> row_order(const Case& c) const override { return order_of_batch(c, {"x", "r"}); }

  std::optional<Case> more_terms(const Case& c) const override {
    if (c.integer("n") == 0 || c.integer("incx") <= 0) return std::nullopt;
    return longer(c, "n");
  }

  std::vector<ScaleRelation> scale_relations(const Case& c) const override {
    const std::string& fill = c.word("fill");
    if (fill == "huge" || fill == "subnormal") return {};
    return {{.input = "x", .output = "r"}};
  }

 protected:
  int64_t terms(const Case& c) const override { return c.integer("n") * parts_of(c); }
};

}  // namespace
}  // namespace blas_asum

std::unique_ptr<Op> make_blas_asum_op() { return std::make_unique<blas_asum::AsumOp>(); }

}  // namespace assay
