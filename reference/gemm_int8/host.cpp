// The gemm_int8 oracle over whole matrices on the host. Sums are integers: no order can change them.
#include <algorithm>

#include "core/clones.h"
#include "reference/gemm_int8/gemm_int8.h"
#include "reference/gemm_int8/oracle.h"

namespace assay::gemm_int8 {
namespace {

constexpr int64_t kPanel = 64;                       // columns: their running sums stay in registers
constexpr int64_t kWorthThreads = int64_t{1} << 18;  // products; a parallel region costs tens of microseconds

ASSAY_CLONES void add_row(const int32_t* __restrict a, int64_t k, const int32_t* __restrict b,
                          int32_t* __restrict sum) {
  for (int64_t p = 0; p < k; ++p, b += kPanel) {
    for (int64_t j = 0; j < kPanel; ++j) sum[j] += a[p] * b[j];
  }
}

// An element of a matrix, less its zero point.
int32_t centred(const TensorView& view, int64_t offset, int64_t zero) {
  return static_cast<int32_t>(load(view.spec->dtype, view.data, offset)) - static_cast<int32_t>(zero);
}

}  // namespace

Reference evaluate(const Case& c, std::span<const TensorView> tensors, int threads) {
  const int64_t m = c.integer("m"), n = c.integer("n"), k = c.integer("k");
  const int64_t za = c.integer("za"), zb = c.integer("zb"), zy = c.integer("zy");
  const bool per_channel = c.word("scales") == "channel";
  const std::vector<int64_t>& a_strides = tensors[kA].spec->strides;
  const std::vector<int64_t>& b_strides = tensors[kB].spec->strides;
  const int64_t b_step_k = c.word("tb") == "t" ? b_strides[1] : b_strides[0];
  const int64_t b_step_n = c.word("tb") == "t" ? b_strides[0] : b_strides[1];
  const auto elements = static_cast<size_t>(m * n);
  Reference reference{.tensor = "y", .dtype = DType::i8};
  for (auto* part : {&reference.hi, &reference.lo, &reference.e_ref}) part->resize(elements);
  reference.conditions.assign(kConditions, std::vector<double>(elements));
  if (elements == 0) return reference;
  const int64_t columns = std::min(n, kPanel);  // of a panel, which a region is about
  const bool parallel = threads > 1 && m * columns * std::max<int64_t>(k, 16) > kWorthThreads;

  std::vector<int32_t> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(kPanel * k));
  for (int64_t i = 0; i < m * k; ++i) {
    a[static_cast<size_t>(i)] = centred(tensors[kA], i / k * a_strides[0] + i % k * a_strides[1], za);
  }
  const double scale_a = tensors[kScaleA].at(0), scale_y = tensors[kScaleY].at(0);
  for (int64_t first = 0; first < n; first += kPanel) {
    const int64_t width = std::min(kPanel, n - first);
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t j = 0; j < width; ++j) {
        b[static_cast<size_t>(p * kPanel + j)] = centred(tensors[kB], p * b_step_k + (first + j) * b_step_n, zb);
      }
    }
#pragma omp parallel for num_threads(threads) if (parallel)
    for (int64_t i = 0; i < m; ++i) {
      int32_t sum[kPanel] = {};
      add_row(a.data() + i * k, k, b.data(), sum);
      for (int64_t j = 0; j < width; ++j) {
        const double scale_b = tensors[kScaleB].at(per_channel ? first + j : 0);
        const Element e = requantize(sum[j], scale_a, scale_b, scale_y, zy);
        const auto at = static_cast<size_t>(i * n + first + j);
        reference.hi[at] = e.r;
        reference.e_ref[at] = e.e_ref;
        for (size_t condition = 0; condition < kConditions; ++condition) {
          reference.conditions[condition][at] = e.condition[condition];
        }
      }
    }
  }
  return reference;
}

}  // namespace assay::gemm_int8
