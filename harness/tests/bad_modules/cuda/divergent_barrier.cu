// crashed under synccheck: half a block waits at a barrier which the other half has left behind.
#include "base.cuh"

namespace {
__global__ void kernel(bad::Problem p) {
  const int64_t i = bad::thread();
  if (bad::has_element(p, i)) bad::element(p, i) = bad::maximum(p, i);
  if (threadIdx.x % 32 < 16) __syncthreads();
}
BAD_LAUNCH(kernel)
}  // namespace
BAD_KERNEL(launch)
