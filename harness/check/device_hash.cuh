// Digests of chunks (hash.h) on a device: a block has one in shared memory, and its first warp makes the digest.
#pragma once

#include "check/hash.h"
#include "check/xxh64.h"

namespace assay {

// XXH64 of `bytes` in shared memory, in words as xxh64.h wants them. To be called by a whole warp.
__device__ inline uint64_t digest_of_shared(const uint64_t* words, uint64_t bytes, uint64_t seed) {
  const uint64_t mine =
      xxh64::accumulator(static_cast<int>(threadIdx.x % xxh64::kLanes), words, bytes, seed);  // eight times over
  uint64_t sums[xxh64::kLanes];
  for (int lane = 0; lane < xxh64::kLanes; ++lane) sums[lane] = __shfl_sync(~0u, mine, lane);
  return xxh64::digest(sums, words, bytes, seed);
}

}  // namespace assay
