// nondeterministic under racecheck: a warp reads what another wrote, with no barrier between, and makes nothing of it.

namespace {
__global__ void kernel(bad::Problem p) {
  __shared__ float best[bad::kThreads];
  const int64_t i = bad::thread();
  best[threadIdx.x] = bad::has_element(p, i) ? bad::maximum(p, i) : 0;
  const float other = *static_cast<volatile float*>(&best[(threadIdx.x + 32) % bad::kThreads]);
  if (bad::has_element(p, i)) bad::element(p, i) = other == 12345.678f ? other : best[threadIdx.x];
}
BAD_LAUNCH(kernel)
}  // namespace
BAD_KERNEL(launch)
