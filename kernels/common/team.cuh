// The threads that work on one row together, part of a warp, a warp or a block, and how their values are combined.
// Every tree is fixed by the number of threads.
#pragma once

#include <assay/kernel.h>

#include <cstdint>

#include "common/chunk.cuh"

namespace assay::simt {

struct Add {
  template <class C>
  static __device__ C identity() {
    return 0;
  }
  __device__ float operator()(float a, float b) const { return __fadd_rn(a, b); }
  __device__ double operator()(double a, double b) const { return __dadd_rn(a, b); }
};

// Rounded by itself, never contracted.
struct Product {
  __device__ float operator()(float a, float b) const { return __fmul_rn(a, b); }
  __device__ double operator()(double a, double b) const { return __dmul_rn(a, b); }
};

// The larger; NaN if either is.
struct Max {
  template <class C>
  static __device__ C identity() {
    return -kInfinity<C>;
  }
  __device__ float operator()(float a, float b) const {
    float larger;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
    return larger;
  }
  __device__ double operator()(double a, double b) const { return a >= b || a != a ? a : b; }
};

template <int kCount, class C, class Combine>
__device__ C combine_pairwise(const C (&values)[kCount], Combine combine) {
  static_assert((kCount & (kCount - 1)) == 0);
  C tree[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) tree[i] = values[i];
#pragma unroll
  for (int half = kCount / 2; half > 0; half /= 2) {
#pragma unroll
    for (int i = 0; i < half; ++i) tree[i] = combine(tree[i], tree[i + half]);
  }
  return tree[0];
}

template <int kLanes, class C, class Combine>
__device__ C combine_lanes(C value, Combine combine) {
#pragma unroll
  for (int apart = kLanes / 2; apart > 0; apart /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, apart));
  }
  return value;
}

// kLanes threads, 32 / kLanes rows a warp. The rows of a warp are consecutive.
template <int kLanes>
struct LaneTeam {
  static constexpr int kMostThreads = 128, kLeastBlocks = 8;  // for __launch_bounds__
  static constexpr bool kWholeWarps = kLanes == 32;
  __device__ Share<kLanes> share() const { return {static_cast<int>(threadIdx.x % kLanes), kLanes}; }
  __device__ int64_t first_row() const {  // of the warp
    return (int64_t{blockIdx.x} * (blockDim.x / 32) + threadIdx.x / 32) * (32 / kLanes);
  }
  __device__ int64_t row_step() const { return int64_t{gridDim.x} * (blockDim.x / 32) * (32 / kLanes); }
  __device__ int row_in_warp() const { return threadIdx.x % 32 / kLanes; }
  template <class C, class Combine>
  __device__ C all(C value, Combine combine) {
    return combine_lanes<kLanes>(value, combine);
  }
};

// Values of one warp each meet in shared memory. Two places take turns, so that one barrier a combination is enough:
// before a place is written again everybody has passed the barrier of the other one.
struct BlockTeam {
  static constexpr int kMostThreads = 512, kLeastBlocks = 2;
  static constexpr bool kWholeWarps = true;
  __device__ Share<32> share() const { return {static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)}; }
  __device__ int64_t first_row() const { return blockIdx.x; }
  __device__ int64_t row_step() const { return gridDim.x; }
  __device__ int row_in_warp() const { return 0; }
  template <class C, class Combine>
  __device__ C all(C value, Combine combine) {
    __shared__ C places[2][32];
    C(&place)[32] = places[turn_];
    turn_ ^= 1;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    value = combine_lanes<32>(value, combine);
    if (lane == 0) place[warp] = value;
    __syncthreads();
    const int warps = static_cast<int>(blockDim.x / 32);
    return combine_lanes<32>(lane < warps ? place[lane] : Combine::template identity<C>(), combine);
  }

 private:
  int turn_ = 0;
};

}  // namespace assay::simt
