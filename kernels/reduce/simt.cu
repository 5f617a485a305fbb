// reduce, simt: sum or maximum of x[outer, n, inner] over n, on CUDA cores. inner = 1 reduces along rows, otherwise
// threads go down columns.
//
// n is cut into segments of fixed length. Where there is more than one, their results are written to the workspace and
// reduced in the same way, until one is left: the tree depends on n and inner alone, and is the same with another
// alignment, padding or outer.
#include <assay/kernel.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/row_plan.cuh"

namespace assay::simt {
namespace {

// One step of the reduction: from[outer, n, inner] of In to to[outer, segments, inner] of Out.
struct Level {
  Element in, out;
  int64_t outer, n, inner;
  int64_t segment, segments;  // elements of n; how many
  int64_t in_outer, in_n;     // strides, elements
  int64_t out_outer, out_segment;
  int row_lanes;     // inner = 1: lanes of a warp that reduce a row, or the threads of a block
  int column_rows;   // inner > 1: rows that a block reads at a time
  const void* from;  // set by launch
  void* to;
};

inline constexpr int kUnroll = 4;  // loads in flight, each with an accumulator of its own

// ---- inner = 1: a team a segment ----

inline constexpr int kBlockLanes = 256;
inline constexpr int64_t kRowSegmentChunks = 16 * kBlockLanes * kUnroll;
inline constexpr int64_t kMostWarpChunks = 1024;

template <class In, Access kAccess, class Out, class Combine, class Team>
__global__ void __launch_bounds__(kBlockLanes) reduce_rows(Level p) {
  using C = ComputeOf<In>;
  const C nothing = Combine::template identity<C>();
  Team team;
  const auto share = team.share();
  const int64_t tasks = p.outer * p.segments;
  for (int64_t first = team.first_row(); first < tasks; first += team.row_step()) {
    const int64_t task = first + team.row_in_warp();
    const int64_t there = min(task, tasks - 1);
    const int64_t outer = there / p.segments, segment = there % p.segments;
    const int cols = static_cast<int>(min(p.segment, p.n - segment * p.segment));
    const In* row = static_cast<const In*>(p.from) + outer * p.in_outer + segment * p.segment * p.in_n;
    const RowReader<In, kAccess> reader(row, cols);
    C sums[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) sums[u] = nothing;
    const int stripes = static_cast<int>(stripes_of<In>(cols, share.size));
    for (int stripe = 0; stripe < stripes; stripe += kUnroll) {
      Chunk<In> x[kUnroll];
      if (p.in_n == 1) {
        reader.load(share, stripe, x, nullptr);
      } else {
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) {
          const auto place = place_of<In, kAccess>(share, stripe + u, cols);
          const auto* bits = reinterpret_cast<const BitsOf<In>*>(row);
          x[u] = chunk_of_elements<In>(
              [&](int e) { return place.has(e) ? bits[place.element(e) * p.in_n] : BitsOf<In>(0); });
        }
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        C values[kPerChunk<In>];
        widen_all(x[u], values);
        place_of<In, kAccess>(share, stripe + u, cols).fill_beyond(nothing, values);
        sums[u] = Combine()(sums[u], combine_pairwise(values, Combine()));
      }
    }
    const C result = team.all(combine_pairwise(sums, Combine()), Combine());
    if (share.rank == 0 && task < tasks) {
      static_cast<Out*>(p.to)[outer * p.out_outer + segment * p.out_segment] = narrow<Out>(result);
    }
  }
}

// ---- inner > 1: blockDim.x threads side by side, each kColumns neighbouring columns, blockDim.y rows at a time ----

inline constexpr int kSegmentSteps = 16 * kUnroll;  // rows that one thread reads of a segment
inline constexpr int kColumnLanes = 32;
inline constexpr int kColumnThreads = 256;

template <class In, class Out, class Combine, int kColumns>
__global__ void __launch_bounds__(kColumnThreads) reduce_columns(Level p) {
  using C = ComputeOf<In>;
  const C nothing = Combine::template identity<C>();
  __shared__ C place[kColumns][kColumnThreads];
  const int x = threadIdx.x, y = threadIdx.y, rows = blockDim.y, thread = y * blockDim.x + x;
  const int64_t units = (p.inner + kColumns - 1) / kColumns, panels = (units + blockDim.x - 1) / blockDim.x;
  for (int64_t task = blockIdx.x; task < p.outer * p.segments * panels; task += gridDim.x) {
    const int64_t unit = task % panels * blockDim.x + x;
    const int64_t segment = task / panels % p.segments, outer = task / panels / p.segments;
    const int64_t end = unit < units ? min(p.segment, p.n - segment * p.segment) : 0;
    const In* from = static_cast<const In*>(p.from) + outer * p.in_outer + segment * p.segment * p.in_n;
    from += unit * kColumns;
    C sums[kUnroll][kColumns];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
      for (int e = 0; e < kColumns; ++e) sums[u][e] = nothing;
    }
    for (int64_t row = y; row < end; row += kUnroll * rows) {
      C values[kUnroll][kColumns];
      if constexpr (kColumns == 1) {
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) {
          const int64_t at = row + u * rows;
          values[u][0] = at < end ? C(widen(from[at * p.in_n])) : nothing;
        }
      } else {
        Chunk<In> loaded[kUnroll];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) {
          const int64_t at = row + u * rows;
          if (at < end) loaded[u] = load_streaming(from + at * p.in_n);
        }
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) {
          widen_all(loaded[u], values[u]);
          if (row + u * rows < end) continue;
#pragma unroll
          for (int e = 0; e < kColumns; ++e) values[u][e] = nothing;
        }
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
        for (int e = 0; e < kColumns; ++e) sums[u][e] = Combine()(sums[u][e], values[u][e]);
      }
    }
    static_assert(kUnroll == 4);
