// nondeterministic: the sign of a zero is another one on another stream than the first.

namespace {
__global__ void kernel(bad::Problem p, bool other) {
  if (!bad::has_element(p, bad::thread())) return;
  const float best = bad::maximum(p, bad::thread());
  bad::element(p, bad::thread()) = best == 0 && other ? -best : best;
}
const char* launch(const assay::Call& c) {
  static const void* const first = c.stream();
  const bad::Problem p = bad::problem(c);
  kernel<<<bad::blocks_for(p), bad::kThreads, 0, static_cast<cudaStream_t>(c.stream())>>>(p, c.stream() != first);
  return assay::last_launch_error();
}
}  // namespace
BAD_KERNEL(launch)
