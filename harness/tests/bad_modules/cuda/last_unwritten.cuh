// memory: leaves the last element unwritten.

namespace {
__global__ void kernel(bad::Problem p) {
  if (bad::thread() + 1 < p.outer * p.inner) bad::element(p, bad::thread()) = bad::maximum(p, bad::thread());
}
BAD_LAUNCH(kernel)
}  // namespace
BAD_KERNEL(launch)
