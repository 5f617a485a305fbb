// The gemm oracle over whole matrices on the host: columns of op(B) in panels, every element summed in the order of k,
// so that neither threads nor the instruction set can change a bit.
#include "core/clones.h"
#include "reference/gemm/gemm.h"
#include "reference/gemm/oracle.h"

namespace assay::gemm {
namespace {

constexpr int64_t kPanel = 64;                       // columns: the running sums of a row stay in the first cache
constexpr int64_t kWorthThreads = int64_t{1} << 18;  // products; a parallel region costs tens of microseconds

// Four steps of k at a time, one after the other: fewer loads and stores of the running sums.
ASSAY_CLONES void add_row(const double* __restrict a, int64_t k, const double* __restrict b, double* __restrict sum,
                          double* __restrict magnitude) {
  int64_t p = 0;
  for (; p + 4 <= k; p += 4, b += 4 * kPanel) {
    for (int64_t j = 0; j < kPanel; ++j) {
      double s = sum[j], m = magnitude[j];
      add_product(a[p], b[j], s, m);
      add_product(a[p + 1], b[j + kPanel], s, m);
      add_product(a[p + 2], b[j + 2 * kPanel], s, m);
      add_product(a[p + 3], b[j + 3 * kPanel], s, m);
      sum[j] = s;
      magnitude[j] = m;
    }
  }
  for (; p < k; ++p, b += kPanel) {
    for (int64_t j = 0; j < kPanel; ++j) add_product(a[p], b[j], sum[j], magnitude[j]);
  }
}

ASSAY_CLONES void add_row_exactly(const double* __restrict a, int64_t k, const double* __restrict b,
                                  double* __restrict high, double* __restrict low, double* __restrict magnitude) {
  for (int64_t p = 0; p < k; ++p, b += kPanel) {
    for (int64_t j = 0; j < kPanel; ++j) add_product_exactly(a[p], b[j], high[j], low[j], magnitude[j]);
  }
}

// One matrix of a batch, whichever way it is stored: element (i, j) of op(X).
struct Matrix {
  const TensorView* view;
  int64_t first;  // offset of element (0, 0)
  int64_t row_stride, col_stride;

  double at(int64_t i, int64_t j) const {
    return load(view->spec->dtype, view->data, first + i * row_stride + j * col_stride);
  }
};

Matrix matrix_of(const TensorView& view, int64_t entry, bool transposed) {
  const std::vector<int64_t>& s = view.spec->strides;
  return {&view, entry * s[0], transposed ? s[2] : s[1], transposed ? s[1] : s[2]};
}

struct Panel {
  std::vector<double> b;  // [k][kPanel], zero beyond the last column
  Line columns[kPanel];
};

void pack(const Matrix& b, int64_t k, int64_t first, int64_t width, Panel& panel) {
  panel.b.assign(static_cast<size_t>(k * kPanel), 0.0);
  for (Line& column : panel.columns) column = Line{};
  for (int64_t p = 0; p < k; ++p) {
    for (int64_t j = 0; j < width; ++j) {
      const double x = b.at(p, first + j);
      panel.b[static_cast<size_t>(p * kPanel + j)] = x;
      panel.columns[j].add(x, p);
    }
  }
}

void store(Reference& reference, size_t at, const Element& e) {
  reference.hi[at] = e.hi;
  reference.lo[at] = e.lo;
  reference.e_ref[at] = e.e_ref;
  for (size_t i = 0; i < kConditions; ++i) reference.conditions[i][at] = e.condition[i];
}

}  // namespace

Reference evaluate(const Case& c, std::span<const TensorView> tensors, int threads) {
  const int64_t batch = c.integer("batch"), m = c.integer("m"), n = c.integer("n"), k = c.integer("k");
  const DType dtype = tensors[kC].spec->dtype;
  const Scalars scalars{.alpha = c.real("alpha"), .beta = c.real("beta"), .k = k, .dot2 = dtype == DType::f64};
  const auto elements = static_cast<size_t>(batch * m * n);
  Reference reference{.tensor = "c", .dtype = dtype};
  for (auto* part : {&reference.hi, &reference.lo, &reference.e_ref}) part->resize(elements);
  reference.conditions.assign(kConditions, std::vector<double>(elements));
  const int64_t columns = std::min(n, kPanel);  // of a panel, which a region is about
  const bool parallel = threads > 1 && m * columns * std::max<int64_t>(k, 16) > kWorthThreads;
  const int64_t depth = scalars.reads_products() ? k : 0;

  std::vector<double> a(static_cast<size_t>(m * depth));
  std::vector<Line> rows(static_cast<size_t>(m));
  Panel panel;
  for (int64_t entry = 0; entry < batch; ++entry) {
    const Matrix ma = matrix_of(tensors[kA], entry, c.word("ta") == "t");
    const Matrix mb = matrix_of(tensors[kB], entry, c.word("tb") == "t");
    const Matrix mc = matrix_of(tensors[kC], entry, false);
#pragma omp parallel for num_threads(threads) if (parallel)
    for (int64_t i = 0; i < m; ++i) {
      rows[static_cast<size_t>(i)] = Line{};
      for (int64_t p = 0; p < depth; ++p) {
        const double x = ma.at(i, p);
        a[static_cast<size_t>(i * depth + p)] = x;
        rows[static_cast<size_t>(i)].add(x, p);
      }
    }
    for (int64_t first = 0; first < n; first += kPanel) {
      const int64_t width = std::min(kPanel, n - first);
      pack(mb, depth, first, width, panel);
#pragma omp parallel for num_threads(threads) if (parallel)
      for (int64_t i = 0; i < m; ++i) {
        double high[kPanel] = {}, low[kPanel] = {}, magnitude[kPanel] = {};
        const double* row = a.data() + i * depth;
        if (scalars.dot2) {
          add_row_exactly(row, depth, panel.b.data(), high, low, magnitude);
        } else {
          add_row(row, depth, panel.b.data(), high, magnitude);
        }
        const Line& line = rows[static_cast<size_t>(i)];
        for (int64_t j = 0; j < width; ++j) {
          const int quantum = quantum_of_products(
              line, panel.columns[j], [&](int64_t p) { return row[p]; },
              [&](int64_t p) { return panel.b[static_cast<size_t>(p * kPanel + j)]; });
          const double old = scalars.reads_c() ? mc.at(i, first + j) : 0;
          const auto at = static_cast<size_t>((entry * m + i) * n + first + j);
          store(reference, at, finish(scalars, {high[j], low[j], magnitude[j]}, line, panel.columns[j], quantum, old));
        }
      }
    }
  }
  return reference;
}

}  // namespace assay::gemm
