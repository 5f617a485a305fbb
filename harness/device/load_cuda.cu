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

}  // namespace

cudaError_t queue_load(float4* memory, cudaStream_t stream) {
  for (int i = 0; i < kKernels; ++i) stream_through<<<kBlocks, kThreads, 0, stream>>>(memory);
  return cudaGetLastError();
}

}  // namespace assay::cuda
