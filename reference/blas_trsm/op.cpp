// The BLAS solution of op(A) X = alpha B (side=l) or X op(A) = alpha B (side=r), A triangular, in place of B (?trsm).
// The other triangle of A is not read, nor is its diagonal when diag=u; alpha = 0 makes B zero, and neither A nor B is
// read.
#include "reference/blas_triangle.h"
#include "reference/blas_trsm/cases.h"
#include "reference/blas_trsm/oracle.h"
#include "reference/product_fills.h"

namespace assay {
namespace blas_trsm {
namespace {

using namespace blas;

constexpr size_t kA = 0, kB = 1;

bool is_left(const Case& c) { return c.word("side") == "l"; }
int64_t order_of_a(const Case& c) { return c.integer(is_left(c) ? "m" : "n"); }

// Elements of any size make the solution grow with every row; those of `dominant` keep it near b.
FillSpec fill_of_a(const Case& c) {
  const std::string& fill = c.word("fill");
  if (fill == "triangle") return {.generator = fill};
  if (fill == "nan_one") return {.generator = fill, .scale = 1 / std::max(1.0, static_cast<double>(order_of_a(c)))};
  if (fill == "identity") return {.generator = fill};
  return {.generator = "dominant"};
}

FillSpec fill_of_b(const Case& c) {
  const std::string& fill = c.word("fill");
  if (fill == "triangle" || fill == "nan_one") return {};
  if (fill == "identity") return {.generator = "integers"};
  if (fill == "huge") return {.generator = fill, .scale = 0x1p-8};
  return {.generator = fill};
}

// Element (i, j) of T, whose columns x are solved for: op(A), or its transpose where it stands on the right.
struct System {
  Triangle a;
  bool left;

  Complex operator()(int64_t i, int64_t j) const { return left ? a(i, j) : a(j, i); }
  bool is_lower() const { return a.is_lower() == left; }
};

Component scaled(Complex alpha, Complex b) {
  Component product;
  product.re = two_prod(alpha.re, b.re) - two_prod(alpha.im, b.im);
  product.im = two_prod(alpha.re, b.im) + two_prod(alpha.im, b.re);
  return product;
}

class TrsmOp final : public BlasOp {
 public:
  std::string_view name() const override { return "blas_trsm"; }
  std::string_view summary() const override { return "b = alpha op(a)^-1 b or alpha b op(a)^-1 (BLAS ?trsm)"; }

  std::vector<FieldSpec> fields() const override {
    return joined({{{.name = "m", .doc = "rows of b"},
                    {.name = "n", .doc = "columns of b"},
                    order_field(),
                    choice_field("side", "where a stands in the product with x", {"l", "r"}),
                    uplo_field(),
                    transposed_field("trans"),
                    diag_field()},
                   scalar_fields("alpha", "factor of b; 0: a, b not read", "1"),
                   {pad_field("pad_a"), pad_field("pad_b"), domain_field(), dtype_field()}});
  }

  std::vector<Case> cases(Tier tier) const override { return blas_trsm::cases(*this, tier); }

  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    const int64_t m = c.integer("m"), n = c.integer("n"), order = order_of_a(c);
    std::vector<TensorSpec> all{
        matrix_tensor(c, "a", order, order, c.integer("pad_a"), Role::input, triangle_fill(c, fill_of_a(c))),
        matrix_tensor(c, "b", m, n, c.integer("pad_b"), Role::inout, along(is_left(c) ? 0 : 1, fill_of_b(c)))};
    all[kA].is_read = all[kB].is_read = !scalar_of(c, "alpha").is_zero();
    return all;
  }

