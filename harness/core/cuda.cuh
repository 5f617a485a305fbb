// What the harness and the oracles need of the CUDA runtime.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/error.h"

namespace assay {

// Throws Error with the runtime's words; NotGiven, which the next call is not told of, for that.
inline void require_cuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  const std::string text = std::string(what) + ": " + cudaGetErrorName(status) + ": " + cudaGetErrorString(status);
  if (status != cudaErrorMemoryAllocation) throw Error(text);
  (void)cudaGetLastError();
  throw NotGiven(text);
}
// To be called after each <<<>>>.
inline void require_launched(const char* what) { require_cuda(cudaGetLastError(), what); }

inline cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }

inline constexpr int kThreads = 256;  // of a block, where nothing speaks for another number

// Blocks for a loop over n items that strides over the whole grid.
inline unsigned blocks_for(int64_t n, int threads = kThreads) {
  constexpr int64_t kMost = 1 << 16;
  return static_cast<unsigned>(std::clamp<int64_t>((n + threads - 1) / threads, 1, kMost));
}

}  // namespace assay
