// softmax, simt: z = scale x + mask, y = exp(z - max z) / sum exp(z - max z) along each row, on CUDA cores.
//
// A row is read once and held in registers by part of a warp, a warp or a block, whichever its length asks for. Longer
// rows are walked along by a block twice: online for maximum and sum, each thread rescaling its sum when its maximum
// grows, and again for the result.
#include <assay/kernel.h>

#include <cstdint>
#include <memory>

#include "common/row_plan.cuh"

namespace assay::simt {
namespace {

struct SoftmaxRows {
  Rows<const void*> x, mask;  // mask.data null: none
  Rows<void*> y;
  int64_t rows, cols;
  double scale;
  int64_t kept_chunks;  // of a row that is walked along, in shared memory
};

// Of 16-bit elements by exp2, whose error is nothing beside the rounding of the result and which takes half the time.
template <class T>
inline constexpr bool kByExp2 = sizeof(T) == 2;

template <class T>
__device__ ComputeOf<T> exponential(ComputeOf<T> x) {
  if constexpr (kByExp2<T>) {
    return exp2f(Product()(x, 1.44269504088896341f));
  } else if constexpr (std::is_same_v<T, float>) {
    return expf(x);
  } else {
    return exp(x);
  }
}

// z of one chunk; -inf beyond the row. A mask of -inf hides x whatever it is. The product is rounded by itself where no
// mask is added, so that the maximum's own difference is 0.
template <class T, bool kMasked>
__device__ void logits(const Chunk<T>& x, const Chunk<T>& mask, ComputeOf<T> scale, int64_t left,
                       ComputeOf<T> (&z)[kPerChunk<T>]) {
  using C = ComputeOf<T>;
  constexpr C kLowest = -kInfinity<C>;
  C values[kPerChunk<T>], masks[kPerChunk<T>];
  widen_all(x, values);
  if constexpr (kMasked) widen_all(mask, masks);
#pragma unroll
  for (int e = 0; e < kPerChunk<T>; ++e) {
    if constexpr (kMasked) {
      z[e] = masks[e] == kLowest ? kLowest : std::fma(values[e], scale, masks[e]);
    } else {
      z[e] = Product()(values[e], scale);
    }
  }
  if (left < kPerChunk<T>) {
#pragma unroll
    for (int e = 0; e < kPerChunk<T>; ++e) {
      if (e >= left) z[e] = kLowest;
    }
  }
}

inline constexpr int kHeld = 4;

template <class T, Access kAccess, bool kMasked, class Team, int kCount>
__global__ void __launch_bounds__(Team::kMostThreads, Team::kLeastBlocks) softmax_held(SoftmaxRows p) {
  using C = ComputeOf<T>;
  using Reader = RowReader<T, kAccess>;
  constexpr int kWidth = kPerChunk<T>;
  extern __shared__ __align__(16) std::byte stage[];
  Team team;
  const int rank = team.rank(), size = team.size();
  std::byte* const warp_stage = Team::kWholeWarps ? stage + threadIdx.x / 32 * 512 : nullptr;
  const C scale = static_cast<C>(p.scale);
  for (int64_t first = team.first_row(); first < p.rows; first += team.row_step()) {
    const bool is_own = first + team.row_in_warp() < p.rows;  // lanes without a row keep their neighbours company
    const int64_t row = is_own ? first + team.row_in_warp() : p.rows - 1;
    Chunk<T> x[kCount], mask[kCount];
    Reader(static_cast<const T*>(p.x.data) + row * p.x.stride, p.cols).load(rank, size, x, warp_stage);
    if constexpr (kMasked) {
      Reader(static_cast<const T*>(p.mask.data) + row * p.mask.stride, p.cols).load(rank, size, mask, warp_stage);
    }
    C z[kCount][kWidth], most[kCount];
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      logits<T, kMasked>(x[k], mask[k], scale, p.cols - static_cast<int64_t>(rank + k * size) * kWidth, z[k]);
      most[k] = combine_pairwise(z[k], Max());
    }
    const C max = team.all(combine_pairwise(most, Max()), Max());
    C sums[kCount];
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
#pragma unroll
      for (int e = 0; e < kWidth; ++e) z[k][e] = exponential<T>(z[k][e] - max);
      sums[k] = combine_pairwise(z[k], Add());
    }
    const C share = C(1) / team.all(combine_pairwise(sums, Add()), Add());
    const RowWriter<T, kAccess> y(static_cast<T*>(p.y.data) + row * p.y.stride, is_own ? p.cols : 0, warp_stage);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
#pragma unroll
      for (int e = 0; e < kWidth; ++e) z[k][e] *= share;
      y.store(rank + k * size, narrow_all<T>(z[k]));
    }
  }
}

