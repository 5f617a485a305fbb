// What the BLAS ops share: their fields, how vectors and matrices lie in tensors, and the sum of products that nearly
// all of them are, in high precision. What a function has to do is what the reference BLAS does (LAPACK 3.12, BLAS/SRC;
// C. L. Lawson, R. J. Hanson, D. R. Kincaid, F. T. Krogh, "Basic Linear Algebra Subprograms for Fortran usage", ACM
// TOMS 5(3), 1979); where implementations differ and none is wrong an element is no evidence, and the op says where.
//
// domain=complex: a tensor has one more, last axis of 2, the real and the imaginary part, so that every output element
// is a real number, a sum of products of real numbers, with a bound of its own (componentwise, which 3M products would
// not meet: N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., section 23.2.4).
//
// Increments: a tensor holds a vector's elements |inc| apart, what lies between belongs to nobody. With inc < 0 the
// vector runs backwards: its element i is the tensor's element n - 1 - i. With inc = 0 the tensor has one element.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "reference/gemm/oracle.h"
#include "reference/row_ops.h"
#include "reference/rows.h"

namespace assay::blas {

// ---- fields ----

FieldSpec dtype_field();
FieldSpec domain_field();
FieldSpec increment_field(const char* name);                                                    // -4 to 3
FieldSpec order_field();                                                                        // row | col
FieldSpec pad_field(const char* name);                                                          // of a matrix
std::vector<FieldSpec> scalar_fields(const char* name, const char* doc, const char* fallback);  // NAME, NAME_im

bool is_complex(const Case& c);
inline int64_t parts_of(const Case& c) { return is_complex(c) ? 2 : 1; }

struct Complex {
  double re = 0, im = 0;
  bool is_zero() const { return re == 0 && im == 0; }
};
// Of one field. Throws UsageError where the dtype does not hold it exactly.
double real_scalar_of(const Case& c, const std::string& name);
// The scalar of fields NAME and NAME_im. Throws UsageError where the dtype does not hold it exactly, and for an
// imaginary part in domain=real.
Complex scalar_of(const Case& c, const std::string& name);

// ---- vectors and matrices in tensors ----

// Of n elements, |inc| apart; with `batch`, so many such vectors one after the other along a first axis.
TensorSpec vector_tensor(const Case& c, const char* name, int64_t n, int64_t inc, Role role, FillSpec fill = {});
TensorSpec vectors_tensor(const Case& c, const char* name, int64_t batch, int64_t n, int64_t inc, Role role,
                          FillSpec fill = {});
// Of `count` real numbers side by side, whatever the domain.
TensorSpec real_tensor(const char* name, DType dtype, int64_t count, Role role);
// rows x columns, row after row or, with order=col, column after column, `pad` elements between.
TensorSpec matrix_tensor(const Case& c, const char* name, int64_t rows, int64_t columns, int64_t pad, Role role,
                         FillSpec fill = {});

// Throws UsageError for an increment of 0 of a vector that is written: its elements would lie on one another.
void require_apart(const Case& c, const char* increment);
// Whether elements i of x and y are elements i of their tensors too, or both counted from the end.
bool run_together(const Case& c);

// Where element i of a vector lies among its tensor's elements.
inline int64_t place_of(int64_t i, int64_t n, int64_t inc) { return inc < 0 ? n - 1 - i : inc == 0 ? 0 : i; }

// A vector as BLAS numbers its elements; `entry`: of vectors_tensor().
class Vector {
 public:
  Vector(const Case& c, const TensorView& view, int64_t n, int64_t inc, int64_t entry = 0);
  double operator()(int64_t i, int64_t part = 0) const {
    return load(view_->spec->dtype, view_->data, first_ + i * step_ + part);
  }
  Complex complex(int64_t i) const { return {(*this)(i, 0), (*this)(i, 1)}; }

 private:
  const TensorView* view_;
  int64_t first_ = 0, step_ = 0;
};

// ---- sums of products ----

// A running sum of products of real numbers, in twice the precision of fp64: Dot2, as reference/gemm/oracle.h has it
// and its error from. Its element has gemm's conditions, for gemm's Rule.
class Products {
 public:
  explicit Products(bool of_complex = false) : of_complex_(of_complex) {}

