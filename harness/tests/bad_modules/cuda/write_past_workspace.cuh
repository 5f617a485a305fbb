// memory: writes one byte beyond its workspace.

namespace {
__global__ void kernel(bad::Problem p, char* workspace) {
  if (bad::has_element(p, bad::thread())) bad::element(p, bad::thread()) = bad::maximum(p, bad::thread());
  if (bad::thread() == 0) workspace[100] = 1;
}
BAD_LAUNCH_WITH_WORKSPACE(kernel, char)
assay_workspace workspace(const assay::Call&) { return {.bytes = 100, .alignment = 64, .init = ASSAY_WORKSPACE_ANY}; }
}  // namespace
BAD_KERNEL_WITH_WORKSPACE(workspace, launch)