template <class T>
__device__ void store_kept(Chunk<T>* to, const Chunk<T>& chunk) {
  *reinterpret_cast<uint4*>(to) = make_uint4(chunk.word[0], chunk.word[1], chunk.word[2], chunk.word[3]);
}

// A row that is walked along in steps. What fits into shared memory of the first walk need not be read again.
template <class T, bool kMasked>
struct Walk {
  using C = ComputeOf<T>;
  using Step = Chunk<T>[kWalked<T>];
  RowReader<T, Access::any> x, mask;
  C scale;
  int64_t step, kept_chunks;
  Chunk<T>* kept;
  std::byte* warp_stage;

  // z of the chunks first, first + step, ...; kIsFirst: they have not been read before.
  template <bool kIsFirst>
  __device__ void load(int64_t first, C (&z)[kWalked<T>][kPerChunk<T>]) const {
    Step xs, masks;
    const bool is_kept = first < kept_chunks;  // of one step all or nothing
    if (is_kept && !kIsFirst) {
#pragma unroll
      for (int k = 0; k < kWalked<T>; ++k) xs[k] = load_cached(reinterpret_cast<const T*>(kept + first + k * step));
    } else {
      x.load(first, step, xs, warp_stage);
    }
    if (is_kept && kIsFirst) {
#pragma unroll
      for (int k = 0; k < kWalked<T>; ++k) store_kept(kept + first + k * step, xs[k]);
    }
    if constexpr (kMasked) mask.load(first, step, masks, warp_stage);
#pragma unroll
    for (int k = 0; k < kWalked<T>; ++k) {
      logits<T, kMasked>(xs[k], masks[k], scale, x.cols - (first + k * step) * kPerChunk<T>, z[k]);
    }
  }
};

template <class T, bool kMasked>
__global__ void __launch_bounds__(kMostWalkThreads) softmax_walked(SoftmaxRows p) {
  using C = ComputeOf<T>;
  constexpr int kWidth = kPerChunk<T>;
  extern __shared__ __align__(16) std::byte stage[];
  BlockTeam team;
  std::byte* const warp_stage = stage + threadIdx.x / 32 * 512;
  const int64_t chunks = (p.cols + kWidth - 1) / kWidth, step = team.size(), stride = kWalked<T> * step;
  for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    const T* mask = kMasked ? static_cast<const T*>(p.mask.data) + row * p.mask.stride : nullptr;
    const Walk<T, kMasked> walk{RowReader<T, Access::any>(static_cast<const T*>(p.x.data) + row * p.x.stride, p.cols),
                                RowReader<T, Access::any>(mask, p.cols),
                                static_cast<C>(p.scale),
                                step,
                                p.kept_chunks,
                                reinterpret_cast<Chunk<T>*>(stage + blockDim.x / 32 * 512),
                                warp_stage};
    // All loops run as often for every thread: storing needs whole warps.
    C most = Max::identity<C>(), sum = 0;
    for (int64_t begin = 0; begin < chunks; begin += stride) {
      C z[kWalked<T>][kWidth], parts[kWalked<T>];
      walk.template load<true>(begin + threadIdx.x, z);
#pragma unroll
      for (int k = 0; k < kWalked<T>; ++k) parts[k] = combine_pairwise(z[k], Max());
      const C larger = Max()(most, combine_pairwise(parts, Max()));
      const C base = larger == Max::identity<C>() ? C(0) : larger;  // everything hidden so far: exp gives 0
#pragma unroll
      for (int k = 0; k < kWalked<T>; ++k) {
#pragma unroll
        for (int e = 0; e < kWidth; ++e) z[k][e] = exponential<T>(z[k][e] - base);
        parts[k] = combine_pairwise(z[k], Add());
      }
      sum = std::fma(sum, exponential<T>(most - base), combine_pairwise(parts, Add()));
      most = larger;
    }
    const C max = team.all(most, Max());
    const C base = max == Max::identity<C>() ? C(0) : max;
    const C share = C(1) / team.all(sum * exponential<T>(most - base), Add());
    const RowWriter<T, Access::any> y(static_cast<T*>(p.y.data) + row * p.y.stride, p.cols, warp_stage);
    for (int64_t begin = 0; begin < chunks; begin += stride) {
      C z[kWalked<T>][kWidth];
      walk.template load<false>(begin + threadIdx.x, z);
#pragma unroll
      for (int k = 0; k < kWalked<T>; ++k) {
#pragma unroll
        for (int e = 0; e < kWidth; ++e) z[k][e] = exponential<T>(z[k][e] - max) * share;
        y.store(begin + threadIdx.x + k * step, narrow_all<T>(z[k]));
      }
    }
  }
}

