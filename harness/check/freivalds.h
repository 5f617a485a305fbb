// Verifies a product of integer matrices without computing it (R. Freivalds, "Fast probabilistic algorithms", MFCS
// 1979, LNCS 74, 57-69): for a random vector r, C r must be alpha A (B r) + beta C0 r. That is O(n^2) where the product
// is O(n^3), and exact, since it is done modulo p = 2^61 - 1 (check/residue.h): a row of C with a wrong element passes
// with probability about 2^-61 whatever is wrong with it, and a right one always does.
//
// It stands for the oracle where T0 holds for the whole product: inputs and scalars are integers, no partial sum of any
// order leaves what the contract's arithmetic holds exactly, and neither does any result what the output's type does
// (core/matrix_product.h). Elsewhere it has nothing to say, which is said with a reason. First every element of C must
// be finite, an integer and within the bound of the sums: less than p apart, two such numbers are equal if their
// residues are.
//
// A failure is located: rows from the residual, the columns of the first of them by the left vector that picks it, and
// of the first wrong element the true value is computed in 128-bit integers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/hd.h"
#include "core/matrix_product.h"
#include "record/record.h"

namespace assay {

// The elements of op(X), for all entries of a batch: element (i, j) of entry e lies e * entry_stride + i * row_stride +
// j * col_stride elements from `data`.
struct MatrixView {
  const void* data = nullptr;
  DType dtype = DType::f32;
  int64_t entries = 0, rows = 0, cols = 0;
  int64_t entry_stride = 0, row_stride = 0, col_stride = 0;

  ASSAY_HD int64_t offset(int64_t entry, int64_t i, int64_t j) const {
    return entry * entry_stride + i * row_stride + j * col_stride;
  }
};

// What a pass over a matrix says of its elements, counted row by row through all entries.
struct IntegersFound {
  uint64_t largest = 0;  // magnitude of those that are integers within the limit
  int64_t others = 0;    // those that are none
  int64_t first_other = -1;

  bool operator==(const IntegersFound&) const = default;
};

// Passes over matrices where they lie: on the host, or on a device (device_freivalds.h), with the same answers.
class MatrixPasses {
 public:
  virtual ~MatrixPasses() = default;

  // products[e rows + i] = sum_j X[e][i][j] x[e][j] modulo p, over the elements that are integers of magnitude `limit`
  // (at most 2^60) or less. `x` holds residues: cols for each entry, or cols for all of them. With `sums`, also
  // sum_j |X[e][i][j]|, rounded up. Fewer than 2^32 rows and columns.
  virtual IntegersFound multiply(const MatrixView& matrix, std::span<const uint64_t> x, double limit,
                                 std::vector<uint64_t>& products, std::vector<double>* sums) = 0;

  // `count` elements, `stride` elements apart from `first` on, as doubles.
  virtual std::vector<double> elements(const MatrixView& matrix, int64_t first, int64_t stride, int64_t count) = 0;
};
std::unique_ptr<MatrixPasses> make_host_passes(int threads);

class Freivalds {
 public:
  // Of `c`, whose tensors are `specs` with their elements (0,...,0) at `data` where `passes` looks, inputs as filled,
  // `out` as before the launch; they stay as they are while this is used. `seed` of the random vector.
  Freivalds(const MatrixProductOp& op, const Case& c, const std::vector<TensorSpec>& specs,
            std::span<const void* const> data, uint64_t seed, std::unique_ptr<MatrixPasses> passes);

  // Why it cannot stand for the oracle under this contract, or empty.
  std::string refusal(const Contract& contract) const;

  // No partial sum of any order is larger. Of meaning where nothing but the contract is left to refuse.
  double bound() const { return reach_.sums; }

  // As judge_accuracy() (check/accuracy.h) with every element exact: the same summary where all are right. Where not,
  // the first wrong element, and at least `failures` wrong ones: those of its row and one for each further row that
  // holds any. `got` is element (0,...,0) of the output. Throws Error after a refusal.
  ErrorSummary judge(const void* got, const Contract& contract);

  // Rows with a wrong element that the last judge() found.
  int64_t wrong_rows() const { return wrong_rows_; }

 private:
  struct Wrong {
    int64_t index = 0;  // logical
    double got = 0, want = 0;
    int64_t in_row = 0;  // wrong elements of its row
  };
  void look_at_inputs(const std::vector<TensorSpec>& specs);
  bool are_integers(const IntegersFound& found, const TensorSpec& spec);
  Wrong locate(const MatrixView& got, int64_t row) const;
  double exactly(int64_t entry, int64_t i, int64_t j) const;

  const MatrixProductOp& op_;
  Case case_;
  MatrixProduct product_;
  TensorSpec out_;
  std::unique_ptr<MatrixPasses> passes_;
  uint64_t seed_;
  MatrixView left_, right_, old_;
  bool reads_products_ = false, reads_old_ = false;
  std::string refusal_;
  std::vector<uint64_t> random_, expected_;  // r; the residues of C r, row by row
  ProductReach reach_;
  int64_t wrong_rows_ = 0;
};

}  // namespace assay
