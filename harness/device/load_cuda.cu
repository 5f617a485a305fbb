#include "device/load_cuda.cuh"

namespace assay::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 512;
constexpr int kKernels = 8;

__global__ void stream_through(float4* memory) {
  constexpr size_t kElements = kLoadBytes / sizeof(float4);
  for (size_t i = size_t{blockIdx.x} * kThreads + threadIdx.x; i < kElements; i += size_t{kBlocks} * kThreads) {
    float4 value = memory[i];
    value.x = value.x * 3 + 1;
    memory[i] = value;
  }
}

// A multiprocessor of today has room for several such blocks and leaves little beside them; each is gone in a moment.
constexpr int kShared = 32 << 10;  // bytes of a block
constexpr int kShortBlocks = 4096;

// All of a block's shared memory is NaN in any float type: what is read there before its own block wrote it, or after
// its own block ended, shows.
__global__ void fill_shared_memory(float4* memory) {
  extern __shared__ unsigned words[];
  volatile unsigned* const all = words;
  for (int i = static_cast<int>(threadIdx.x); i < kShared / 4; i += kThreads) all[i] = ~0U;
  __syncthreads();
  if (all[(threadIdx.x + 1) % kThreads] != ~0U) memory[threadIdx.x].x = 0;  // never: only, the stores must be seen
}

}  // namespace

cudaError_t queue_load(float4* memory, cudaStream_t stream) {
  // Beside a block that has its multiprocessor set up for little shared memory, no large one fits.
  const cudaError_t result = cudaFuncSetAttribute(fill_shared_memory, cudaFuncAttributePreferredSharedMemoryCarveout,
                                                  cudaSharedmemCarveoutMaxShared);
  if (result != cudaSuccess) return result;
  for (int i = 0; i < kKernels; ++i) {
    fill_shared_memory<<<kShortBlocks, kThreads, kShared, stream>>>(memory);
    stream_through<<<kBlocks, kThreads, 0, stream>>>(memory);
  }
  return cudaGetLastError();
}

}  // namespace assay::cuda
