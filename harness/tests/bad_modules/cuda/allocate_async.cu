// contract: takes scratch memory in the stream's order.
#include "base.cuh"

namespace {
const char* launch(const assay::Call& c) {
  void* memory = nullptr;
  if (cudaMallocAsync(&memory, 1000, c.stream()) != cudaSuccess) return "no memory";
  const char* error = bad::launch_right(c);
  cudaFreeAsync(memory, c.stream());
  return error;
}
}  // namespace
BAD_KERNEL(launch)
