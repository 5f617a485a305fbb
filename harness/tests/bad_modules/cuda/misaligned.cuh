// crashed: loads 8 bytes at once from an address that is no multiple of 8.

namespace {
__global__ void kernel(bad::Problem p) {
  if (!bad::has_element(p, bad::thread())) return;
  const auto odd = reinterpret_cast<uintptr_t>(p.x) / 8 * 8 + 4;
  const double loaded = *reinterpret_cast<const volatile double*>(odd);
  bad::element(p, bad::thread()) = loaded == 1e300 ? 0 : bad::maximum(p, bad::thread());
}
BAD_LAUNCH(kernel)
}  // namespace
BAD_KERNEL(launch)
