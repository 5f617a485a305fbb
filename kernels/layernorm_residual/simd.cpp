// layernorm_residual, simd: s = x + residual, y = (s - mean) rstd gamma + beta along each row, with the row's mean and
// rstd = 1 / sqrt(variance + eps). Highway SIMD, rows shared out among threads.
//
// Two passes for the statistics (mean, then squared deviations from it) and one for the result. Only the first reads
// memory; s is added up again in the others, which costs less than keeping it.
#include "common/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "layernorm_residual/simd.cpp"
#include "hwy/foreach_target.h"
//
#include <assay/kernel.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "common/half-inl.h"
#include "common/reduce_row-inl.h"
#include "common/rows.h"
#include "common/stream-inl.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

#ifndef ASSAY_KERNELS_LAYERNORM_RESIDUAL_SIMD  // once, not once a target
#define ASSAY_KERNELS_LAYERNORM_RESIDUAL_SIMD
namespace assay::simd {

struct LayernormRows {
  Element element;
  bool biased;
  Rows<const void*> x, residual, gamma, beta;
  Rows<void*> y;
  void *mean, *rstd;                 // f32, or f64 where the element is
  int64_t mean_stride, rstd_stride;  // elements
  int64_t cols;
  double eps;
  bool stream;
};

}  // namespace assay::simd
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {

const char* layernorm_isa() { return hwy::TargetName(HWY_TARGET); }

template <class T>
struct Summed {
  using C = ComputeOf<T>;
  using D = hn::ScalableTag<C>;
  using V = hn::Vec<D>;
  const T* x;
  const T* residual;

  HWY_INLINE V whole(int64_t i) const { return hn::Add(load(D(), x + i), load(D(), residual + i)); }
  HWY_INLINE V part(int64_t i, size_t count) const {
    return hn::Add(load_n(D(), x + i, count), load_n(D(), residual + i, count));
  }
};

template <class T>
struct SquaredDeviations {
  using C = ComputeOf<T>;
  using D = hn::ScalableTag<C>;
  using V = hn::Vec<D>;
  const Summed<T>& summed;
  C mean;

  HWY_INLINE V whole(int64_t i) const {
    const V deviation = hn::Sub(summed.whole(i), hn::Set(D(), mean));
    return hn::Mul(deviation, deviation);
  }
  HWY_INLINE V part(int64_t i, size_t count) const {
    const V deviation = hn::Sub(summed.part(i, count), hn::Set(D(), mean));
    return hn::IfThenElseZero(hn::FirstN(D(), count), hn::Mul(deviation, deviation));
  }
};

// The results. The next row is fetched meanwhile, as reading and writing at once keep memory busiest.
template <class T, bool kBiased>
struct Normalized {
  using C = ComputeOf<T>;
  using D = hn::ScalableTag<C>;
  using V = hn::Vec<D>;
  const Summed<T>&summed, &next;
  const T *gamma, *beta;
  C mean, rstd;

  HWY_INLINE V whole(int64_t i) const {
    hwy::Prefetch(next.x + i);
    hwy::Prefetch(next.residual + i);
    const V scaled = hn::Mul(standard(summed.whole(i)), load(D(), gamma + i));
    if constexpr (kBiased) return hn::Add(scaled, load(D(), beta + i));
    return scaled;
  }
  HWY_INLINE V first(int64_t i, size_t count) const {
    const V scaled = hn::Mul(standard(summed.part(i, count)), load_n(D(), gamma + i, count));
    if constexpr (kBiased) return hn::Add(scaled, load_n(D(), beta + i, count));
    return scaled;
  }
  HWY_INLINE V standard(V s) const { return hn::Mul(hn::Sub(s, hn::Set(D(), mean)), hn::Set(D(), rstd)); }
};

template <class T, bool kBiased>
void layernorm_row(const LayernormRows& p, int64_t row, int64_t next_row) {
  using C = ComputeOf<T>;
  const hn::ScalableTag<C> d;
  const auto summed_of = [&p](int64_t r) HWY_ATTR {
    return Summed<T>{static_cast<const T*>(p.x.data) + r * p.x.stride,
                     static_cast<const T*>(p.residual.data) + r * p.residual.stride};
  };
  const Summed<T> summed = summed_of(row), next = summed_of(next_row);
  const C n = static_cast<C>(p.cols);
  const C mean = reduce_row(d, p.cols, Add(), summed) / n;
  const C variance = reduce_row(d, p.cols, Add(), SquaredDeviations<T>{summed, mean}) / n;
  const C rstd = C(1) / std::sqrt(variance + static_cast<C>(p.eps));
  static_cast<C*>(p.mean)[row * p.mean_stride] = mean;
  static_cast<C*>(p.rstd)[row * p.rstd_stride] = rstd;
  const auto* gamma = static_cast<const T*>(p.gamma.data);
  const auto* beta = static_cast<const T*>(p.beta.data);
  write_row(d, Normalized<T, kBiased>{summed, next, gamma, beta, mean, rstd},
            static_cast<T*>(p.y.data) + row * p.y.stride, p.cols, p.stream);
}

template <class T>
void layernorm_of(const LayernormRows& p, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const int64_t next_row = row + 1 < end ? row + 1 : row;
    p.biased ? layernorm_row<T, true>(p, row, next_row) : layernorm_row<T, false>(p, row, next_row);
  }
  if (p.stream) hwy::FlushStream();
}

