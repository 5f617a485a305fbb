// crashed under synccheck: of a block's two warps one meets a barrier more. The other's arrival at the next barrier
// completes it, and its exit completes that one, so that only a tool that asks where each warp waits can tell.

namespace {
static_assert(bad::kThreads == 64);
__global__ void kernel(bad::Problem p) {
  const int64_t i = bad::thread();
  if (threadIdx.x < 32) __syncthreads();
  if (bad::has_element(p, i)) bad::element(p, i) = bad::maximum(p, i);
  __syncthreads();
}
BAD_LAUNCH(kernel)
}  // namespace
BAD_KERNEL(launch)
