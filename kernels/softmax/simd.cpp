// softmax, simd: z = scale x + mask, y = exp(z - max z) / sum exp(z - max z) along each row. Highway SIMD, rows shared
// out among threads.
//
// Three passes over a row that is read from memory once: maximum, exponentials and their sum, division. Exponentials
// are kept in a workspace between the last two while a row of them fits a level-2 cache, and computed again where not.
// They are carried 2^32 (double: 2^64) times too large, so that results round once into the subnormal numbers.
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

template <class T, bool kMasked>
struct Logits {
  using C = ComputeOf<T>;
  using D = hn::ScalableTag<C>;
  using V = hn::Vec<D>;
  const T* x;
  const T* mask;
  C scale;

  // A mask of -inf hides x whatever it is.
  HWY_INLINE V masked(V scaled_x, V m) const {
    const auto lowest = hn::Set(D(), -std::numeric_limits<C>::infinity());
    return hn::IfThenElse(hn::Eq(m, lowest), m, hn::Add(scaled_x, m));
  }
  HWY_INLINE V whole(int64_t i) const {
    const V z = hn::Mul(load(D(), x + i), hn::Set(D(), scale));
    if constexpr (kMasked) return masked(z, load(D(), mask + i));
    return z;
  }
  HWY_INLINE V any(int64_t i, size_t count) const {
    const V z = hn::Mul(load_n(D(), x + i, count), hn::Set(D(), scale));
    if constexpr (kMasked) return masked(z, load_n(D(), mask + i, count));
    return z;
  }
  HWY_INLINE V part(int64_t i, size_t count) const {
    return hn::IfThenElse(hn::FirstN(D(), count), any(i, count), MaxOfNumbers().identity(D()));
  }
};

// exp(z - max), kept as they are computed. Memory would idle meanwhile: half of the next row is fetched here, the other
// half with the results.
template <class T, bool kMasked, bool kKeep>
struct Exponentials {
  using C = ComputeOf<T>;
  using D = hn::ScalableTag<C>;
  using V = hn::Vec<D>;
  const Logits<T, kMasked>& logits;
  C max;
  C* kept;
  const T* next_x;

  HWY_INLINE V of(V z) const { return shifted_exp(D(), hn::Sub(z, hn::Set(D(), max)), hn::Set(D(), kExpShift<C>)); }
  HWY_INLINE V whole(int64_t i) const {
    hwy::Prefetch(next_x + i / 2);
    const V e = of(logits.whole(i));
    if constexpr (kKeep) hn::Store(e, D(), kept + i);
    return e;
  }
  HWY_INLINE V part(int64_t i, size_t count) const {
    const V e = hn::IfThenElseZero(hn::FirstN(D(), count), of(logits.any(i, count)));
    if constexpr (kKeep) hn::Store(e, D(), kept + i);
    return e;
  }
};

template <class T, bool kMasked, bool kKeep>
struct Shares {
  using D = hn::ScalableTag<ComputeOf<T>>;
  using V = hn::Vec<D>;
  const Exponentials<T, kMasked, kKeep>& exponentials;
  ComputeOf<T> share;
  int64_t cols;

  HWY_INLINE V whole(int64_t i) const {
    hwy::Prefetch(exponentials.next_x + (cols + i) / 2);
    if constexpr (kKeep) return scaled(hn::LoadU(D(), exponentials.kept + i));
    return scaled(exponentials.of(exponentials.logits.whole(i)));
  }
  HWY_INLINE V first(int64_t i, size_t count) const {
    if constexpr (kKeep) return scaled(load_n(D(), exponentials.kept + i, count));
    return scaled(exponentials.of(exponentials.logits.any(i, count)));
  }
  HWY_INLINE V scaled(V e) const { return hn::Mul(e, hn::Set(D(), share)); }
};

template <class T, bool kMasked, bool kKeep>
void softmax_row(const SoftmaxRows& p, const T* x, const T* mask, T* y, ComputeOf<T>* kept, const T* next_x) {
  using C = ComputeOf<T>;
  const hn::ScalableTag<C> d;
  const Logits<T, kMasked> logits{x, mask, static_cast<C>(p.scale)};
  // Whether a NaN is kept or dropped here, it makes the sum NaN below.
  const C max = reduce_row(d, p.cols, MaxOfNumbers(), logits);
  const Exponentials<T, kMasked, kKeep> exponentials{logits, max, kept, next_x};
  const C sum = reduce_row(d, p.cols, Add(), exponentials);
  write_row(d, Shares<T, kMasked, kKeep>{exponentials, C(1) / sum, p.cols}, y, p.cols, p.stream);
}

template <class T, bool kMasked>
void softmax_typed(const SoftmaxRows& p, int thread, int64_t begin, int64_t end) {
  auto* kept = p.kept == nullptr ? nullptr : reinterpret_cast<ComputeOf<T>*>(p.kept + thread * p.kept_bytes);
  for (int64_t row = begin; row < end; ++row) {
    const T* x = static_cast<const T*>(p.x.data) + row * p.x.stride;
    const T* mask = kMasked ? static_cast<const T*>(p.mask.data) + row * p.mask.stride : nullptr;
    T* y = static_cast<T*>(p.y.data) + row * p.y.stride;
    const T* next_x = row + 1 < end ? x + p.x.stride : x;
    if (kept != nullptr) {
      softmax_row<T, kMasked, true>(p, x, mask, y, kept, next_x);
    } else {
      softmax_row<T, kMasked, false>(p, x, mask, y, nullptr, next_x);
    }
  }
  if (p.stream) hwy::FlushStream();
}

template <class T>
void softmax_of(const SoftmaxRows& p, int thread, int64_t begin, int64_t end) {
  p.masked ? softmax_typed<T, true>(p, thread, begin, end) : softmax_typed<T, false>(p, thread, begin, end);
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

constexpr int64_t kMostKeptBytes = 256 << 10;
constexpr int kMostThreads = 512;

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
  plan.threads = useful_threads(std::min(c.threads(), kMostThreads), plan.row_count, bytes);
  p.stream = bytes >= kBytesWorthStreaming;
  p.kept_bytes = (p.cols * (p.element == Element::f64 ? 8 : 4) + 63) / 64 * 64;
  if (p.kept_bytes > kMostKeptBytes) p.kept_bytes = 0;
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
  emit("algorithm",
       plan_of(c).rows.kept_bytes > 0 ? "three passes, exponentials kept" : "three passes, exponentials recomputed");
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
          .workspace_limit = kMostKeptBytes * kMostThreads};
}

const assay_contract* plan_contract(const Call& c) {
  static constexpr assay_contract kDouble = contract(ASSAY_ACC_F64);
  return element_of(c, "x") == Element::f64 ? &kDouble : nullptr;
}

ASSAY_KERNEL(softmax, simd, .target = "cpu", .refuse = refuse, .workspace = workspace, .launch = launch,
             .describe = describe, .plan_contract = plan_contract, .contract = contract(ASSAY_ACC_F32))

}  // namespace
}  // namespace assay::simd
#endif
