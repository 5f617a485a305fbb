// timeout: a kernel that never ends.

namespace {
__global__ void kernel(bad::Problem p) {
  if (bad::has_element(p, bad::thread())) bad::element(p, bad::thread()) = bad::maximum(p, bad::thread());
  while (*reinterpret_cast<const volatile float*>(p.x) < 1e38f) __nanosleep(1000);
}
BAD_LAUNCH(kernel)
}  // namespace
BAD_KERNEL(launch)
