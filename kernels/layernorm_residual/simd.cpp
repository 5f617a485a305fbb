// layernorm_residual, simd: s = x + residual, y = (s - mean) rstd gamma + beta along each row, with the row's mean and
// rstd = 1 / sqrt(variance + eps). Highway SIMD, rows shared out among threads.
//
// Two passes for the statistics (mean, then squared deviations from it) and one for the result. The last runs together
// with the first of the next row, so that memory is read and written at once. Only the first reads memory: s is kept in
// a workspace while a row of it fits a level-2 cache, and added up again where not.
#include "common/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "layernorm_residual/simd.cpp"
#include "hwy/foreach_target.h"
//
#include <assay/kernel.h>

#include <algorithm>
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
  std::byte* kept;     // null: a row's sums are not kept
  int64_t kept_bytes;  // a thread
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

  static HWY_INLINE Pair<D> sum(const Pair<D>& a, const Pair<D>& b) { return each(D(), a, b, Add()); }
  HWY_INLINE Pair<D> whole(int64_t i, Turn = Turn::only) const {
    return sum(load_pair(D(), x + i), load_pair(D(), residual + i));
  }
  HWY_INLINE Pair<D> part(int64_t i, size_t count) const {
    return sum(load_pair_n(D(), x + i, count), load_pair_n(D(), residual + i, count));
  }
  HWY_INLINE void fetch(const Ahead<D, T>& ahead, const Summed& later, int64_t i, Turn turn) const {
    ahead.fetch(x, later.x, i, turn);
    ahead.fetch(residual, later.residual, i, turn);
  }
};

// s of one row, where it is kept.
template <class T>
struct Kept {
  using C = ComputeOf<T>;
  using D = hn::ScalableTag<C>;
  static constexpr int64_t kLanes = hn::MaxLanes(D());
  C* at;

  HWY_INLINE Pair<D> whole(int64_t i, Turn = Turn::only) const {
    return {hn::Load(D(), at + i), hn::Load(D(), at + i + kLanes)};
  }
  HWY_INLINE Pair<D> part(int64_t i, size_t) const { return whole(i); }
  HWY_INLINE void keep(int64_t i, const Pair<D>& s) const {
    hn::Store(s.first, D(), at + i);
    hn::Store(s.second, D(), at + i + kLanes);
  }
};

// s of a row that is read for the first time, kept if there is a place for it.
template <class T, bool kKeep>
struct FirstRead {
  using D = hn::ScalableTag<ComputeOf<T>>;
  Summed<T> summed;
  Kept<T> kept;

  HWY_INLINE Pair<D> keep(int64_t i, const Pair<D>& s) const {
    if constexpr (kKeep) kept.keep(i, s);
    return s;
  }
  HWY_INLINE Pair<D> whole(int64_t i, Turn = Turn::only) const { return keep(i, summed.whole(i)); }
  HWY_INLINE Pair<D> part(int64_t i, size_t count) const { return keep(i, summed.part(i, count)); }
};

template <class T, class Sums>
struct SquaredDeviations {
  using C = ComputeOf<T>;
  using D = hn::ScalableTag<C>;
  using V = hn::Vec<D>;
  Sums sums;
  C mean;

  HWY_INLINE V square(V s) const {
    const V deviation = hn::Sub(s, hn::Set(D(), mean));
    return hn::Mul(deviation, deviation);
  }
  HWY_INLINE Pair<D> of(const Pair<D>& s) const {
    return each(D(), s, [this](V v) HWY_ATTR { return square(v); });
  }
  HWY_INLINE Pair<D> whole(int64_t i, Turn) const { return of(sums.whole(i)); }
  HWY_INLINE Pair<D> part(int64_t i, size_t count) const {
    return first_of<T>(D(), count, of(sums.part(i, count)), {hn::Zero(D()), hn::Zero(D())});
  }
};

// s of the next row, to be added up, while the results of this one leave and the one after is fetched. Where s is kept,
// the next row's takes the place of this one's.
template <class T, bool kBiased, bool kKeep>
struct ResultsAndNext {
  using C = ComputeOf<T>;
  using D = hn::ScalableTag<C>;
  using V = hn::Vec<D>;
  std::conditional_t<kKeep, Kept<T>, Summed<T>> row;
  FirstRead<T, kKeep> next;
  Summed<T> later;
  Ahead<D, T> ahead;
  const T *gamma, *beta;
  C mean, rstd;
  TurnWriter<T>& writer;

  HWY_INLINE V standard(V s) const { return hn::Mul(hn::Sub(s, hn::Set(D(), mean)), hn::Set(D(), rstd)); }
  HWY_INLINE Pair<D> scaled(const Pair<D>& s, const Pair<D>& g) const {
    return each(D(), s, g, [this](V v, V factor) HWY_ATTR { return hn::Mul(standard(v), factor); });
  }
  HWY_INLINE Pair<D> whole(int64_t i, Turn turn) const {
    next.summed.fetch(ahead, later, i, turn);
    Pair<D> y = scaled(row.whole(i), load_pair(D(), gamma + i));
    if constexpr (kBiased) y = each(D(), y, load_pair(D(), beta + i), Add());
    writer.put(turn, y);
    return next.whole(i);
  }
  HWY_INLINE Pair<D> part(int64_t i, size_t count) const {
    Pair<D> y = scaled(row.part(i, count), load_pair_n(D(), gamma + i, count));
    if constexpr (kBiased) y = each(D(), y, load_pair_n(D(), beta + i, count), Add());
    writer.put_n(y, count);
    return next.part(i, count);
  }
};

