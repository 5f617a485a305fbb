// memory: changes its input.

namespace {
__global__ void kernel(bad::Problem p) {
  if (bad::has_element(p, bad::thread())) bad::element(p, bad::thread()) = bad::maximum(p, bad::thread());
  if (bad::thread() == 0) const_cast<float*>(p.x)[3] += 1;
}
BAD_LAUNCH(kernel)
}  // namespace
BAD_KERNEL(launch)
