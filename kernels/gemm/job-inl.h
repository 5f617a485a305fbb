// One job of a plan: one tile of C, over the whole of K, on one thread.
#if defined(ASSAY_KERNELS_GEMM_JOB_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_GEMM_JOB_INL_H
#undef ASSAY_KERNELS_GEMM_JOB_INL_H
#else
#define ASSAY_KERNELS_GEMM_JOB_INL_H
#endif

#include <algorithm>

#include "common/half-inl.h"
#include "gemm/micro-inl.h"
#include "gemm/pack-inl.h"
#include "gemm/plan.h"

HWY_BEFORE_NAMESPACE();
namespace assay::gemm::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace assay::simd::HWY_NAMESPACE;

template <class T>
class Job {
  using Sum = ComputeOf<T>;

 public:
  Job(const Plan& plan, const Operands& operands, int64_t job, std::byte* scratch) : plan_(plan) {
    const int64_t entry = job / (plan.grid_rows * plan.grid_columns);
    const int64_t tile = job % (plan.grid_rows * plan.grid_columns);
    row_ = tile / plan.grid_columns * plan.tile_rows;
    column_ = tile % plan.grid_columns * plan.tile_columns;
    rows_ = std::min(plan.tile_rows, plan.m - row_);
    columns_ = std::min(plan.tile_columns, plan.n - column_);
    a_ = static_cast<const T*>(operands.a) + entry * plan.a.batch_stride;
    b_ = static_cast<const T*>(operands.b) + entry * plan.b.batch_stride;
    c_ = static_cast<T*>(operands.c) + entry * plan.c.batch_stride + row_ * plan.c.row_stride + column_;
    packed_a_ = reinterpret_cast<Sum*>(scratch);
    packed_b_ = reinterpret_cast<Sum*>(scratch + plan.a_bytes);
    partial_ = reinterpret_cast<Sum*>(scratch + plan.a_bytes + plan.b_bytes);
  }

  void run() {
    if (!plan_.has_product()) return scale();
    for (int64_t k = 0; k < plan_.k; k += kDepth) {
      const int64_t depth = std::min(kDepth, plan_.k - k);
      pack_a(k, depth);
      if (plan_.reads_b_in_place) {
        multiply_in_place(k, depth);
      } else {
        multiply_packed(k, depth);
      }
    }
  }

 private:
  static constexpr hn::ScalableTag<Sum> d_{};

