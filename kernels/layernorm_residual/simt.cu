// layernorm_residual, simt: s = x + residual, y = (s - mean) rstd gamma + beta along each row, with the row's mean and
// rstd = 1 / sqrt(variance + eps), on CUDA cores.
//
// A row is read once and held in registers, so that the variance is the mean of squared deviations from the mean.
// Longer rows are walked along by a block three times: for the mean, the variance and the result.
#include <assay/kernel.h>

#include <cstdint>
#include <memory>

#include "common/row_plan.cuh"

namespace assay::simt {
namespace {

struct LayernormRows {
  Rows<const void*> x, residual, gamma, beta;  // beta.data null: none
  Rows<void*> y;
  void *mean, *rstd;                 // f32, or f64 where the element is
  int64_t mean_stride, rstd_stride;  // elements
  int64_t rows, cols;
  double eps;
  int64_t kept_stripes;  // of a row that is walked along, in shared memory
};

template <class T, int kCount>
__device__ void add_residual(const Chunk<T> (&x)[kCount], const Chunk<T> (&residual)[kCount],
                             ComputeOf<T> (&sum)[kCount][kPerChunk<T>]) {
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    ComputeOf<T> terms[kPerChunk<T>];
    widen_all(x[k], sum[k]);
    widen_all(residual[k], terms);
#pragma unroll
    for (int e = 0; e < kPerChunk<T>; ++e) sum[k][e] = Add()(sum[k][e], terms[e]);
  }
}

// Squares of the deviations; 0 beyond the row.
template <class T, class Place>
__device__ ComputeOf<T> squared_deviations(const ComputeOf<T> (&s)[kPerChunk<T>], ComputeOf<T> mean,
                                           const Place& place) {
  ComputeOf<T> squares[kPerChunk<T>];
#pragma unroll
  for (int e = 0; e < kPerChunk<T>; ++e) {
    const ComputeOf<T> deviation = s[e] - mean;
    squares[e] = Product()(deviation, deviation);
  }
  place.fill_beyond(ComputeOf<T>(0), squares);
  return combine_pairwise(squares, Add());
}

// gamma and beta, which every row reads, from element `begin` on.
template <class T, Access kAccess>
struct Affine {
  using C = ComputeOf<T>;
  const LayernormRows& p;
  int64_t begin;
  int left;

  template <int kLanes>
  __device__ Chunk<T> of(Share<kLanes> share, int stripe, const C (&s)[kPerChunk<T>], C mean, C rstd) const {
    const bool has_beta = p.beta.data != nullptr;
    C factors[kPerChunk<T>], terms[kPerChunk<T>], y[kPerChunk<T>];
    widen_all(load(p.gamma, share, stripe), factors);
    if (has_beta) widen_all(load(p.beta, share, stripe), terms);
#pragma unroll
    for (int e = 0; e < kPerChunk<T>; ++e) {
      const C standard = Product()(s[e] - mean, rstd);
      y[e] = has_beta ? std::fma(standard, factors[e], terms[e]) : Product()(standard, factors[e]);
    }
    return narrow_all<T>(y);
  }

