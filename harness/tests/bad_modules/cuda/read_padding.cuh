// memory: reads the bytes after its input, within the page that holds it, and makes nothing of them.

namespace {
__global__ void kernel(bad::Problem p) {
  if (!bad::has_element(p, bad::thread())) return;
  bad::element(p, bad::thread()) = bad::maximum(p, bad::thread());
  const float* end = p.x + p.outer * p.n * p.inner;
  const float beyond = *static_cast<const volatile float*>(end + bad::thread() % 4);
  if (beyond == 12345.678f) bad::element(p, bad::thread()) = beyond;
}
BAD_LAUNCH(kernel)
}  // namespace
BAD_KERNEL(launch)