#pragma unroll
    for (int e = 0; e < kColumns; ++e) {
      place[e][thread] = Combine()(Combine()(sums[0][e], sums[1][e]), Combine()(sums[2][e], sums[3][e]));
    }
    for (int half = rows / 2; half > 0; half /= 2) {
      __syncthreads();
      if (y < half) {
#pragma unroll
        for (int e = 0; e < kColumns; ++e) {
          place[e][thread] = Combine()(place[e][thread], place[e][thread + half * blockDim.x]);
        }
      }
    }
    if (y == 0 && unit < units) {
      Out* to = static_cast<Out*>(p.to) + outer * p.out_outer + segment * p.out_segment + unit * kColumns;
#pragma unroll
      for (int e = 0; e < kColumns; ++e) to[e] = narrow<Out>(place[e][thread]);
    }
    __syncthreads();
  }
}

// ---- planning ----

struct Plan {
  bool max;
  std::vector<Level> levels;
  std::vector<uint64_t> partials;  // offset in the workspace of what a level writes; the last level writes y
  uint64_t workspace_bytes;
  assay_contract contract;
};

int power_of_two_up(int64_t n) { return 1 << log2_up(n); }

// Depth of the tree of one segment of `n` elements.
int depth_of(const Level& level, int64_t n) {
  const auto steps = [n](int64_t a_step) { return static_cast<int>((n + a_step - 1) / a_step); };
  if (level.inner > 1) return steps(int64_t{level.column_rows} * kUnroll) + 2 + log2_up(level.column_rows);
  const int width = 16 / static_cast<int>(bytes_of(level.in));
  return log2_up(width) + steps(int64_t{level.row_lanes} * kUnroll * width) + 2 + log2_up(level.row_lanes);
}

void choose_threads(Level& level) {
  if (level.inner > 1) {
    level.column_rows = kColumnThreads / power_of_two_up(std::min<int64_t>(level.inner, kColumnLanes));
    level.segment = int64_t{kSegmentSteps} * level.column_rows;
  } else {
    const int64_t width = 16 / bytes_of(level.in), chunks = (level.n + width - 1) / width;
    level.segment = kRowSegmentChunks * width;
    level.row_lanes = chunks <= 1 ? 1 : chunks <= 4 ? 4 : chunks <= 16 ? 16 : chunks <= kMostWarpChunks ? 32 : 0;
    if (level.row_lanes == 0) level.row_lanes = kBlockLanes;
  }
  level.segments = std::max<int64_t>(1, (level.n + level.segment - 1) / level.segment);
}

