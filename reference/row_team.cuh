// Eight threads of a warp that compute a row together: see Alone in rows.h.
#pragma once

#include "core/cuda.cuh"
#include "reference/math/dd.h"
#include "reference/rows.h"

namespace assay {

class TeamOfEight {
 public:
  static constexpr int kSize = LaneSum<double>::kLanes;

  // A member's partial sum.
  template <class Real>
  class Sum {
   public:
    __device__ void add(int64_t, Real value) { sum_ = sum_ + value; }
    Real sum_ = 0.0;
  };

  // Blocks are one-dimensional and whole warps; a team's threads are neighbours and all come here.
  __device__ TeamOfEight() : rank_(threadIdx.x % kSize), mask_(0xffu << (threadIdx.x % 32 / kSize * kSize)) {}

  __device__ int64_t begin() const { return rank_; }
  __device__ static int64_t step() { return kSize; }

  // The order of LaneSum::total().
  template <class Real>
  __device__ Real total(const Sum<Real>& part) const {
    Real sum = part.sum_;
    for (int apart = 1; apart < kSize; apart *= 2) {
      const Real other = from_rank(sum, rank_ ^ apart);
      sum = (rank_ & apart) == 0 ? sum + other : other + sum;
    }
    return sum;
  }

  __device__ double largest(double x) const {
    for (int apart = 1; apart < kSize; apart *= 2) x = larger(x, from_rank(x, rank_ ^ apart));
    return x;
  }

  __device__ bool any(bool x) const { return (__ballot_sync(mask_, x) & mask_) != 0; }

  template <class Real>
  __device__ Real first_largest(Real x, int64_t at) const {
    for (int apart = 1; apart < kSize; apart *= 2) {
      const Real other = from_rank(x, rank_ ^ apart);
      const int64_t other_at = __shfl_sync(mask_, at, rank_ ^ apart, kSize);
      if (x < other || (!(other < x) && other_at < at)) {
        x = other;
        at = other_at;
      }
    }
    return x;
  }

 private:
  __device__ double from_rank(double x, int rank) const { return __shfl_sync(mask_, x, rank, kSize); }
  __device__ DoubleDouble from_rank(DoubleDouble x, int rank) const {
    return {from_rank(x.hi, rank), from_rank(x.lo, rank)};
  }

  int rank_;
  unsigned mask_;
};

}  // namespace assay