 private:
  template <int kLanes>
  __device__ Chunk<T> load(const Rows<const void*>& from, Share<kLanes> share, int stripe) const {
    return RowReader<T, kAccess>(static_cast<const T*>(from.data) + begin, left).load_shared(share, stripe);
  }
};

template <class C>
__device__ void write_statistics(const LayernormRows& p, int64_t row, C mean, C rstd) {
  static_cast<C*>(p.mean)[row * p.mean_stride] = mean;
  static_cast<C*>(p.rstd)[row * p.rstd_stride] = rstd;
}

template <class T>
inline constexpr int kHeld = sizeof(T) == 2 ? 2 : 4;

// Blocks that have to fit a multiprocessor together, for __launch_bounds__: two aligned chunks need few registers,
// those of f16 more than those of bf16.
template <class T, Access kAccess, class Team, int kCount>
inline constexpr int kBlocks =
    kAccess == Access::whole&& std::is_same_v<Team, BlockTeam>&& kCount == 2 && !std::is_same_v<T, __half>
        ? 3
        : Team::kLeastBlocks;

template <class T, Access kAccess, class Team, int kCount>
__global__ void __launch_bounds__(Team::kMostThreads, kBlocks<T, kAccess, Team, kCount>)
    layernorm_held(LayernormRows p) {
  using C = ComputeOf<T>;
  using Reader = RowReader<T, kAccess>;
  constexpr int kWidth = kPerChunk<T>;
  extern __shared__ __align__(16) std::byte stage[];
  Team team;
  const auto share = team.share();
  const int cols = static_cast<int>(p.cols);
  const Affine<T, kAccess> affine{p, 0, cols};
  std::byte* const warp_stage = Team::kWholeWarps ? stage + threadIdx.x / 32 * 512 : nullptr;
  const C n = static_cast<C>(p.cols);
  for (int64_t first = team.first_row(); first < p.rows; first += team.row_step()) {
    const bool is_own = first + team.row_in_warp() < p.rows;  // lanes without a row keep their neighbours company
    const int64_t row = is_own ? first + team.row_in_warp() : p.rows - 1;
    Chunk<T> x[kCount], residual[kCount];
    Reader(static_cast<const T*>(p.x.data) + row * p.x.stride, cols).load(share, 0, x, warp_stage);
    Reader(static_cast<const T*>(p.residual.data) + row * p.residual.stride, cols).load(share, 0, residual, warp_stage);
    C s[kCount][kWidth], parts[kCount];
    add_residual<T>(x, residual, s);
#pragma unroll
    for (int k = 0; k < kCount; ++k) parts[k] = combine_pairwise(s[k], Add());
    const C mean = team.all(combine_pairwise(parts, Add()), Add()) / n;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      parts[k] = squared_deviations<T>(s[k], mean, place_of<T, kAccess>(share, k, cols));
    }
    const C variance = team.all(combine_pairwise(parts, Add()), Add()) / n;
    const C rstd = C(1) / std::sqrt(variance + static_cast<C>(p.eps));
    if (share.rank == 0 && is_own) write_statistics(p, row, mean, rstd);
    const RowWriter<T, kAccess> y(static_cast<T*>(p.y.data) + row * p.y.stride, is_own ? cols : 0, warp_stage);
#pragma unroll
    for (int k = 0; k < kCount; ++k) y.store(share, k, affine.of(share, k, s[k], mean, rstd));
  }
}

template <int kCount, class C>
__device__ void copy_values(const C* from, C* to) {
#pragma unroll
  for (int i = 0; i < kCount; i += 16 / sizeof(C)) {
    *reinterpret_cast<uint4*>(to + i) = *reinterpret_cast<const uint4*>(from + i);
  }
}

template <class T>
using Step = ComputeOf<T>[kWalked<T>][kPerChunk<T>];

template <class T, Access kAccess>
__global__ void __launch_bounds__(kMostWalkThreads) layernorm_walked(LayernormRows p) {
  using C = ComputeOf<T>;
  using Reader = RowReader<T, kAccess>;
  constexpr int kWidth = kPerChunk<T>;
  extern __shared__ __align__(16) std::byte stage[];
  std::byte* const warp_stage = stage + threadIdx.x / 32 * 512;
  C* const kept = reinterpret_cast<C*>(stage + blockDim.x / 32 * 512);
  BlockTeam team;
  const auto share = team.share();
  const C n = static_cast<C>(p.cols);
  const int64_t stripes = stripes_of<T>(p.cols, share.size);
  for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    // Calls with(begin, s of the stripes from element begin on), as often for every thread. What fits into shared
    // memory of the first walk need not be read again.
    const auto each_step = [&](bool is_first, auto with) {
      for (int64_t first = 0; first < stripes; first += kWalked<T>) {
        const bool is_kept = first < p.kept_stripes;  // of one step all or nothing
        C* const place = kept + (first * share.size + share.rank) * kWidth;
        const int apart = share.size * kWidth;
        const int64_t begin = first * apart;
        alignas(16) Step<T> s;  // moved as whole pieces of 16 bytes
        if (is_kept && !is_first) {
#pragma unroll
          for (int k = 0; k < kWalked<T>; ++k) copy_values<kWidth>(place + k * apart, s[k]);
        } else {
          Chunk<T> xs[kWalked<T>], residuals[kWalked<T>];
          const int left = length_from(begin, p.cols);
          Reader(static_cast<const T*>(p.x.data) + row * p.x.stride + begin, left).load(share, 0, xs, warp_stage);
          Reader(static_cast<const T*>(p.residual.data) + row * p.residual.stride + begin, left)
              .load(share, 0, residuals, warp_stage);
          add_residual<T>(xs, residuals, s);
        }
        if (is_kept && is_first) {
#pragma unroll
          for (int k = 0; k < kWalked<T>; ++k) copy_values<kWidth>(s[k], place + k * apart);
        }
        with(begin, s);
      }
    };
    C sum = 0;
    each_step(true, [&](int64_t, const Step<T>& s) {
      C parts[kWalked<T>];
#pragma unroll
      for (int k = 0; k < kWalked<T>; ++k) parts[k] = combine_pairwise(s[k], Add());
      sum += combine_pairwise(parts, Add());
    });
    const C mean = team.all(sum, Add()) / n;
    C squares = 0;
    each_step(false, [&](int64_t begin, const Step<T>& s) {
      C parts[kWalked<T>];
#pragma unroll
      for (int k = 0; k < kWalked<T>; ++k) {
        parts[k] = squared_deviations<T>(s[k], mean, place_of<T, kAccess>(share, k, length_from(begin, p.cols)));
      }
      squares += combine_pairwise(parts, Add());
    });
    const C variance = team.all(squares, Add()) / n;
    const C rstd = C(1) / std::sqrt(variance + static_cast<C>(p.eps));
    if (threadIdx.x == 0) write_statistics(p, row, mean, rstd);
    each_step(false, [&](int64_t begin, const Step<T>& s) {
      const int left = length_from(begin, p.cols);
      const Affine<T, kAccess> affine{p, begin, left};
      const RowWriter<T, kAccess> y(static_cast<T*>(p.y.data) + row * p.y.stride + begin, left, warp_stage);
#pragma unroll
      for (int k = 0; k < kWalked<T>; ++k) y.store(share, k, affine.of(share, k, s[k], mean, rstd));
    });
  }
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
          .nan_policy = ASSAY_NAN_PROPAGATES};
}

