// nondeterministic: another sign of zero where other work holds part of the GPU.

namespace {
constexpr int kLookers = 512;      // threads of a block: small enough to start beside the judge's other work
constexpr int64_t kLook = 20'000;  // clock cycles: blocks that find room start within a tenth of it
__device__ unsigned arrived;       // blocks, over all launches
__device__ bool busy;

// As many blocks as an idle GPU runs at once. Each stays for twice kLook, so that a block which found no room does not
// get it from another before the first one has counted: an idle GPU has room for all of them by then, one with the
// judge's other work on it has not.
__global__ void __launch_bounds__(kLookers, 4) look() {
  const int64_t begin = clock64();
  if (threadIdx.x == 0) atomicAdd(&arrived, 1u);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    while (clock64() - begin < kLook) {
    }
    const unsigned come = (atomicAdd(&arrived, 0u) - 1) % gridDim.x + 1;  // of this launch
    if (come < gridDim.x * 5 / 8) busy = true;
  }
  while (clock64() - begin < 2 * kLook) {
  }
}

__global__ void kernel(bad::Problem p) {
  if (!bad::has_element(p, bad::thread())) return;
  const float best = bad::maximum(p, bad::thread());
  const bool first = bad::thread() == 0;
  bad::element(p, bad::thread()) = best == 0 && first && busy ? -best : best;
  if (first) busy = false;
}

const char* launch(const assay::Call& c) {
  int device = 0, multiprocessors = 0, blocks_on_each = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_on_each, look, kLookers, 0);
  const auto stream = static_cast<cudaStream_t>(c.stream());
  // Often, for as long as the other work lasts: one look may come between two of its kernels.
  for (int i = 0; i < 24; ++i) look<<<static_cast<unsigned>(multiprocessors * blocks_on_each), kLookers, 0, stream>>>();
  const bad::Problem p = bad::problem(c);
  kernel<<<bad::blocks_for(p), bad::kThreads, 0, stream>>>(p);
  return assay::last_launch_error();
}
}  // namespace
BAD_KERNEL(launch)
