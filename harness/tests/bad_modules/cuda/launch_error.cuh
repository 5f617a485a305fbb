// crashed: asks for more threads than a block can have, and reports it.

namespace {
const char* launch(const assay::Call& c) {
  const bad::Problem p = bad::problem(c);
  bad::reduce<<<bad::blocks_for(p), 4096, 0, static_cast<cudaStream_t>(c.stream())>>>(p);
  return assay::last_launch_error();
}
}  // namespace
BAD_KERNEL(launch)
