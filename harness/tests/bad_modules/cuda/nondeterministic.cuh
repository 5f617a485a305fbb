// nondeterministic: the sign of a zero follows the clock.

namespace {
__global__ void kernel(bad::Problem p) {
  if (!bad::has_element(p, bad::thread())) return;
  const float best = bad::maximum(p, bad::thread());
  bad::element(p, bad::thread()) = best == 0 && (clock64() >> 4) % 2 == 0 ? -best : best;
}
BAD_LAUNCH(kernel)
}  // namespace
BAD_KERNEL(launch)
