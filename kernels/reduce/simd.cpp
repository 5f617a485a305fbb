// reduce, simd: sum or maximum of x[outer, n, inner] over n. Highway SIMD. inner = 1 reduces along rows, lane by lane;
// otherwise panels of neighbouring columns are reduced together, each column in a lane of its own.
//
// n is cut into fixed chunks, each reduced by a fixed tree, and a column's chunks are combined in order, whoever
// reduced them: where outer and inner alone do not occupy the threads, chunks are shared out and their results wait in
// the workspace. A row whose elements are apart (inner = 1 with padding) goes through the same tree as a dense one.
#include "common/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/simd.cpp"
#include "hwy/foreach_target.h"
//
#include <assay/kernel.h>

#include <cstddef>
#include <cstdint>

#include "common/half-inl.h"
#include "common/reduce_row-inl.h"
#include "common/rows.h"
#include "common/stream-inl.h"
#include "hwy/highway.h"

#ifndef ASSAY_KERNELS_REDUCE_SIMD  // once, not once a target
#define ASSAY_KERNELS_REDUCE_SIMD
namespace assay::simd {

// Columns reduced together: memory is read in pieces of some KiB, and a panel's partial sums stay in the level-1 cache.
inline constexpr int64_t kPanel = 2048;
// Terms a chunk. Combining chunks in order adds one level each, which n / 32 levels more than pay for.
inline constexpr int64_t kRowChunk = 1 << 15;
inline constexpr int64_t kColumnChunk = 1 << 9;
// Rows of a panel that are combined pairwise before they meet the partial sums, which then is done kBlockRows /
// kTreeRows times. More rows side by side than that push each other out of the level-1 cache, where they come to lie in
// the same set.
inline constexpr int64_t kTreeRows = 4;
inline constexpr int64_t kBlockRows = 32;
// Partial sums are kept in pairs of vectors (pair-inl.h); this many are whole pairs of any instruction set.
inline constexpr int64_t kWholePairs = 32;

struct ReduceTasks {
  Element element;
  bool max;
  const void* x;
  void* y;
  int64_t outer, n, inner;
  int64_t x_outer, x_n, y_outer;  // strides, elements
  int64_t panels, chunk, chunks;  // columns are cut into panels, n into chunks
  int64_t padded;                 // inner in whole pairs
  void* partials;                 // [outer, chunks, padded] of the computing type; null: one task does all chunks
};

}  // namespace assay::simd
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {

const char* reduce_isa() { return hwy::TargetName(HWY_TARGET); }

// ---- inner = 1 ----

template <class T, class Combine>
struct DenseRow {
  using D = hn::ScalableTag<ComputeOf<T>>;
  const T *x, *later;  // this chunk, and the one that comes next
  Ahead<D, T> ahead;
  HWY_INLINE Pair<D> whole(int64_t i, Turn turn) const {
    ahead.fetch(x, later, i, turn);
    return load_pair(D(), x + i);
  }
  HWY_INLINE Pair<D> part(int64_t i, size_t count) const {
    const auto nothing = Combine().identity(D());
    return first_of<T>(D(), count, load_pair_n(D(), x + i, count), {nothing, nothing});
  }
};

template <class T, class Combine>
struct SparseRow {
  using D = hn::ScalableTag<ComputeOf<T>>;
  static constexpr size_t kTwo = 2 * hn::MaxLanes(D());
  const T* x;
  int64_t stride;
  HWY_INLINE Pair<D> whole(int64_t i, Turn) const { return part(i, kTwo); }
  HWY_INLINE Pair<D> part(int64_t i, size_t count) const {
    HWY_ALIGN T dense[kTwo] = {};
    for (size_t k = 0; k < count; ++k) dense[k] = x[(i + static_cast<int64_t>(k)) * stride];
    const auto nothing = Combine().identity(D());
    return first_of<T>(D(), count, load_pair(D(), dense), {nothing, nothing});
  }
};

template <class T, class Combine>
ComputeOf<T> row_chunk(const ReduceTasks& p, int64_t outer, int64_t chunk) {
  const hn::ScalableTag<ComputeOf<T>> d;
  const int64_t n = HWY_MIN(p.chunk, p.n - chunk * p.chunk);
  const T* x = static_cast<const T*>(p.x) + outer * p.x_outer + chunk * p.chunk * p.x_n;
  if (p.x_n == 1) {
    const T* later = chunk + 1 < p.chunks ? x + n : x + p.x_outer - chunk * p.chunk;
    return reduce_row(d, n, Combine(), DenseRow<T, Combine>{x, later, Ahead<hn::ScalableTag<ComputeOf<T>>, T>(n)});
  }
  return reduce_row(d, n, Combine(), SparseRow<T, Combine>{x, p.x_n});
}

// ---- inner > 1 ----

// Pairs of partial sums, in the order in which load_pair gives their columns.
template <class C>
HWY_INLINE Pair<hn::ScalableTag<C>> load_sums(const C* from) {
  const hn::ScalableTag<C> d;
  return {hn::LoadU(d, from), hn::LoadU(d, from + hn::Lanes(d))};
}

template <class C>
HWY_INLINE void store_sums(const Pair<hn::ScalableTag<C>>& p, C* to) {
  const hn::ScalableTag<C> d;
  hn::StoreU(p.first, d, to);
  hn::StoreU(p.second, d, to + hn::Lanes(d));
}

template <class C>
constexpr int64_t pair_of() {
  return 2 * static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<C>()));
}

