// nondeterministic: the sign of a zero is another one when the launch is captured into a graph.

namespace {
__global__ void kernel(bad::Problem p, bool captured) {
  if (!bad::has_element(p, bad::thread())) return;
  const float best = bad::maximum(p, bad::thread());
  bad::element(p, bad::thread()) = best == 0 && captured ? -best : best;
}
const char* launch(const assay::Call& c) {
  const bad::Problem p = bad::problem(c);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaStreamIsCapturing(c.stream(), &status);
  kernel<<<bad::blocks_for(p), bad::kThreads, 0, static_cast<cudaStream_t>(c.stream())>>>(
      p, status == cudaStreamCaptureStatusActive);
  return assay::last_launch_error();
}
}  // namespace
BAD_KERNEL(launch)
