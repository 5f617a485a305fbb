// memory: writes the byte after its output.

namespace {
__global__ void kernel(bad::Problem p) {
  if (bad::has_element(p, bad::thread())) bad::element(p, bad::thread()) = bad::maximum(p, bad::thread());
  if (bad::thread() == 0) *reinterpret_cast<volatile char*>(bad::end_of(p)) = 1;
}
BAD_LAUNCH(kernel)
}  // namespace
BAD_KERNEL(launch)