template <class Combine, class C>
HWY_INLINE void clear_sums(int64_t width, C* sums) {
  const auto nothing = Combine().identity(hn::ScalableTag<C>());
  for (int64_t j = 0; j < width; j += pair_of<C>()) store_sums({nothing, nothing}, sums + j);
}

// Of two NaN x86 keeps the first operand, and which that is a compiler chooses anew wherever it inlines an addition. So
// this and reduce_chunks() are not inlined: whole or in parts, the same machine code makes a column's sum.
template <class Combine, class C>
HWY_NOINLINE void add_sums(const C* sums, int64_t width, C* into) {
  const hn::ScalableTag<C> d;
  for (int64_t j = 0; j < width; j += pair_of<C>()) {
    store_sums(each(d, load_sums(into + j), load_sums(sums + j), Combine()), into + j);
  }
}

// Rows 0 to kTreeRows - 1 of one pair of columns, pairwise.
template <class D, class Combine, class LoadRow>
HWY_INLINE Pair<D> tree(D d, Combine combine, LoadRow row) {
  static_assert(kTreeRows == 4);
  return each(d, each(d, row(0), row(1), combine), each(d, row(2), row(3), combine), combine);
}

// Combines `rows` rows of a panel of `width` columns into into[], all columns alike: first the rows among themselves.
template <class Combine, class T>
HWY_INLINE void add_rows(const T* x, int64_t stride, int64_t rows, int64_t width, ComputeOf<T>* into) {
  using C = ComputeOf<T>;
  const hn::ScalableTag<C> d;
  const Combine combine;
  constexpr int64_t kTwo = pair_of<C>(), kAhead = (1 << 10) / static_cast<int64_t>(sizeof(T));
  const auto add = [&](int64_t j, auto row)
                       HWY_ATTR { store_sums(each(d, load_sums(into + j), tree(d, combine, row), combine), into + j); };
  int64_t j = 0;
  if (rows == kTreeRows) {
    for (; j + kTwo <= width; j += kTwo) {
      // Past the panel's end come the next rows.
      const int64_t later = j + kAhead < width ? kAhead : kTreeRows * stride + kAhead - width;
      add(j, [&](int64_t row) HWY_ATTR {
        const T* from = x + row * stride + j;
        fetch_pair(d, from, later * static_cast<int64_t>(sizeof(T)));
        return load_pair(d, from);
      });
    }
  }
  const auto nothing = combine.identity(d);
  for (; j < width; j += kTwo) {
    const auto count = static_cast<size_t>(HWY_MIN(kTwo, width - j));
    add(j, [&](int64_t row) HWY_ATTR {
      return row < rows ? load_pair_n(d, x + row * stride + j, count) : Pair<hn::ScalableTag<C>>{nothing, nothing};
    });
  }
}

// One chunk of one panel into total[], with the order of terms depending on their row alone.
template <class Combine, class T>
HWY_INLINE void add_chunk(const T* x, int64_t stride, int64_t rows, int64_t width, ComputeOf<T>* total) {
  HWY_ALIGN ComputeOf<T> sum[kPanel];
  HWY_ALIGN ComputeOf<T> block[kPanel];
  clear_sums<Combine>(width, sum);
  for (int64_t begin = 0; begin < rows; begin += kBlockRows) {
    clear_sums<Combine>(width, block);
    const int64_t end = HWY_MIN(rows, begin + kBlockRows);
    for (int64_t row = begin; row < end; row += kTreeRows) {
      add_rows<Combine>(x + row * stride, stride, HWY_MIN(kTreeRows, end - row), width, block);
    }
    add_sums<Combine>(block, width, sum);
  }
  add_sums<Combine>(sum, width, total);
}