template <class T, bool kBiased, bool kKeep>
void layernorm_typed(const LayernormRows& p, int thread, int64_t begin, int64_t end) {
  using C = ComputeOf<T>;
  using D = hn::ScalableTag<C>;
  const D d;
  const int64_t count = end - begin;
  const auto row_at = [&p, begin, count](int64_t k) {
    return begin + row_in_turn(HWY_MIN(k, count - 1), count, p.cols);
  };
  const auto summed_at = [&](int64_t k) {
    return Summed<T>{static_cast<const T*>(p.x.data) + row_at(k) * p.x.stride,
                     static_cast<const T*>(p.residual.data) + row_at(k) * p.residual.stride};
  };
  const Kept<T> kept{kKeep ? reinterpret_cast<C*>(p.kept + thread * p.kept_bytes) : nullptr};
  const auto sums_at = [&](int64_t k) {
    if constexpr (kKeep) {
      return kept;
    } else {
      return summed_at(k);
    }
  };
  const auto* gamma = static_cast<const T*>(p.gamma.data);
  const auto* beta = static_cast<const T*>(p.beta.data);
  const C n = static_cast<C>(p.cols);
  TurnWriter<T> writer(p.stream);
  const Ahead<D, T> ahead(p.cols);
  C sum = reduce_row(d, p.cols, Add(), FirstRead<T, kKeep>{summed_at(0), kept});
  for (int64_t k = 0; k < count; ++k) {
    const int64_t row = row_at(k);
    const C mean = sum / n;
    const SquaredDeviations<T, decltype(sums_at(k))> deviations{sums_at(k), mean};
    const C variance = reduce_row(d, p.cols, Add(), deviations) / n;
    const C rstd = C(1) / std::sqrt(variance + static_cast<C>(p.eps));
    static_cast<C*>(p.mean)[row * p.mean_stride] = mean;
    static_cast<C*>(p.rstd)[row * p.rstd_stride] = rstd;
    writer.begin_row(k, static_cast<T*>(p.y.data) + row * p.y.stride, p.cols);
    sum =
        reduce_row(d, p.cols, Add(),
                   ResultsAndNext<T, kBiased, kKeep>{
                       sums_at(k), {summed_at(k + 1), kept}, summed_at(k + 2), ahead, gamma, beta, mean, rstd, writer});
  }
}

template <class T, bool kBiased>
void layernorm_biased(const LayernormRows& p, int thread, int64_t begin, int64_t end) {
  if (begin == end) return;
  p.kept == nullptr ? layernorm_typed<T, kBiased, false>(p, thread, begin, end)
                    : layernorm_typed<T, kBiased, true>(p, thread, begin, end);
}

template <class T>
void layernorm_of(const LayernormRows& p, int thread, int64_t begin, int64_t end) {
  p.biased ? layernorm_biased<T, true>(p, thread, begin, end) : layernorm_biased<T, false>(p, thread, begin, end);
}

void layernorm_rows(const LayernormRows& p, int thread, int64_t begin, int64_t end) {
  switch (p.element) {
    case Element::f64:
      return layernorm_of<double>(p, thread, begin, end);
    case Element::f32:
      return layernorm_of<float>(p, thread, begin, end);
    case Element::f16:
      return layernorm_of<f16>(p, thread, begin, end);
    case Element::bf16:
      return layernorm_of<bf16>(p, thread, begin, end);
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
  plan.threads = useful_threads(std::min(c.threads(), kMostKeepingThreads), plan.row_count, 2 * bytes);
  p.stream = bytes >= kBytesWorthStreaming;
  p.kept_bytes = kept_bytes(p.element, p.cols);
  return plan;
}

const char* refuse(const Call& c) {
  plan_of(c);
  return nullptr;
}

assay_workspace workspace(const Call& c) {
  const Plan plan = plan_of(c);
  return {static_cast<uint64_t>(plan.rows.kept_bytes * plan.threads), 64, ASSAY_WORKSPACE_ANY};
}

const char* launch(const Call& c) {
  Plan plan = plan_of(c);
  if (plan.rows.kept_bytes > 0) plan.rows.kept = static_cast<std::byte*>(c.workspace());
  const auto rows = &HWY_DYNAMIC_DISPATCH(layernorm_rows);
  parallel_ranges(plan.row_count, plan.threads,
                  [&](int thread, int64_t begin, int64_t end) { rows(plan.rows, thread, begin, end); });
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
          .nan_policy = ASSAY_NAN_PROPAGATES,
          .workspace_limit = kKeptLimit};
}

const assay_contract* plan_contract(const Call& c) {
  static constexpr assay_contract kDouble = contract(ASSAY_ACC_F64);
  return element_of(c, "x") == Element::f64 ? &kDouble : nullptr;
}

ASSAY_KERNEL(layernorm_residual, simd, .target = "cpu", .refuse = refuse, .workspace = workspace, .launch = launch,
             .describe = describe, .unavailable = assay::simd::no_sse4, .plan_contract = plan_contract,
             .contract = contract(ASSAY_ACC_F32))

}  // namespace
}  // namespace assay::simd
#endif
