#include "core/cuda.cuh"
#include "measure/sentinel_cuda.h"

namespace assay {
namespace {

constexpr int kLinks = 40'000;  // of about four cycles each

__global__ void chain(float seed, float* never) {
  float x = seed + static_cast<float>(threadIdx.x);
  for (int i = 0; i < kLinks; ++i) x = fmaf(x, 0.999f, 0.5f);
  if (x < 0) *never = x;  // x tends to 500: the chain is needed, the pointer is not
}

}  // namespace

void queue_sentinel_chain(void* stream) {
  int device = 0, multiprocessors = 0;
  require_cuda(cudaGetDevice(&device), "cudaGetDevice");
  require_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
               "cudaDeviceGetAttribute");
  chain<<<multiprocessors, 128, 0, static_cast<cudaStream_t>(stream)>>>(1.0f, nullptr);
  require_cuda(cudaGetLastError(), "its launch");
}

SentinelCopy::SentinelCopy() {
  require_cuda(cudaMalloc(&from_, kBytes), "cudaMalloc");
  if (const cudaError_t result = cudaMalloc(&to_, kBytes); result != cudaSuccess) {
    (void)cudaFree(from_);
    require_cuda(result, "cudaMalloc");
  }
  require_cuda(cudaMemset(from_, 1, kBytes), "cudaMemset");
}

SentinelCopy::~SentinelCopy() {
  (void)cudaFree(to_);
  (void)cudaFree(from_);
}

void SentinelCopy::queue(void* stream) const {
  require_cuda(cudaMemcpyAsync(to_, from_, kBytes, cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(stream)),
               "a copy");
}

}  // namespace assay
