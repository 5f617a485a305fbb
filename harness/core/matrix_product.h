// What an op says of itself whose only output is a product of matrices: enough to verify a product of integers without
// computing it (check/freivalds.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/op.h"

namespace assay {

// out = alpha op(left) op(right) + beta old for each entry of a batch, `old` being what `out` held before. As in BLAS,
// left and right are not read when alpha is 0, nor is old when beta is 0. Tensors by their index in Op::tensors(c),
// each of shape [batch, rows, columns] as stored.
struct MatrixProduct {
  size_t left = 0, right = 0, out = 0;
  bool left_transposed = false;   // stored [batch, k, m] in place of [batch, m, k]
  bool right_transposed = false;  // stored [batch, n, k] in place of [batch, k, n]
  double alpha = 1, beta = 0;
};

// How large the parts of a product of integers may be.
struct ProductReach {
  double sums = 0;     // at least every sum_k |a b| and every |alpha| sum_k |a b| + |beta old|
  double operand = 1;  // at least every |a| and |b|, and 1
};

class MatrixProductOp {
 public:
  virtual ~MatrixProductOp() = default;

  virtual MatrixProduct matrix_product(const Case& c) const = 0;

  // Whether, for integers no larger than that and integer scalars, every order of summation that the contract's
  // arithmetic leaves open gives the product exactly, and the output's type holds it: T0 with nothing left to round.
  virtual bool is_exact(const Case& c, const Contract& contract, const ProductReach& reach) const = 0;

  // A sequence of small cases without end, a pure function of seed and index (from 0): independent sizes, none rounded,
  // outputs of at most 2^16 elements, every layout, type and kind of scalar; of integers whose sums are exact in the
  // usual arithmetic. Some come more than once.
  virtual Case drawn(uint64_t seed, int64_t index) const = 0;
};

}  // namespace assay
