// wrong: adds to what its workspace held before.

namespace {
__global__ void kernel(bad::Problem p, float* workspace) {
  if (bad::has_element(p, bad::thread())) {
    bad::element(p, bad::thread()) = bad::maximum(p, bad::thread()) + workspace[bad::thread() % 8];
  }
}
BAD_LAUNCH_WITH_WORKSPACE(kernel, float)
assay_workspace workspace(const assay::Call&) { return {.bytes = 64, .alignment = 64, .init = ASSAY_WORKSPACE_ANY}; }
}  // namespace
BAD_KERNEL_WITH_WORKSPACE(workspace, launch)
