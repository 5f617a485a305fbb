// memory: asks for more threads than a block can have and does not look whether it was started.

namespace {
const char* launch(const assay::Call& c) {
  const bad::Problem p = bad::problem(c);
  bad::reduce<<<bad::blocks_for(p), 4096, 0, static_cast<cudaStream_t>(c.stream())>>>(p);
  (void)cudaGetLastError();
  return nullptr;
}
}  // namespace
BAD_KERNEL(launch)