// ---- tasks ----

// total[0, width) = the chunks [first, last) of a panel.
template <class T, class Combine>
HWY_NOINLINE void reduce_chunks(const ReduceTasks& p, int64_t outer, int64_t column, int64_t width, int64_t first,
                                int64_t last, ComputeOf<T>* total) {
  using C = ComputeOf<T>;
  clear_sums<Combine>(width, total);
  for (int64_t chunk = first; chunk < last; ++chunk) {
    if (p.inner == 1) {
      HWY_ALIGN const C partial[pair_of<C>()] = {row_chunk<T, Combine>(p, outer, chunk)};
      add_sums<Combine>(partial, width, total);
    } else {
      const T* x = static_cast<const T*>(p.x) + outer * p.x_outer + chunk * p.chunk * p.x_n + column;
      add_chunk<Combine>(x, p.x_n, HWY_MIN(p.chunk, p.n - chunk * p.chunk), width, total);
    }
  }
}

// to[0, width) = total[0, width), rounded.
template <class T>
void write_out(const ComputeOf<T>* total, int64_t width, T* to) {
  using C = ComputeOf<T>;
  const hn::ScalableTag<C> d;
  int64_t j = 0;
  for (; j + pair_of<C>() <= width; j += pair_of<C>()) store_pair(d, load_sums(total + j), to + j);
  if (j < width) store_pair_n(d, load_sums(total + j), to + j, static_cast<size_t>(width - j));
}

// The partial sums of one chunk of one panel.
template <class C>
C* partial_of(const ReduceTasks& p, int64_t outer, int64_t chunk, int64_t column) {
  return static_cast<C*>(p.partials) + (outer * p.chunks + chunk) * p.padded + column;
}

template <class T, class Combine>
void reduce_of(const ReduceTasks& p, int64_t begin, int64_t end) {
  HWY_ALIGN ComputeOf<T> total[kPanel];
  const int64_t parts = p.partials == nullptr ? 1 : p.chunks;
  for (int64_t task = begin; task < end; ++task) {
    const int64_t chunk = task % parts;
    const int64_t column = task / parts % p.panels * kPanel;
    const int64_t outer = task / parts / p.panels;
    const int64_t width = HWY_MIN(kPanel, p.inner - column);
    const bool whole = p.partials == nullptr;
    const int64_t first = whole ? 0 : chunk, last = whole ? p.chunks : chunk + 1;
    reduce_chunks<T, Combine>(p, outer, column, width, first, last,
                              whole ? total : partial_of<ComputeOf<T>>(p, outer, chunk, column));
    if (whole) write_out(total, width, static_cast<T*>(p.y) + outer * p.y_outer + column);
  }
}

template <class T, class Combine>
void combine_of(const ReduceTasks& p, int64_t begin, int64_t end) {
  HWY_ALIGN ComputeOf<T> total[kPanel];
  for (int64_t task = begin; task < end; ++task) {
    const int64_t column = task % p.panels * kPanel;
    const int64_t outer = task / p.panels;
    const int64_t width = HWY_MIN(kPanel, p.inner - column);
    clear_sums<Combine>(width, total);
    for (int64_t chunk = 0; chunk < p.chunks; ++chunk) {
      add_sums<Combine>(partial_of<ComputeOf<T>>(p, outer, chunk, column), width, total);
    }
    write_out(total, width, static_cast<T*>(p.y) + outer * p.y_outer + column);
  }
}

template <class T>
void reduce_any(const ReduceTasks& p, bool combining, int64_t begin, int64_t end) {
  if (combining) {
    p.max ? combine_of<T, Max>(p, begin, end) : combine_of<T, Add>(p, begin, end);
  } else {
    p.max ? reduce_of<T, Max>(p, begin, end) : reduce_of<T, Add>(p, begin, end);
  }
}