  // C = beta C, which must read neither A nor B, nor C when beta is 0.
  void scale() const {
    const int64_t lanes = hn::Lanes(d_);
    const auto beta = hn::Set(d_, Sum(plan_.beta));
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t j = 0; j < columns_; j += lanes) {
        T* c = c_ + r * plan_.c.row_stride + j;
        const size_t count = std::min(lanes, columns_ - j);
        store_n(d_, plan_.beta == 0 ? hn::Zero(d_) : hn::Mul(beta, load_n(d_, c, count)), c, count);
      }
    }
  }

  // Rows kDepth apart; rows that only fill the last strip are zero.
  void pack_a(int64_t k, int64_t depth) const {
    const int64_t last = rows_ - rows_ % plan_.micro.rows;
    const int64_t height = last == rows_ ? rows_ : last + packed_strip<Sum>(rows_ - last).rows;
    if (plan_.a.transposed) {
      transpose_block(a_ + k * plan_.a.row_stride + row_, plan_.a.row_stride, depth, rows_, packed_a_, kDepth, depth);
    } else {
      copy_panels(a_ + row_ * plan_.a.row_stride + k, plan_.a.row_stride, rows_, depth, packed_a_, kDepth, depth, 0);
    }
    for (int64_t r = rows_; r < height; ++r) std::fill_n(packed_a_ + r * kDepth, depth, Sum{0});
  }

  // Columns [j, j + count) of B, as panels of `depth` rows of `width`.
  void pack_b(int64_t k, int64_t depth, int64_t j, int64_t count, int64_t width) const {
    const int64_t stride = plan_.b.row_stride;
    if (plan_.b.transposed) {
      transpose_block(b_ + (column_ + j) * stride + k, stride, count, depth, packed_b_, width, width);
    } else {
      copy_panels(b_ + k * stride + column_ + j, stride, depth, count, packed_b_, width, width, depth * width);
    }
  }

  void multiply_packed(int64_t k, int64_t depth) const {
    const int64_t width = plan_.micro.columns;
    const int64_t group = plan_.panels * width;
    for (int64_t j = 0; j < columns_; j += width) {
      if (j % group == 0) pack_b(k, depth, j, std::min(group, columns_ - j), width);
      const Sum* panel = packed_b_ + j % group * depth;
      const int64_t count = std::min(width, columns_ - j);
      for (int64_t i = 0; i < rows_; i += plan_.micro.rows) {
        multiply_strip(packed_strip<Sum>(rows_ - i), panel, width, k, depth, i, j, count);
      }
    }
  }

  void multiply_in_place(int64_t k, int64_t depth) const {
    const auto strip = wide_strip<Sum, T>(rows_);
    for (int64_t j = 0; j < columns_; j += strip.columns) {
      const int64_t count = std::min(strip.columns, columns_ - j);
      if (count == strip.columns) {
        multiply_strip(strip, b_ + k * plan_.b.row_stride + column_ + j, plan_.b.row_stride, k, depth, 0, j, count);
      } else {
        pack_b(k, depth, j, count, strip.columns);
        multiply_strip(wide_strip<Sum, Sum>(rows_), packed_b_, strip.columns, k, depth, 0, j, count);
      }
    }
  }

  template <class TB>
  HWY_INLINE void multiply_strip(const Strip<Sum, TB>& strip, const TB* b, int64_t b_stride, int64_t k, int64_t depth,
                                 int64_t i, int64_t j, int64_t count) const {
    HWY_ALIGN Sum registers[kMaxTile];
    // Strips follow each other in `partial_`; each has the room of the widest, padding included.
    Sum* tile = plan_.partial_bytes == 0 ? registers : partial_ + i * plan_.tile_columns + j * plan_.micro.rows;
    strip.run(packed_a_ + i * kDepth, b, b_stride, depth, k > 0, tile);
    if (k + depth == plan_.k) finish_strip(tile, strip.columns, i, j, std::min(strip.rows, rows_ - i), count);
  }

  // C = alpha sum + beta C, rounded once.
  void finish_strip(const Sum* tile, int64_t width, int64_t i, int64_t j, int64_t rows, int64_t count) const {
    const int64_t lanes = hn::Lanes(d_);
    const auto alpha = hn::Set(d_, Sum(plan_.alpha));
    const auto beta = hn::Set(d_, Sum(plan_.beta));
    const bool reads_c = plan_.beta != 0;
    for (int64_t r = 0; r < rows; ++r) {
      T* c = c_ + (i + r) * plan_.c.row_stride + j;
      int64_t v = 0;
      for (; v + lanes <= count; v += lanes) {
        const auto product = hn::Load(d_, tile + r * width + v);
        const auto old = reads_c ? hn::Mul(beta, load(d_, c + v)) : hn::Zero(d_);
        store(d_, reads_c ? hn::MulAdd(alpha, product, old) : hn::Mul(alpha, product), c + v);
      }
      if (v == count) continue;
      const auto product = hn::Load(d_, tile + r * width + v);
      const auto old = reads_c ? hn::Mul(beta, load_n(d_, c + v, count - v)) : hn::Zero(d_);
      store_n(d_, reads_c ? hn::MulAdd(alpha, product, old) : hn::Mul(alpha, product), c + v, count - v);
    }
  }

  static constexpr int64_t kMaxTile = int64_t(kRegisters) * hn::MaxLanes(hn::ScalableTag<Sum>());

  const Plan& plan_;
  const T* a_;
  const T* b_;
  T* c_;
  Sum *packed_a_, *packed_b_, *partial_;
  int64_t row_, column_, rows_, columns_;
};

template <class T>
void run_job(const Plan& plan, const Operands& operands, int64_t job, std::byte* scratch) {
  Job<T>(plan, operands, job, scratch).run();
}

template <class T>
Micro micro_for() {
  const int64_t lanes = hn::Lanes(hn::ScalableTag<ComputeOf<T>>());
  constexpr int64_t kBytes = sizeof(ComputeOf<T>);
  return {.isa = hwy::TargetName(HWY_TARGET),
          .rows = kMaxRows,
          .columns = kVectors * lanes,
          .wide_columns = kWideVectors * lanes,
          .packed = kBytes,
          .sum = kBytes,
          .run = &run_job<T>};
}

}  // namespace assay::gemm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
