// crashed: executes a trap.

namespace {
__global__ void kernel(bad::Problem p) {
  if (bad::has_element(p, bad::thread())) bad::element(p, bad::thread()) = bad::maximum(p, bad::thread());
  if (bad::thread() == 3) __trap();
}
BAD_LAUNCH(kernel)
}  // namespace
BAD_KERNEL(launch)
