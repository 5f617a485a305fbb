// contract: launch waits for its own work.

namespace {
const char* launch(const assay::Call& c) {
  const char* error = bad::launch_right(c);
  return cudaStreamSynchronize(c.stream()) == cudaSuccess ? error : "lost";
}
}  // namespace
BAD_KERNEL(launch)