void reduce_tasks(const ReduceTasks& p, bool combining, int64_t begin, int64_t end) {
  switch (p.element) {
    case Element::f64:
      return reduce_any<double>(p, combining, begin, end);
    case Element::f32:
      return reduce_any<float>(p, combining, begin, end);
    case Element::f16:
      return reduce_any<f16>(p, combining, begin, end);
    case Element::bf16:
      return reduce_any<bf16>(p, combining, begin, end);
  }
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::simd {
namespace {

HWY_EXPORT(reduce_tasks);
HWY_EXPORT(reduce_isa);

struct Plan {
  ReduceTasks tasks;
  int threads;
  bool split;
  uint64_t workspace_bytes;
};

constexpr int64_t kWorkspaceLimit = int64_t{256} << 20;

Plan plan_of(const Call& c) {
  Plan plan{};
  ReduceTasks& p = plan.tasks;
  p.element = element_of(c, "x");
  p.max = c.word("kind") == "max";
  p.outer = c.axis("outer");
  p.n = c.axis("n");
  p.inner = c.axis("inner");
  const Rows<const void*> x = rows_of<const void*>(c, "x", p.element);
  const Rows<void*> y = rows_of<void*>(c, "y", p.element);
  p.x = x.data;
  p.x_n = x.stride;
  p.x_outer = c.tensor("x").dl.strides[0];
  p.y = y.data;
  p.y_outer = y.stride;
  p.panels = (p.inner + kPanel - 1) / kPanel;
  p.padded = (p.inner + kWholePairs - 1) / kWholePairs * kWholePairs;
  p.chunk = p.inner == 1 ? kRowChunk : kColumnChunk;
  p.chunks = (p.n + p.chunk - 1) / p.chunk;
  const int64_t whole_tasks = p.outer * p.panels;
  const int64_t bytes = p.outer * p.n * p.inner * bytes_of(p.element);
  const int64_t partial_bytes = p.outer * p.chunks * p.padded * (p.element == Element::f64 ? 8 : 4);
  // Whole or in parts, a column's sum is made in the same order.
  plan.split = p.chunks > 1 && c.threads() > 1 && whole_tasks < 4 * c.threads() && partial_bytes <= kWorkspaceLimit;
  plan.threads = useful_threads(c.threads(), plan.split ? whole_tasks * p.chunks : whole_tasks, bytes);
  plan.workspace_bytes = plan.split ? static_cast<uint64_t>(partial_bytes) : 0;
  return plan;
}

const char* refuse(const Call& c) {
  plan_of(c);
  return nullptr;
}

assay_workspace workspace(const Call& c) { return {plan_of(c).workspace_bytes, 64, ASSAY_WORKSPACE_ANY}; }

const char* launch(const Call& c) {
  Plan plan = plan_of(c);
  const int64_t whole_tasks = plan.tasks.outer * plan.tasks.panels;
  if (plan.split) plan.tasks.partials = c.workspace();
  const auto tasks = &HWY_DYNAMIC_DISPATCH(reduce_tasks);
  parallel_ranges(plan.split ? whole_tasks * plan.tasks.chunks : whole_tasks, plan.threads,
                  [&](int, int64_t begin, int64_t end) { tasks(plan.tasks, false, begin, end); });
  if (plan.split) tasks(plan.tasks, true, 0, whole_tasks);
  return nullptr;
}

void describe(const Call& c, const Describe& emit) {
  const Plan plan = plan_of(c);
  emit("algorithm", plan.tasks.inner == 1 ? "along rows" : "panels of columns");
  emit("isa", HWY_DYNAMIC_DISPATCH(reduce_isa)());
  emit("reduction",
       plan.tasks.inner == 1 ? "chunks of 32768, blocks of 4 x 8 vectors" : "chunks of 512, blocks of 8 x 4 rows");
}

constexpr assay_contract contract(int32_t accumulator) {
  return {.interface_version = 1,
          .owner = kOwner,
          .domain = "dtype in f64 f32 f16 bf16",
          .promises = kRowPromises,
          .arithmetic = {.accumulator = accumulator,
                         .depth_divisor = kRowDepthDivisor,
                         .depth_constant = kRowDepthConstant + 1,
                         .split_k = 1,
                         .partial_type = accumulator},
          .nan_policy = ASSAY_NAN_PROPAGATES,
          .workspace_limit = kWorkspaceLimit};
}

const assay_contract* plan_contract(const Call& c) {
  static constexpr assay_contract kDouble = contract(ASSAY_ACC_F64);
  return element_of(c, "x") == Element::f64 ? &kDouble : nullptr;
}

ASSAY_KERNEL(reduce, simd, .target = "cpu", .refuse = refuse, .workspace = workspace, .launch = launch,
             .describe = describe, .unavailable = assay::simd::no_sse4, .plan_contract = plan_contract,
             .contract = contract(ASSAY_ACC_F32))

}  // namespace
}  // namespace assay::simd
#endif
