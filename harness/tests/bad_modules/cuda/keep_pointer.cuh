// memory: writes next time through a pointer it kept.

namespace {
__global__ void kernel(bad::Problem p, float* kept) {
  if (bad::has_element(p, bad::thread())) bad::element(p, bad::thread()) = bad::maximum(p, bad::thread());
  if (kept != nullptr) *kept = 0;
}
const char* launch(const assay::Call& c) {
  static float* kept = nullptr;
  const bad::Problem p = bad::problem(c);
  kernel<<<bad::blocks_for(p), bad::kThreads, 0, static_cast<cudaStream_t>(c.stream())>>>(p,
                                                                                          kept == p.y ? nullptr : kept);
  kept = p.y;
  return assay::last_launch_error();
}
}  // namespace
BAD_KERNEL(launch)
