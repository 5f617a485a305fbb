// nondeterministic: the sign of a zero is another one while earlier work waits on the stream.

namespace {
__global__ void kernel(bad::Problem p, bool waits) {
  if (!bad::has_element(p, bad::thread())) return;
  const float best = bad::maximum(p, bad::thread());
  bad::element(p, bad::thread()) = best == 0 && waits ? -best : best;
}
const char* launch(const assay::Call& c) {
  const bad::Problem p = bad::problem(c);
  const auto stream = static_cast<cudaStream_t>(c.stream());
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaStreamIsCapturing(stream, &status);
  const bool waits = status == cudaStreamCaptureStatusNone && cudaStreamQuery(stream) == cudaErrorNotReady;
  (void)cudaGetLastError();  // not ready is no error
  kernel<<<bad::blocks_for(p), bad::kThreads, 0, stream>>>(p, waits);
  return assay::last_launch_error();
}
}  // namespace
BAD_KERNEL(launch)
