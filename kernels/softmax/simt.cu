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
  int64_t kept_stripes;  // of a row that is walked along, in shared memory
};

// Of 16-bit elements by exp2, whose error is nothing beside the rounding of the result and which is one instruction.
// What would be below the normal numbers becomes 0.
template <class T>
inline constexpr bool kByExp2 = sizeof(T) == 2;

template <class T>
__device__ ComputeOf<T> exponential(ComputeOf<T> x) {
  if constexpr (kByExp2<T>) {
    float power;  // to 2 ulp (PTX ISA, ex2.approx)
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(Product()(x, 1.44269504088896341f)));
    return power;
  } else if constexpr (std::is_same_v<T, float>) {
    return expf(x);
  } else {
    return exp(x);
  }
}

// z of one chunk; -inf beyond the row. A mask of -inf hides x whatever it is. The product is rounded by itself where no
// mask is added, so that the maximum's own difference is 0.
template <class T, bool kMasked, class Place>
__device__ void logits(const Chunk<T>& x, const Chunk<T>& mask, ComputeOf<T> scale, const Place& place,
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
  place.fill_beyond(kLowest, z);
}

inline constexpr int kHeld = 4;

// Blocks that have to fit a multiprocessor together, for __launch_bounds__: lanes that hold few values hide the time
// that memory takes by being many.
template <class T, class Team, int kCount>
inline constexpr int kBlocks = Team::kMostThreads > kLaneThreads || kCount* kPerChunk<T> > 8 ? Team::kLeastBlocks
                               : sizeof(T) == 2                                              ? 12
                               : sizeof(T) == 4                                              ? 16
                                                                                             : 8;

template <class T, Access kAccess, bool kMasked, class Team, int kCount>
__global__ void __launch_bounds__(Team::kMostThreads, kBlocks<T, Team, kCount>) softmax_held(SoftmaxRows p) {
  using C = ComputeOf<T>;
  using Reader = RowReader<T, kAccess>;
  constexpr int kWidth = kPerChunk<T>;
  extern __shared__ __align__(16) std::byte stage[];
  Team team;
  const auto share = team.share();
  std::byte* const warp_stage = Team::kWholeWarps ? stage + threadIdx.x / 32 * 512 : nullptr;
  const C scale = static_cast<C>(p.scale);
  const int cols = static_cast<int>(p.cols);
  for (int64_t first = team.first_row(); first < p.rows; first += team.row_step()) {
    const bool is_own = first + team.row_in_warp() < p.rows;  // lanes without a row keep their neighbours company
    const int64_t row = is_own ? first + team.row_in_warp() : p.rows - 1;
    Chunk<T> x[kCount], mask[kCount];
    Reader(static_cast<const T*>(p.x.data) + row * p.x.stride, cols).load(share, 0, x, warp_stage);
    if constexpr (kMasked) {
      Reader(static_cast<const T*>(p.mask.data) + row * p.mask.stride, cols).load(share, 0, mask, warp_stage);
    }
    C z[kCount][kWidth], most[kCount];
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      logits<T, kMasked>(x[k], mask[k], scale, place_of<T, kAccess>(share, k, cols), z[k]);
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
    const C factor = C(1) / team.all(combine_pairwise(sums, Add()), Add());
    const RowWriter<T, kAccess> y(static_cast<T*>(p.y.data) + row * p.y.stride, is_own ? cols : 0, warp_stage);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
#pragma unroll
      for (int e = 0; e < kWidth; ++e) z[k][e] *= factor;
      y.store(share, k, narrow_all<T>(z[k]));
    }
  }
}

// A row that is walked along in steps of kWalked stripes. What fits into shared memory of the first walk need not be
// read again.
template <class T, Access kAccess, bool kMasked>
struct Walk {
  using C = ComputeOf<T>;
  using Reader = RowReader<T, kAccess>;
  const T *x, *mask;
  int64_t cols;
  C scale;
  Share<32> share;
  int64_t kept_stripes;
  Chunk<T>* kept;
  std::byte* warp_stage;

  struct Step {
    Chunk<T> x[kWalked<T>], mask[kWalked<T>];
  };
  __device__ int64_t begin_of(int64_t stripe) const { return stripe * share.size * kPerChunk<T>; }
  __device__ int left(int64_t stripe) const { return length_from(begin_of(stripe), cols); }
  __device__ bool is_kept(int64_t first) const { return first < kept_stripes; }  // of one step all or nothing
  __device__ Chunk<T>* kept_at(int64_t stripe) const { return kept + stripe * share.size + share.rank; }

  // The step of stripe `first` from global memory.
  __device__ void fetch(int64_t first, Step& step) const {
    Reader(x + begin_of(first), left(first)).load(share, 0, step.x, warp_stage);
    fetch_mask(first, step);
  }
  __device__ void keep(int64_t first, const Step& step) const {
    if (!is_kept(first)) return;
#pragma unroll
    for (int k = 0; k < kWalked<T>; ++k) {
      const uint32_t(&word)[4] = step.x[k].word;
      *reinterpret_cast<uint4*>(kept_at(first + k)) = make_uint4(word[0], word[1], word[2], word[3]);
    }
  }
  // The same again, x from where it was kept.
  __device__ void fetch_again(int64_t first, Step& step) const {
    if (!is_kept(first)) return fetch(first, step);
#pragma unroll
    for (int k = 0; k < kWalked<T>; ++k) step.x[k] = load_cached(reinterpret_cast<const T*>(kept_at(first + k)));
    fetch_mask(first, step);
  }
  __device__ void logits_of(int64_t first, const Step& step, C (&z)[kWalked<T>][kPerChunk<T>]) const {
#pragma unroll
    for (int k = 0; k < kWalked<T>; ++k) {
      logits<T, kMasked>(step.x[k], step.mask[k], scale, place_of<T, kAccess>(share, k, left(first)), z[k]);
    }
  }