std::shared_ptr<void> plan(const Call& c) {
  const Element element = element_of(c, "x");
  const int held = bytes_of(element) == 2 ? kHeld<__half> : kHeld<float>;
  RowPlan plan = plan_rows(element, c.axis("cols"), held);
  if (plan.way == Way::walk)
    keep_in_shared_memory(plan, c.axis("cols"), bytes_of(element) == 2 ? 4 : bytes_of(element));
  plan.contract = contract(accumulator_of(element), depth_of(plan));
  return std::make_shared<RowPlan>(plan);
}

LayernormRows rows_in(const Call& c) {
  const Element element = element_of(c, "x");
  const Element statistic = element == Element::f64 ? Element::f64 : Element::f32;
  LayernormRows p{};
  p.x = rows_of<const void*>(c, "x", element);
  p.residual = rows_of<const void*>(c, "residual", element);
  p.gamma = rows_of<const void*>(c, "gamma", element);
  if (c.word("bias") == "yes") p.beta = rows_of<const void*>(c, "beta", element);
  p.y = rows_of<void*>(c, "y", element);
  p.mean = rows_of<void*>(c, "mean", statistic).data;
  p.rstd = rows_of<void*>(c, "rstd", statistic).data;
  p.mean_stride = c.tensor("mean").dl.strides[0];
  p.rstd_stride = c.tensor("rstd").dl.strides[0];
  p.rows = c.axis("rows");
  p.cols = c.axis("cols");
  p.eps = c.number("eps");
  return p;
}

const char* refuse(const Call& c) {
  rows_in(c);
  return nullptr;
}

template <class T, Access kAccess, class Team, int kCount>
auto kernel() {
  if constexpr (kCount == 0) {
    return &layernorm_walked<T, kAccess>;
  } else {
    return &layernorm_held<T, kAccess, Team, kCount>;
  }
}

const char* launch(const Call& c) {
  LayernormRows p = rows_in(c);
  if (p.rows == 0) return nullptr;
  const RowPlan& plan = c.plan<RowPlan>();
  p.kept_stripes = plan.kept_stripes;
  const auto allows = [&](const auto& tensor) { return is_whole(tensor, plan.element); };
  const bool whole = allows(p.x) && allows(p.residual) && allows(p.gamma) && allows(p.beta) && allows(p.y);
  with_element(plan.element, [&]<class T>() {
    constexpr int kCountOfBlock = kHeld<T>;
    with_access<T>(p.cols, whole, [&]<Access kAccess>() {
      with_team<kCountOfBlock>(plan.way, [&]<class Team, int kCount>() {
        launch_rows(plan, p.rows, c.stream(), kernel<T, kAccess, Team, kCount>(), p);
      });
    });
  });
  return last_launch_error();
}

void describe(const Call& c, const Describe& emit) {
  const RowPlan& plan = c.plan<RowPlan>();
  describe_rows(plan, emit);
  emit("algorithm", plan.way == Way::walk ? "two passes for the statistics, one for the result" : "held in registers");
}

ASSAY_KERNEL(layernorm_residual, simt, .target = "cuda", .refuse = refuse, .plan = plan, .launch = launch,
             .describe = describe, .plan_contract = contract_of_plan,
             .contract = contract(ASSAY_ACC_F32, kLeastPromisedDepth))

}  // namespace
}  // namespace assay::simt