// ceil(n / divisor) + constant >= depth, with the constant that ops allow at most.
Depth declared(int64_t n, int depth) {
  constexpr int kLargestConstant = 48;
  if (depth <= kLargestConstant) return {kAnyLength, depth};
  return {static_cast<int32_t>(std::min<int64_t>(kAnyLength, n / (depth - kLargestConstant))), kLargestConstant};
}

constexpr assay_contract contract(int32_t accumulator, Depth depth) {
  return {.interface_version = 1,
          .owner = kOwner,
          .domain = "dtype in f64 f32 f16 bf16",
          .promises = kPromises,
          .arithmetic = {.accumulator = accumulator,
                         .depth_divisor = depth.divisor,
                         .depth_constant = depth.constant,
                         .split_k = 1,
                         .partial_type = accumulator},
          .nan_policy = ASSAY_NAN_PROPAGATES,
          .workspace_limit = uint64_t{256} << 20};
}

Level first_level(const Call& c) {
  Level level{};
  level.in = element_of(c, "x");
  const Rows<const void*> x = rows_of<const void*>(c, "x", level.in);
  level.from = x.data;
  level.outer = c.axis("outer");
  level.n = c.axis("n");
  level.inner = c.axis("inner");
  level.in_outer = c.tensor("x").dl.strides[0];
  level.in_n = level.n > 1 ? x.stride : 1;
  return level;
}

std::shared_ptr<void> plan(const Call& c) {
  auto plan = std::make_shared<Plan>();
  plan->max = c.word("kind") == "max";
  Level level = first_level(c);
  const Element element = level.in, wide = element == Element::f64 ? Element::f64 : Element::f32;
  int depth = 0;
  while (true) {
    choose_threads(level);
    depth += depth_of(level, std::min(level.n, level.segment));
    const bool is_last = level.segments == 1;
    level.out = is_last ? element : wide;
    level.out_segment = level.inner;
    level.out_outer = is_last ? rows_of<void*>(c, "y", element).stride : level.segments * level.inner;
    plan->levels.push_back(level);
    if (is_last) break;
    plan->partials.push_back(plan->workspace_bytes);
    const auto bytes = static_cast<uint64_t>(level.outer * level.out_outer * bytes_of(wide));
    plan->workspace_bytes += (bytes + 15) / 16 * 16;
    level.in = wide;
    level.n = level.segments;
    level.in_outer = level.out_outer;
    level.in_n = level.inner;
  }
  plan->contract = contract(accumulator_of(element), declared(c.axis("n"), depth));
  if (plan->workspace_bytes > plan->contract.workspace_limit) throw Refusal("the workspace would be above 256 MiB");
  return plan;
}

assay_workspace workspace(const Call& c) { return {c.plan<Plan>().workspace_bytes, 16, ASSAY_WORKSPACE_ANY}; }

const assay_contract* plan_contract(const Call& c) { return &c.plan<Plan>().contract; }

// ---- launching ----

unsigned blocks_for(int64_t tasks) { return static_cast<unsigned>(std::min<int64_t>(tasks, kMostBlocks)); }

template <class In, Access kAccess, class Out, class Combine>
auto rows_kernel(int lanes) {
  switch (lanes) {
    case 1:
      return &reduce_rows<In, kAccess, Out, Combine, LaneTeam<1>>;
    case 4:
      return &reduce_rows<In, kAccess, Out, Combine, LaneTeam<4>>;
    case 16:
      return &reduce_rows<In, kAccess, Out, Combine, LaneTeam<16>>;
    case 32:
      return &reduce_rows<In, kAccess, Out, Combine, LaneTeam<32>>;
    default:
      return &reduce_rows<In, kAccess, Out, Combine, BlockTeam>;
  }
}