 private:
  __device__ void fetch_mask(int64_t first, Step& step) const {
    if constexpr (kMasked) Reader(mask + begin_of(first), left(first)).load(share, 0, step.mask, warp_stage);
  }
};

template <class T, Access kAccess, bool kMasked>
__global__ void __launch_bounds__(kMostWalkThreads) softmax_walked(SoftmaxRows p) {
  using C = ComputeOf<T>;
  using Row = Walk<T, kAccess, kMasked>;
  using Step = typename Row::Step;
  constexpr int kWidth = kPerChunk<T>;
  extern __shared__ __align__(16) std::byte stage[];
  BlockTeam team;
  const auto share = team.share();
  std::byte* const warp_stage = stage + threadIdx.x / 32 * 512;
  const int64_t stripes = stripes_of<T>(p.cols, share.size);
  for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    const Row walk{static_cast<const T*>(p.x.data) + row * p.x.stride,
                   kMasked ? static_cast<const T*>(p.mask.data) + row * p.mask.stride : nullptr,
                   p.cols,
                   static_cast<C>(p.scale),
                   share,
                   p.kept_stripes,
                   reinterpret_cast<Chunk<T>*>(stage + blockDim.x / 32 * 512),
                   warp_stage};
    // All loops run as often for every thread: storing needs whole warps.
    C most = Max::identity<C>(), sum = 0;
    constexpr bool kAhead = !kMasked;  // of a step and its mask there is no room for two
    Step step, next;
    if (kAhead) walk.fetch(0, next);
    for (int64_t first = 0; first < stripes; first += kWalked<T>) {
      if constexpr (kAhead) {
        step = next;
        if (first + kWalked<T> < stripes) walk.fetch(first + kWalked<T>, next);
      } else {
        walk.fetch(first, step);
      }
      walk.keep(first, step);
      C z[kWalked<T>][kWidth], parts[kWalked<T>];
      walk.logits_of(first, step, z);
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
    const C factor = C(1) / team.all(sum * exponential<T>(most - base), Add());
    for (int64_t first = 0; first < stripes; first += kWalked<T>) {
      C z[kWalked<T>][kWidth];
      walk.fetch_again(first, step);
      walk.logits_of(first, step, z);
      T* const begin = static_cast<T*>(p.y.data) + row * p.y.stride + walk.begin_of(first);
      const RowWriter<T, kAccess> y(begin, walk.left(first), warp_stage);
#pragma unroll
      for (int k = 0; k < kWalked<T>; ++k) {
#pragma unroll
        for (int e = 0; e < kWidth; ++e) z[k][e] = exponential<T>(z[k][e] - max) * factor;
        y.store(share, k, narrow_all<T>(z[k]));
      }
    }
  }
}

constexpr assay_contract contract(int32_t accumulator, Depth depth, bool by_exp2, bool online) {
  return {.interface_version = 1,
          .owner = kOwner,
          .domain = "dtype in f64 f32 f16 bf16",
          .promises = kPromises,
          .arithmetic = {.accumulator = accumulator,
                         .depth_divisor = depth.divisor,
                         .depth_constant = depth.constant,
                         .split_k = 1,
                         .partial_type = accumulator,
                         .exp_kind = by_exp2 ? ASSAY_EXP_BASE2 : ASSAY_EXP_ACCURATE,
                         .rescales_online = online ? 1 : 0,
                         .flushes_subnormals = by_exp2 ? 1 : 0},
          .nan_policy = ASSAY_NAN_PROPAGATES};
}

std::shared_ptr<void> plan(const Call& c) {
  const Element element = element_of(c, "x");
  RowPlan plan = plan_rows(element, c.axis("cols"), kHeld);
  if (plan.way == Way::walk) keep_in_shared_memory(plan, c.axis("cols"), bytes_of(element));
  plan.contract = contract(accumulator_of(element), depth_of(plan), bytes_of(element) == 2, plan.way == Way::walk);
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

template <class T, Access kAccess, bool kMasked, class Team, int kCount>
auto kernel() {
  if constexpr (kCount == 0) {
    return &softmax_walked<T, kAccess, kMasked>;
  } else {
    return &softmax_held<T, kAccess, kMasked, Team, kCount>;
  }
}

const char* launch(const Call& c) {
  SoftmaxRows p = rows_in(c);
  const RowPlan& plan = c.plan<RowPlan>();
  p.kept_stripes = plan.kept_stripes;
  if (p.rows == 0 || p.cols == 0) return nullptr;
  const auto allows = [&](const auto& tensor) { return is_whole(tensor, plan.element); };
  const bool masked = p.mask.data != nullptr, whole = allows(p.x) && allows(p.mask) && allows(p.y);
  with_element(plan.element, [&]<class T>() {
    with_access<T>(p.cols, whole, [&]<Access kAccess>() {
      with_team<kHeld>(plan.way, [&]<class Team, int kCount>() {
        launch_rows(plan, p.rows, c.stream(),
                    masked ? kernel<T, kAccess, true, Team, kCount>() : kernel<T, kAccess, false, Team, kCount>(), p);
      });
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
             .plan_contract = contract_of_plan, .contract = contract(ASSAY_ACC_F32, kLeastPromisedDepth, true, true))

}  // namespace
}  // namespace assay::simt