void layernorm_rows(const LayernormRows& p, int64_t begin, int64_t end) {
  switch (p.element) {
    case Element::f64:
      return layernorm_of<double>(p, begin, end);
    case Element::f32:
      return layernorm_of<float>(p, begin, end);
    case Element::f16:
      return layernorm_of<f16>(p, begin, end);
    case Element::bf16:
      return layernorm_of<bf16>(p, begin, end);
  }
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::simd {
namespace {

HWY_EXPORT(layernorm_rows);
HWY_EXPORT(layernorm_isa);

struct Plan {
  LayernormRows rows;
  int64_t row_count;
  int threads;
};

Plan plan_of(const Call& c) {
  Plan plan{};
  LayernormRows& p = plan.rows;
  plan.row_count = c.axis("rows");
  p.element = element_of(c, "x");
  p.x = rows_of<const void*>(c, "x", p.element);
  p.residual = rows_of<const void*>(c, "residual", p.element);
  p.gamma = rows_of<const void*>(c, "gamma", p.element);
  p.biased = c.word("bias") == "yes";
  if (p.biased) p.beta = rows_of<const void*>(c, "beta", p.element);
  p.y = rows_of<void*>(c, "y", p.element);
  const Element statistic = p.element == Element::f64 ? Element::f64 : Element::f32;
  p.mean = rows_of<void*>(c, "mean", statistic).data;
  p.mean_stride = c.tensor("mean").dl.strides[0];
  p.rstd = rows_of<void*>(c, "rstd", statistic).data;
  p.rstd_stride = c.tensor("rstd").dl.strides[0];
  p.cols = c.axis("cols");
  p.eps = c.number("eps");
  const int64_t bytes = plan.row_count * p.cols * bytes_of(p.element);
  plan.threads = useful_threads(c.threads(), plan.row_count, 2 * bytes);
  p.stream = bytes >= kBytesWorthStreaming;
  return plan;
}

const char* refuse(const Call& c) {
  plan_of(c);
  return nullptr;
}

const char* launch(const Call& c) {
  const Plan plan = plan_of(c);
  const auto rows = &HWY_DYNAMIC_DISPATCH(layernorm_rows);
  parallel_ranges(plan.row_count, plan.threads, [&](int, int64_t begin, int64_t end) { rows(plan.rows, begin, end); });
  return nullptr;
}

void describe(const Call&, const Describe& emit) {
  emit("algorithm", "two passes for the statistics, one for the result");
  emit("isa", HWY_DYNAMIC_DISPATCH(layernorm_isa)());
  emit("reduction", "blocks of 4 x 8 vectors");
}

constexpr assay_contract contract(int32_t accumulator) {
  return {.interface_version = 1,
          .owner = kOwner,
          .domain = "dtype in f64 f32 f16 bf16",
          .promises = kRowPromises,
          .arithmetic = {.accumulator = accumulator,
                         .depth_divisor = kRowDepthDivisor,
                         .depth_constant = kRowDepthConstant,
                         .split_k = 1,
                         .partial_type = accumulator},
          .nan_policy = ASSAY_NAN_PROPAGATES};
}

const assay_contract* plan_contract(const Call& c) {
  static constexpr assay_contract kDouble = contract(ASSAY_ACC_F64);
  return element_of(c, "x") == Element::f64 ? &kDouble : nullptr;
}

ASSAY_KERNEL(layernorm_residual, simd, .target = "cpu", .refuse = refuse, .launch = launch, .describe = describe,
             .plan_contract = plan_contract, .contract = contract(ASSAY_ACC_F32))

}  // namespace
}  // namespace assay::simd
#endif
