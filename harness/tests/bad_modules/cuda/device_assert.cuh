// crashed: an assertion in the kernel fails, after which the context answers nothing else.

namespace {
__global__ void kernel(bad::Problem p) {
  if (bad::has_element(p, bad::thread())) bad::element(p, bad::thread()) = bad::maximum(p, bad::thread());
  assert(p.outer < 0);
}
BAD_LAUNCH(kernel)
}  // namespace
BAD_KERNEL(launch)
