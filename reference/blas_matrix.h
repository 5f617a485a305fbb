// What the ops of BLAS levels 2 and 3 have in common beyond blas.h: elements of stored matrices, references of outputs
// that are matrices or vectors of sums of products.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "reference/blas_products.h"

namespace assay::blas {

FieldSpec transposed_field(const char* name);
FieldSpec choice_field(const char* name, const char* doc,
                       std::vector<std::string> choices);  // the first is the default
std::vector<FieldSpec> joined(const std::vector<std::vector<FieldSpec>>& lists);

// The increment, which levels 2 and 3 have no meaning for when it is 0: a UsageError.
int64_t increment_of(const Case& c, const char* name);
// A UsageError where field `name` has a value that only complex numbers give a meaning.
void require_complex(const Case& c, const char* name, const std::string& value);

// The generator's rows run along `axis` of a matrix, as if it were stored whole.
FillSpec along(int axis, FillSpec fill);

// Of a matrix X that is stored as a case says, op(X): n, t (transposed) or c (and conjugated).
class Matrix {
 public:
  Matrix(const Case& c, const TensorView& view, const std::string& transposed = "n");
  Complex operator()(int64_t i, int64_t j) const;

 private:
  const TensorView* view_;
  int64_t row_stride_, column_stride_;
  bool is_complex_, conjugated_;
};

// The numbers of a vector, real or complex, as BLAS counts them.
class Numbers {
 public:
  Numbers(const Case& c, const TensorView& view, int64_t n, int64_t inc)
      : parts_(c, view, n, inc), is_complex_(is_complex(c)) {}
  Complex operator()(int64_t i) const { return {parts_(i), is_complex_ ? parts_(i, 1) : 0}; }

 private:
  Vector parts_;
  bool is_complex_;
};

// Both parts of a number; of a real one the first.
using Parts = std::array<gemm::Element, 2>;

// A number that stays as it was.
Parts untouched(Complex old);

// alpha sum + beta c; terms(sum) adds the products.
template <class Terms>
Parts element_of(const Scaling& scaling, Complex c, const Terms& terms) {
  ProductSum sum(scaling);
  terms(sum);
  return {sum.finish(0, c), scaling.is_complex ? sum.finish(1, c) : gemm::Element{}};
}

// The reference of output `out`, rows x columns numbers; a vector has one column. element(i, j) gives its Parts, which
// take `cost` products each.
template <class Function>
Reference reference_of(const Case& c, const TensorView& out, int64_t cost, int threads, const Function& element) {
  constexpr int64_t kWorthThreads = int64_t{1} << 16;
  const int64_t parts = parts_of(c), numbers = out.spec->elements() / parts;
  const bool is_matrix = out.spec->shape.size() == static_cast<size_t>(1 + parts);
  const int64_t columns = is_matrix ? out.spec->shape[1] : 1;
  Reference reference = blank_reference(*out.spec);
#pragma omp parallel for num_threads(threads) if (threads > 1 && numbers * cost > kWorthThreads)
  for (int64_t number = 0; number < numbers; ++number) {
    const Parts both = element(number / columns, number % columns);
    for (int64_t part = 0; part < parts; ++part) {
      store(reference, number * parts + part, both[static_cast<size_t>(part)]);
    }
  }
  return reference;
}

// Scalars halved, both parts, and tensors drawn again, where `outputs` numbers are enough to show it.
std::vector<Sensitivity> changes(const Case& c, int64_t outputs, const std::vector<const char*>& scalars,
                                 const std::vector<const char*>& tensors);

// Ops whose outputs are sums of products, scaled.
class ProductOp : public BlasOp {
 public:
  Bounds bounds(const Case& c, const Contract& contract, const Reference& reference) const override;
};

// ---- cases ----

// Sizes where vector registers, unrolled loops and blocks end.
inline const std::vector<int64_t>& matrix_sizes() {
  static const std::vector<int64_t> kSizes{1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 63, 65, 100, 127, 257};
  return kSizes;
}
// Fields that give a factor: left out, 0, -1 and others; of complex numbers (kinds() from 2 on) with an imaginary part.
std::string factor(Draw& draw, const char* name, size_t kind);

}  // namespace assay::blas
