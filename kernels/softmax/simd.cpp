// softmax, simd: z = scale x + mask, y = exp(z - max z) / sum exp(z - max z) along each row. Highway SIMD, rows shared
// out among threads.
//
// Three steps a row: maximum, exponentials and their sum, division. Exponentials are kept in a workspace between the
// last two while a row of them fits a level-2 cache, and computed again where not. They are carried 2^32 (double: 2^64)
// times too large, so that results round once into the subnormal numbers.
//
// Where they are kept, one loop does all three steps, each for another row: reading, arithmetic and writing then go on
// at the same time, and no row waits for the end of another's sum.
#include "common/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "softmax/simd.cpp"
#include "hwy/foreach_target.h"
//
#include <assay/kernel.h>

#include <cstddef>
#include <cstdint>
#include <limits>

#include "common/exp-inl.h"
#include "common/half-inl.h"
#include "common/reduce_row-inl.h"
#include "common/rows.h"
#include "common/stream-inl.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

#ifndef ASSAY_KERNELS_SOFTMAX_SIMD  // once, not once a target
#define ASSAY_KERNELS_SOFTMAX_SIMD
namespace assay::simd {

struct SoftmaxRows {
  Element element;
  bool masked;
  Rows<const void*> x, mask;
  Rows<void*> y;
  int64_t cols;
  double scale;
  bool stream;
  std::byte* kept;     // null: a row's exponentials are not kept
  int64_t kept_bytes;  // a thread
};

}  // namespace assay::simd
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {

const char* softmax_isa() { return hwy::TargetName(HWY_TARGET); }

enum class Form { plain, scaled, masked };  // z = x, scale x, scale x + mask

template <class T, Form kForm>
struct Logits {
  using C = ComputeOf<T>;
  using D = hn::ScalableTag<C>;
  using V = hn::Vec<D>;
  const T* x;
  const T* mask;
  C scale;

  HWY_INLINE V scaled(V v) const {
    if constexpr (kForm == Form::plain) return v;
    return hn::Mul(v, hn::Set(D(), scale));
  }
  // A mask of -inf hides x whatever it is.
  HWY_INLINE V masked(V v, V m) const {
    const auto lowest = hn::Set(D(), -std::numeric_limits<C>::infinity());
    return hn::IfThenElse(hn::Eq(m, lowest), m, hn::Add(scaled(v), m));
  }
  HWY_INLINE Pair<D> of(const Pair<D>& v) const {
    return each(D(), v, [this](V a) HWY_ATTR { return scaled(a); });
  }
  HWY_INLINE Pair<D> of(const Pair<D>& v, const Pair<D>& m) const {
    return each(D(), v, m, [this](V a, V b) HWY_ATTR { return masked(a, b); });
  }
  HWY_INLINE Pair<D> whole(int64_t i, Turn = Turn::only) const {
    if constexpr (kForm == Form::masked) return of(load_pair(D(), x + i), load_pair(D(), mask + i));
    return of(load_pair(D(), x + i));
  }
  HWY_INLINE Pair<D> any(int64_t i, size_t count) const {
    if constexpr (kForm == Form::masked) return of(load_pair_n(D(), x + i, count), load_pair_n(D(), mask + i, count));
    return of(load_pair_n(D(), x + i, count));
  }
  HWY_INLINE Pair<D> part(int64_t i, size_t count) const {
    const V lowest = MaxOfNumbers().identity(D());
    return first_of<T>(D(), count, any(i, count), {lowest, lowest});
  }
  HWY_INLINE void fetch(const Ahead<D, T>& ahead, const Logits& later, int64_t i, Turn turn) const {
    ahead.fetch(x, later.x, i, turn);
    if constexpr (kForm == Form::masked) ahead.fetch(mask, later.mask, i, turn);
  }
};

template <class D>
HWY_INLINE Pair<D> exponentials(D d, const Pair<D>& z, hn::TFromD<D> max) {
  return each(d, z, [d, max](auto v) HWY_ATTR { return softmax_exp(d, hn::Sub(v, hn::Set(d, max))); });
}

template <class D>
HWY_INLINE Pair<D> shares(D d, const Pair<D>& e, hn::TFromD<D> share) {
  return each(d, e, [d, share](auto v) HWY_ATTR { return hn::Mul(v, hn::Set(d, share)); });
}

// What one pass over the kept exponentials does, at each place: the results of the row before leave it, the row's
// exponentials take it, the maximum of the next row is found, and what comes after is fetched.
template <class T, Form kForm, bool kHasBefore>
struct ThreeRows {
  using C = ComputeOf<T>;
  using D = hn::ScalableTag<C>;
  using V = hn::Vec<D>;
  Logits<T, kForm> row, next, later;
  Ahead<D, T> ahead;
  C max, share_before;
  C* kept;
  TurnWriter<T>& writer;
  Pair<D>& next_max;

  HWY_INLINE Pair<D> kept_pair(int64_t i) const { return {hn::Load(D(), kept + i), hn::Load(D(), kept + i + kLanes)}; }
  HWY_INLINE void keep(int64_t i, const Pair<D>& e) const {
    hn::Store(e.first, D(), kept + i);
    hn::Store(e.second, D(), kept + i + kLanes);
  }
  HWY_INLINE void meet_next(const Pair<D>& z) const { next_max = each(D(), next_max, z, MaxOfNumbers()); }

  HWY_INLINE Pair<D> whole(int64_t i, Turn turn) const {
    next.fetch(ahead, later, i, turn);
    meet_next(next.whole(i));
    const Pair<D> e = exponentials(D(), row.whole(i), max);
    if constexpr (kHasBefore) writer.put(turn, shares(D(), kept_pair(i), share_before));
    keep(i, e);
    return e;
  }
  HWY_INLINE Pair<D> part(int64_t i, size_t count) const {
    meet_next(next.part(i, count));
    const Pair<D> nothing{hn::Zero(D()), hn::Zero(D())};
    const Pair<D> e = first_of<T>(D(), count, exponentials(D(), row.any(i, count), max), nothing);
    if constexpr (kHasBefore) writer.put_n(shares(D(), kept_pair(i), share_before), count);
    keep(i, e);
    return e;
  }
  static constexpr int64_t kLanes = hn::MaxLanes(D());
};

template <class T, Form kForm>
HWY_INLINE Logits<T, kForm> logits_of(const SoftmaxRows& p, int64_t row) {
  const T* mask = kForm == Form::masked ? static_cast<const T*>(p.mask.data) + row * p.mask.stride : nullptr;
  return {static_cast<const T*>(p.x.data) + row * p.x.stride, mask, static_cast<ComputeOf<T>>(p.scale)};
}

template <class T>
HWY_INLINE T* results_of(const SoftmaxRows& p, int64_t row) {
  return static_cast<T*>(p.y.data) + row * p.y.stride;
}

template <class T, Form kForm>
void softmax_kept(const SoftmaxRows& p, int thread, int64_t begin, int64_t end) {
  using C = ComputeOf<T>;
  using D = hn::ScalableTag<C>;
  const D d;
  const MaxOfNumbers larger;
  const int64_t count = end - begin;
  const auto row_at = [&p, begin, count](int64_t k) {
    return begin + row_in_turn(HWY_MIN(k, count - 1), count, p.cols);
  };
  const auto logits_at = [&](int64_t k) { return logits_of<T, kForm>(p, row_at(k)); };
  auto* kept = reinterpret_cast<C*>(p.kept + thread * p.kept_bytes);
  TurnWriter<T> writer(p.stream);
  const Ahead<D, T> ahead(p.cols);
  // Whether a NaN is kept or dropped in a maximum, it makes the sum NaN.
  C max = reduce_row(d, p.cols, larger, logits_at(0));
  C share = 0;
  for (int64_t k = 0; k < count; ++k) {
    Pair<D> next_max{larger.identity(d), larger.identity(d)};
    C sum;
    if (k == 0) {
      sum = reduce_row(d, p.cols, Add(),
                       ThreeRows<T, kForm, false>{logits_at(k), logits_at(k + 1), logits_at(k + 2), ahead, max, share,
                                                  kept, writer, next_max});
    } else {
      writer.begin_row(k - 1, results_of<T>(p, row_at(k - 1)), p.cols);
      sum = reduce_row(d, p.cols, Add(),
                       ThreeRows<T, kForm, true>{logits_at(k), logits_at(k + 1), logits_at(k + 2), ahead, max, share,
                                                 kept, writer, next_max});
    }
    max = reduce_lanes(d, larger(next_max.first, next_max.second), larger);
    share = C(1) / sum;
  }
  writer.begin_row(count - 1, results_of<T>(p, row_at(count - 1)), p.cols);
  const int64_t two = 2 * static_cast<int64_t>(hn::Lanes(d)), run = first_run(p.cols, two);
  for (int64_t i = 0; i < p.cols; i += two) {
    const Pair<D> e{hn::Load(d, kept + i), hn::Load(d, kept + i + two / 2)};
    if (i + two <= p.cols) {
      writer.put(i < run ? Turn::even : Turn::odd, shares(d, e, share));
    } else {
      writer.put_n(shares(d, e, share), static_cast<size_t>(p.cols - i));
    }
  }
}

template <class T, Form kForm>
struct Recomputed {
  using D = hn::ScalableTag<ComputeOf<T>>;
  const Logits<T, kForm>& logits;
  ComputeOf<T> max;
  HWY_INLINE Pair<D> whole(int64_t i, Turn = Turn::only) const { return exponentials(D(), logits.whole(i), max); }
  HWY_INLINE Pair<D> part(int64_t i, size_t count) const {
    return first_of<T>(D(), count, exponentials(D(), logits.any(i, count), max), {hn::Zero(D()), hn::Zero(D())});
  }
};

template <class T, Form kForm>
void softmax_recomputed(const SoftmaxRows& p, int64_t begin, int64_t end) {
  using C = ComputeOf<T>;
  const hn::ScalableTag<C> d;
  const int64_t two = 2 * static_cast<int64_t>(hn::Lanes(d));
  RowWriter<T> writer(p.stream);
  for (int64_t row = begin; row < end; ++row) {
    const auto logits = logits_of<T, kForm>(p, row);
    const Recomputed<T, kForm> e{logits, reduce_row(d, p.cols, MaxOfNumbers(), logits)};
    const C share = C(1) / reduce_row(d, p.cols, Add(), e);
    writer.begin_row(results_of<T>(p, row), p.cols);
    int64_t i = 0;
    for (; i + two <= p.cols; i += two) writer.put(shares(d, e.whole(i), share));
    const auto count = static_cast<size_t>(p.cols - i);
    if (count > 0) writer.put_n(shares(d, e.part(i, count), share), count);
  }
}

template <class T, Form kForm>
void softmax_typed(const SoftmaxRows& p, int thread, int64_t begin, int64_t end) {
  if (begin == end) return;
  p.kept == nullptr ? softmax_recomputed<T, kForm>(p, begin, end) : softmax_kept<T, kForm>(p, thread, begin, end);
}

template <class T>
void softmax_of(const SoftmaxRows& p, int thread, int64_t begin, int64_t end) {
  if (p.masked) return softmax_typed<T, Form::masked>(p, thread, begin, end);
  if (p.scale == 1) return softmax_typed<T, Form::plain>(p, thread, begin, end);
  softmax_typed<T, Form::scaled>(p, thread, begin, end);
}

void softmax_rows(const SoftmaxRows& p, int thread, int64_t begin, int64_t end) {
  switch (p.element) {
    case Element::f64:
      return softmax_of<double>(p, thread, begin, end);
    case Element::f32:
      return softmax_of<float>(p, thread, begin, end);
    case Element::f16:
      return softmax_of<f16>(p, thread, begin, end);
    case Element::bf16:
      return softmax_of<bf16>(p, thread, begin, end);
  }
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::simd {
namespace {

HWY_EXPORT(softmax_rows);
HWY_EXPORT(softmax_isa);

struct Plan {
  SoftmaxRows rows;
  int64_t row_count;
  int threads;
};

Plan plan_of(const Call& c) {
  Plan plan{};
  SoftmaxRows& p = plan.rows;
  plan.row_count = c.axis("rows");
  p.element = element_of(c, "x");
  p.x = rows_of<const void*>(c, "x", p.element);
  p.masked = c.word("mask") == "additive";
  if (p.masked) p.mask = rows_of<const void*>(c, "mask", p.element);
  p.y = rows_of<void*>(c, "y", p.element);
  p.cols = c.axis("cols");
  p.scale = c.number("scale");
  const int64_t bytes = plan.row_count * p.cols * bytes_of(p.element);
  plan.threads = useful_threads(std::min(c.threads(), kMostKeepingThreads), plan.row_count, bytes);
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
  const auto rows = &HWY_DYNAMIC_DISPATCH(softmax_rows);
  parallel_ranges(plan.row_count, plan.threads,
                  [&](int thread, int64_t begin, int64_t end) { rows(plan.rows, thread, begin, end); });
  return nullptr;
}

void describe(const Call& c, const Describe& emit) {
  emit("algorithm", plan_of(c).rows.kept_bytes > 0 ? "three rows at once, exponentials kept"
                                                   : "three passes, exponentials recomputed");
  emit("isa", HWY_DYNAMIC_DISPATCH(softmax_isa)());
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
                         .partial_type = accumulator,
                         .exp_kind = ASSAY_EXP_ACCURATE},
          .nan_policy = ASSAY_NAN_PROPAGATES,
          .workspace_limit = kKeptLimit};
}

const assay_contract* plan_contract(const Call& c) {
  static constexpr assay_contract kDouble = contract(ASSAY_ACC_F64);
  return element_of(c, "x") == Element::f64 ? &kDouble : nullptr;
}

ASSAY_KERNEL(softmax, simd, .target = "cpu", .refuse = refuse, .workspace = workspace, .launch = launch,
             .describe = describe, .unavailable = assay::simd::no_sse4, .plan_contract = plan_contract,
             .contract = contract(ASSAY_ACC_F32))

}  // namespace
}  // namespace assay::simd
#endif
