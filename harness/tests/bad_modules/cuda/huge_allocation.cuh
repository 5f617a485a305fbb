// crashed: asks for more memory in launch than any GPU has, and reports that it got none.

namespace {
const char* launch(const assay::Call& c) {
  void* memory = nullptr;
  if (const cudaError_t error = cudaMalloc(&memory, size_t{1} << 46); error != cudaSuccess) {
    (void)cudaGetLastError();
    return cudaGetErrorString(error);
  }
  return bad::launch_right(c);
}
}  // namespace
BAD_KERNEL(launch)