constexpr assay_contract contract(int32_t accumulator, Depth depth, int32_t exp_kind, bool online) {
  return {.interface_version = 1,
          .owner = kOwner,
          .domain = "dtype in f64 f32 f16 bf16",
          .promises = kPromises,
          .arithmetic = {.accumulator = accumulator,
                         .depth_divisor = depth.divisor,
                         .depth_constant = depth.constant,
                         .split_k = 1,
                         .partial_type = accumulator,
                         .exp_kind = exp_kind,
                         .rescales_online = online ? 1 : 0},
          .nan_policy = ASSAY_NAN_PROPAGATES};
}

std::shared_ptr<void> plan(const Call& c) {
  const Element element = element_of(c, "x");
  RowPlan plan = plan_rows(element, c.axis("cols"), kHeld);
  if (plan.way == Way::walk) keep_in_shared_memory(plan, c.axis("cols"), bytes_of(element));
  plan.contract = contract(accumulator_of(element), depth_of(plan),
                           bytes_of(element) == 2 ? ASSAY_EXP_BASE2 : ASSAY_EXP_ACCURATE, plan.way == Way::walk);
  return std::make_shared<RowPlan>(plan);
}

SoftmaxRows rows_in(const Call& c) {
  const Element element = element_of(c, "x");
  SoftmaxRows p{};
  p.x = rows_of<const void*>(c, "x", element);
  if (c.word("mask") == "additive") p.mask = rows_of<const void*>(c, "mask", element);
  p.y = rows_of<void*>(c, "y", element);
  p.rows = c.axis("rows");
  p.cols = c.axis("cols");
  p.scale = c.number("scale");
  return p;
}

const char* refuse(const Call& c) {
  rows_in(c);
  return nullptr;
}

template <class T, bool kMasked, class Team, int kCount>
auto kernel([[maybe_unused]] bool whole) {
  if constexpr (kCount == 0) {
    return &softmax_walked<T, kMasked>;
  } else {
    // Measured: a block gains nothing by knowing.
    if constexpr (!std::is_same_v<Team, BlockTeam>) {
      if (whole) return &softmax_held<T, Access::whole, kMasked, Team, kCount>;
    }
    return &softmax_held<T, Access::any, kMasked, Team, kCount>;
  }
}

const char* launch(const Call& c) {
  SoftmaxRows p = rows_in(c);
  p.kept_chunks = c.plan<RowPlan>().kept_chunks;
  if (p.rows == 0 || p.cols == 0) return nullptr;
  const RowPlan& plan = c.plan<RowPlan>();
  const auto allows = [&](const auto& tensor) { return is_whole(tensor, p.cols, plan.element); };
  const bool masked = p.mask.data != nullptr, whole = allows(p.x) && allows(p.mask) && allows(p.y);
  with_element(plan.element, [&]<class T>() {
    with_team<kHeld>(plan.way, [&]<class Team, int kCount>() {
      launch_rows(plan, p.rows, c.stream(),
                  masked ? kernel<T, true, Team, kCount>(whole) : kernel<T, false, Team, kCount>(whole), p);
    });
  });
  return last_launch_error();
}

void describe(const Call& c, const Describe& emit) {
  const RowPlan& plan = c.plan<RowPlan>();
  describe_rows(plan, emit);
  emit("algorithm", plan.way == Way::walk ? "online, read twice" : "held in registers");
}

ASSAY_KERNEL(softmax, simt, .target = "cuda", .refuse = refuse, .plan = plan, .launch = launch, .describe = describe,
             .plan_contract = contract_of_plan,
             .contract = contract(ASSAY_ACC_F32, kLeastPromisedDepth, ASSAY_EXP_BASE2, true))

}  // namespace
}  // namespace assay::simt
