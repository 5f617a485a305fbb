// One job of a plan: one tile of y, over the whole of k, on one thread.
#if defined(ASSAY_KERNELS_GEMM_INT8_JOB_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_GEMM_INT8_JOB_INL_H
#undef ASSAY_KERNELS_GEMM_INT8_JOB_INL_H
#else
#define ASSAY_KERNELS_GEMM_INT8_JOB_INL_H
#endif

#include <algorithm>

#include "common/half-inl.h"
#include "gemm_int8/pairs-inl.h"
#include "gemm_int8/quantized.h"

HWY_BEFORE_NAMESPACE();
namespace assay::gemm_int8::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <bool kVnni>
class Job {
 public:
  Job(const QuantizedPlan& plan, const QuantizedOperands& operands, int64_t job, std::byte* scratch)
      : plan_(plan), operands_(operands) {
    row_ = job / plan.grid_columns * plan.tile_rows;
    column_ = job % plan.grid_columns * plan.tile_columns;
    rows_ = std::min(plan.tile_rows, plan.m - row_);
    columns_ = std::min(plan.tile_columns, plan.n - column_);
    y_ = static_cast<int8_t*>(operands.c) + row_ * plan.c.row_stride + column_;
    packed_a_ = reinterpret_cast<int16_t*>(scratch);
    packed_b_ = reinterpret_cast<int32_t*>(scratch + plan.a_bytes);
    partial_ = reinterpret_cast<int32_t*>(scratch + plan.a_bytes + plan.b_bytes);
  }

  void run() const {
    int64_t k = 0;
    do {
      const int64_t depth = std::min(kDepth, plan_.k - k);
      multiply(k, depth);
      k += depth;
    } while (k < plan_.k);
  }

 private:
  void multiply(int64_t k, int64_t depth) const {
    HWY_ALIGN int32_t registers[gemm::HWY_NAMESPACE::kRegisters * hn::MaxLanes(Tag())] = {};
    const int64_t width = plan_.micro.columns, height = plan_.micro.rows;
    if (depth > 0) pack_a(k, depth);
    const int64_t group = plan_.panels * width;
    for (int64_t j = 0; j < columns_; j += width) {
      if (depth > 0 && j % group == 0) pack_b(k, depth, j, std::min(group, columns_ - j));
      const int32_t* panel = packed_b_ + j % group * ((depth + 1) / 2);
      const int64_t count = std::min(width, columns_ - j);
      for (int64_t i = 0; i < rows_; i += height) {
        int32_t* tile = plan_.partial_bytes == 0 ? registers : partial_ + i * plan_.tile_columns + j * height;
        const int64_t rows = std::min(height, rows_ - i);
        if (depth > 0) strip_for<kVnni>(rows).run(packed_a_ + i * kDepth, panel, (depth + 1) / 2, k > 0, tile);
        if (k + depth == plan_.k) requantize(tile, i, j, rows, count);
      }
    }
  }

  void pack_a(int64_t k, int64_t depth) const {
    const auto* a = static_cast<const int8_t*>(operands_.a) + row_ * plan_.a.row_stride + k;
    pack_rows(a, plan_.a.row_stride, rows_, depth, plan_.zero_a, packed_a_);
    const int64_t last = rows_ - rows_ % plan_.micro.rows;
    const int64_t end = last == rows_ ? rows_ : last + strip_for<kVnni>(rows_ - last).rows;
    for (int64_t r = rows_; r < end; ++r) std::fill_n(packed_a_ + r * kDepth, depth + depth % 2, int16_t{0});
  }

  void pack_b(int64_t k, int64_t depth, int64_t j, int64_t count) const {
    const auto* b = static_cast<const int8_t*>(operands_.b);
    const int64_t stride = plan_.b.row_stride, width = plan_.micro.columns;
    if (plan_.b.transposed) {
      pack_pairs_transposed(b + (column_ + j) * stride + k, stride, depth, count, plan_.zero_b, packed_b_, width);
    } else {
      pack_pairs(b + k * stride + column_ + j, stride, depth, count, plan_.zero_b, packed_b_, width);
    }
  }

  // y = saturate(round(sum scale + zero point)), half to even; in double, where sums and their scaling by powers of two
  // are exact.
  void requantize(const int32_t* tile, int64_t i, int64_t j, int64_t rows, int64_t count) const {
    const hn::ScalableTag<double> d;
    const hn::Rebind<int32_t, decltype(d)> d32;
    const hn::Rebind<int8_t, decltype(d)> d8;
    const int64_t lanes = hn::Lanes(d), width = plan_.micro.columns;
    HWY_ALIGN double scales[2 * hn::MaxLanes(Tag())] = {};
    for (int64_t c = 0; c < count; ++c) scales[c] = operands_.scale(column_ + j + c);
    for (int64_t r = 0; r < rows; ++r) {
      int8_t* y = y_ + (i + r) * plan_.c.row_stride + j;
      for (int64_t c = 0; c < count; c += lanes) {
        const auto sum = hn::PromoteTo(d, hn::Load(d32, tile + r * width + c));
        const auto scaled = hn::Add(hn::Mul(sum, hn::Load(d, scales + c)), hn::Set(d, double(plan_.zero_y)));
        const auto clamped = hn::Min(hn::Max(hn::Round(scaled), hn::Set(d, -128.0)), hn::Set(d, 127.0));
        const auto bytes = hn::DemoteTo(d8, hn::DemoteTo(d32, clamped));
        if (count - c >= lanes) {
          hn::StoreU(bytes, d8, y + c);
        } else {
          simd::HWY_NAMESPACE::store_lanes(d8, bytes, y + c, count - c);
        }
      }
    }
  }

  const QuantizedPlan& plan_;
  const QuantizedOperands& operands_;
  int8_t* y_;
  int16_t* packed_a_;
  int32_t *packed_b_, *partial_;
  int64_t row_, column_, rows_, columns_;
};

template <bool kVnni>
void run_job(const gemm::Plan& plan, const gemm::Operands& operands, int64_t job, std::byte* scratch) {
  const auto& quantized = static_cast<const QuantizedOperands&>(operands);
  Job<kVnni>(static_cast<const QuantizedPlan&>(plan), quantized, job, scratch).run();
}

}  // namespace assay::gemm_int8::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