template <class In, class Out, class Combine>
void launch_rows_of(const Level& p, cudaStream_t stream) {
  const int threads = p.row_lanes == kBlockLanes ? kBlockLanes : kLaneThreads;
  const int64_t tasks = p.outer * p.segments, at_once = threads / p.row_lanes;
  const bool whole = is_aligned(p.from) && p.in_outer % kPerChunk<In> == 0;  // segments are whole chunks
  with_access<In>(p.n, whole, [&]<Access kAccess>() {
    const auto kernel = rows_kernel<In, kAccess, Out, Combine>(p.row_lanes);
    kernel<<<blocks_for((tasks + at_once - 1) / at_once), threads, 0, stream>>>(p);
  });
}

template <class In, class Out, class Combine, int kColumns>
void launch_columns_by(const Level& p, cudaStream_t stream) {
  const int64_t units = (p.inner + kColumns - 1) / kColumns;
  const int lanes = power_of_two_up(std::min<int64_t>(units, kColumnLanes));
  const int64_t tasks = p.outer * p.segments * ((units + lanes - 1) / lanes);
  reduce_columns<In, Out, Combine, kColumns><<<blocks_for(tasks), dim3(lanes, p.column_rows), 0, stream>>>(p);
}

template <class In, class Out, class Combine>
void launch_columns_of(const Level& p, cudaStream_t stream) {
  constexpr int kWidth = kPerChunk<In>;
  const bool aligned = is_aligned(p.from) && p.inner % kWidth == 0 && p.in_n % kWidth == 0 && p.in_outer % kWidth == 0;
  if (aligned) {
    launch_columns_by<In, Out, Combine, kWidth>(p, stream);
  } else {
    launch_columns_by<In, Out, Combine, 1>(p, stream);
  }
}

template <class In, class Out>
void launch_level(const Level& p, bool max, cudaStream_t stream) {
  if (p.inner == 1) {
    max ? launch_rows_of<In, Out, Max>(p, stream) : launch_rows_of<In, Out, Add>(p, stream);
  } else {
    max ? launch_columns_of<In, Out, Max>(p, stream) : launch_columns_of<In, Out, Add>(p, stream);
  }
}

template <class T>
void launch_levels(const Call& c, const Plan& plan) {
  using C = ComputeOf<T>;
  const cudaStream_t stream = c.stream();
  const void* from = first_level(c).from;
  for (size_t i = 0; i < plan.levels.size(); ++i) {
    Level level = plan.levels[i];
    const bool is_first = i == 0, is_last = i + 1 == plan.levels.size();
    level.from = from;
    level.to = is_last ? rows_of<void*>(c, "y", element_of(c, "y")).data
                       : static_cast<std::byte*>(c.workspace()) + plan.partials[i];
    from = level.to;
    if (is_first && is_last) {
      launch_level<T, T>(level, plan.max, stream);
    } else if (is_first) {
      launch_level<T, C>(level, plan.max, stream);
    } else if (is_last) {
      launch_level<C, T>(level, plan.max, stream);
    } else {
      launch_level<C, C>(level, plan.max, stream);
    }
  }
}

const char* launch(const Call& c) {
  if (c.axis("outer") == 0 || c.axis("inner") == 0) return nullptr;
  with_element(element_of(c, "x"), [&]<class T>() { launch_levels<T>(c, c.plan<Plan>()); });
  return last_launch_error();
}

void describe(const Call& c, const Describe& emit) {
  const Plan& plan = c.plan<Plan>();
  const Level& first = plan.levels.front();
  if (first.inner > 1) {
    emit("algorithm", "down columns");
    emit("tile", std::to_string(first.column_rows) + " rows at a time");
  } else {
    emit("algorithm", "along rows");
    emit("tile", std::to_string(first.row_lanes) + " threads a row");
  }
  emit("reduction", std::to_string(plan.levels.size()) + " levels, segments of " + std::to_string(first.segment));
}

ASSAY_KERNEL(reduce, simt, .target = "cuda", .plan = plan, .workspace = workspace, .launch = launch,
             .describe = describe, .plan_contract = plan_contract,
             .contract = contract(ASSAY_ACC_F32, kLeastPromisedDepth))

}  // namespace
}  // namespace assay::simt
