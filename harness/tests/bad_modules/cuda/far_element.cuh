// wrong: one element beyond the reach of 32 bits is off.

namespace {
__global__ void kernel(bad::Problem p) {
  const int64_t i = bad::thread();
  if (!bad::has_element(p, i)) return;
  const float best = bad::maximum(p, i);
  bad::element(p, i) = i == (int64_t{1} << 31) + 77 ? best + 1 : best;
}
BAD_LAUNCH(kernel)
}  // namespace
BAD_KERNEL(launch)