  std::vector<Reference> oracle(const Case& c, std::span<const TensorView> tensors, int threads) const override {
    constexpr int64_t kWorthThreads = int64_t{1} << 14;
    const bool left = is_left(c);
    const Complex alpha = scalar_of(c, "alpha");
    const int64_t n = order_of_a(c), systems = c.integer(left ? "n" : "m"), parts = parts_of(c);
    const int64_t columns = c.integer("n");
    const System t{Triangle(c, tensors[kA]), left};
    const Matrix b(c, tensors[kB]);
    Reference reference = blank_reference(*tensors[kB].spec);
    reference.conditions.resize(kConditions);
    if (alpha.is_zero()) return {reference};
#pragma omp parallel for num_threads(threads) if (threads > 1 && n * n * systems > kWorthThreads)
    for (int64_t system = 0; system < systems; ++system) {
      std::vector<Component> x(static_cast<size_t>(n));
      double largest = 0;
      for (int64_t step = 0; step < n; ++step) {
        const int64_t i = t.is_lower() ? step : n - 1 - step;
        const Complex right = left ? b(i, system) : b(system, i);
        Taint taint;
        taint.meet_right_side(right, parts == 2);
        Component& out = x[static_cast<size_t>(i)];
        out = solved(i, t.is_lower() ? 0 : i, t.is_lower() ? i + 1 : n, n, t, x, scaled(alpha, right),
                     modulus(alpha) * modulus(right), largest, taint);
        largest = is_finite(out.condition[kLargest]) ? out.condition[kLargest] : largest;
        const int64_t at = (left ? i * columns + system : system * columns + i) * parts;
        for (int64_t part = 0; part < parts; ++part) store(reference, static_cast<size_t>(at + part), part, out);
      }
    }
    return {reference};
  }

  Bounds bounds(const Case& c, const Contract& contract, const Reference& reference) const override {
    return bounds_of(rule_of(c, contract), reference, 1, kPer);
  }

  std::vector<Sensitivity> sensitivities(const Case& c) const override {
    if (scalar_of(c, "alpha").is_zero()) return {};
    const int64_t outputs = c.integer("m") * c.integer("n");
    return order_of_a(c) < 4 ? changes(c, outputs, {"alpha"}, {"b"}) : changes(c, outputs, {"alpha"}, {"a", "b"});
  }

  // The systems: columns of b, or rows of it where a stands on the right.
  std::vector<TensorAxis> row_order(const Case& c) const override {
    if (c.integer(is_left(c) ? "n" : "m") < 2) return {};
    return {{"b", is_left(c) ? 1 : 0}};
  }

 protected:
  int64_t terms(const Case& c) const override { return order_of_a(c); }

 private:
  static void store(Reference& reference, size_t at, int64_t part, const Component& x) {
    for (size_t k = 0; k < kConditions; ++k) reference.conditions[k][at] = x.condition[k];
    if (x.state == Component::State::nan) {
      reference.hi[at] = std::numeric_limits<double>::quiet_NaN();
      for (size_t k = 0; k < kConditions; ++k) reference.conditions[k][at] = 0;
    } else if (x.state == Component::State::unclear) {
      reference.e_ref[at] = kInfinity;
      for (size_t k = 0; k < kConditions; ++k) reference.conditions[k][at] = kInfinity;
    } else {
      reference.hi[at] = part == 0 ? x.re.hi : x.im.hi;
      reference.lo[at] = part == 0 ? x.re.lo : x.im.lo;
      reference.e_ref[at] = x.e_ref;
    }
  }
};

}  // namespace

Rule rule_of(const Case& c, const Contract& contract) {
  const bool flushes = contract.arithmetic.flushes_subnormals != 0;
  const int32_t unit = charged_accumulator(contract, dtype_of(c));
  const auto n = static_cast<double>(order_of_a(c));
  const bool of_complex = is_complex(c);
  Rule rule;
  rule.accumulator = accumulator_type(unit);
  const double u = unit_roundoff(rule.accumulator);
  const double step = of_complex ? 1.4142135623730952 * (gamma_n(2 * n + 2, u) + gamma_n(14, u)) : gamma_n(n + 3, u);
  rule.rounding = n * step < 0.5 ? step / (1 - n * step) * (1 + 0x1p-50) : kInfinity;
  rule.underflow = (flushes ? 4 : 1) * underflow_error(unit, flushes) * (1 + 2 * n * step);
  return rule;
}

}  // namespace blas_trsm

std::unique_ptr<Op> make_blas_trsm_op() { return std::make_unique<blas_trsm::TrsmOp>(); }

}  // namespace assay
