// nondeterministic: the sign of a zero follows the address.

namespace {
__global__ void kernel(bad::Problem p) {
  if (!bad::has_element(p, bad::thread())) return;
  const float best = bad::maximum(p, bad::thread());
  const bool at_start = reinterpret_cast<uintptr_t>(p.y) % (1 << 21) == 0;
  bad::element(p, bad::thread()) = best == 0 && at_start ? -best : best;
}
BAD_LAUNCH(kernel)
}  // namespace
BAD_KERNEL(launch)
