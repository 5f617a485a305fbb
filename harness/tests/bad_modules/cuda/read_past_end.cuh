// memory: reads the element after its input, and makes no use of it.

namespace {
__global__ void kernel(bad::Problem p) {
  if (bad::has_element(p, bad::thread())) bad::element(p, bad::thread()) = bad::maximum(p, bad::thread());
  if (bad::thread() == 0) (void)reinterpret_cast<const volatile float*>(p.x)[p.outer * p.n * p.inner];
}
BAD_LAUNCH(kernel)
}  // namespace
BAD_KERNEL(launch)
