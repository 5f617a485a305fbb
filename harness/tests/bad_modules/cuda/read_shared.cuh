// wrong: multiplies by 0 what its block never wrote of its shared memory, which is right while that is finite.

namespace {
__global__ void kernel(bad::Problem p) {
  __shared__ float tile[2 * bad::kThreads];
  const int64_t i = bad::thread();
  tile[threadIdx.x] = bad::has_element(p, i) ? bad::maximum(p, i) : 0;
  const float rest = *static_cast<volatile float*>(&tile[bad::kThreads + threadIdx.x]) * 0;
  if (bad::has_element(p, i)) bad::element(p, i) = rest == 0 ? tile[threadIdx.x] : rest;
}
BAD_LAUNCH(kernel)
}  // namespace
BAD_KERNEL(launch)