  void add(double a, double b);
  // The same of a scalar argument. One that is 0 meets an infinity or NaN: 0 x is NaN, and there are implementations
  // that leave the product out, rightly where the scalar is the imaginary part of a number that is real. Then the
  // element is what the others add up to, or NaN.
  void add_scaled(double scalar, double x);

  gemm::Element finish() const;

 private:
  double high_ = 0, low_ = 0, magnitude_ = 0;
  int quantum_ = kNoQuantum;
  int64_t count_ = 0;
  bool of_complex_;
  bool finite_ = true, unclear_ = false;
};

// Adds scalar x to the sums of both parts.
inline void add_scaled(Products& re, Products& im, Complex scalar, Complex x) {
  re.add_scaled(scalar.re, x.re);
  re.add_scaled(-scalar.im, x.im);
  im.add_scaled(scalar.re, x.im);
  im.add_scaled(scalar.im, x.re);
}

// An element that may be anything, and one that may be any infinity or NaN.
gemm::Element anything();
gemm::Element anything_not_finite();

Reference blank_reference(const TensorSpec& tensor);
void store(Reference& reference, int64_t at, const gemm::Element& e);

// E_alg of an element: gamma_roundings(u) times its terms, and what `products` may lose by underflow.
gemm::Rule rule_of(DType dtype, const Contract& contract, double roundings, double products);
// Of an element that is a sum of `terms` products, in any order of summation, each product and each addition rounded:
// gamma_terms(u) sum |products| (Higham, (3.5)), or by the depth that the contract declares, where that is less. Where
// the sum is scaled afterwards, as alpha (A x) is, give one term more.
gemm::Rule rule_of(DType dtype, const Contract& contract, int64_t terms);

// What all of them answer alike.
class BlasOp : public Op {
 public:
  int oracle_version() const override { return 1; }
  Bounds bounds(const Case& c, const Contract& contract, const Reference& reference) const override;
  std::string cap_violation(const Contract& contract) const override;

 protected:
  // The most products that an output element is the sum of.
  virtual int64_t terms(const Case& c) const = 0;
};

// What ops answer alike whose results are among their inputs, or tell which: no arithmetic, no bound.
class MovingOp : public Op {
 public:
  int oracle_version() const override { return 1; }
  Bounds bounds(const Case& c, const Contract& contract, const Reference& reference) const override;
  std::string cap_violation(const Contract& contract) const override;
};
Reference moved_reference(const TensorSpec& tensor);  // bitwise, without conditions

// What functions of one vector with one result have alike (asum, nrm2, iamax): fields n, batch, incx; x of `batch`
// vectors and a real r of each.
std::vector<FieldSpec> norm_fields();
std::vector<TensorSpec> norm_tensors(const Case& c, FillSpec fill);
std::vector<Sensitivity> norm_sensitivities(const Case& c);
std::vector<RowIndependence> norm_row_independence(const Case& c, const char* result = "r");
std::optional<Case> first_of_batch(const Case& c);
// The vectors of a batch, each a row: along the first axis of the inputs and of the result.
std::vector<TensorAxis> order_of_batch(const Case& c, const std::vector<const char*>& tensors);
void add_norm_cases(CaseList& list);

// Whether elements drawn again, enough of them, change an output for certain.
bool is_drawn(const Case& c);
inline constexpr int64_t kEnough = 16;
Sensitivity halved(const Case& c, const char* scalar);

// ---- cases ----

// Endings that take turns: increments, and what else is tried of real and of complex vectors ("" for a plain call).
struct VectorSweep {
  std::vector<std::string> increments;
  std::vector<std::string> real, complex;
  std::vector<std::string> fills;
  std::string fill_shape = "n=67";
};
// Lengths around every vector register and unrolled loop, and those from which OpenBLAS takes a second thread (10001),
// in both dtypes and domains; every fill. ci: about half of it and every ending; nightly: all, and random draws.
void add_vector_sweep(CaseList& list, const VectorSweep& sweep);

// ",dtype=f32", ",domain=complex,dtype=f64" and so on: all four.
const std::vector<std::string>& kinds();

}  // namespace assay::blas
