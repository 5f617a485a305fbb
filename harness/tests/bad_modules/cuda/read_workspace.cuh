// memory under initcheck: reads its workspace before it has written there, and makes nothing of it.

namespace {
__global__ void kernel(bad::Problem p, const volatile float* workspace) {
  if (!bad::has_element(p, bad::thread())) return;
  bad::element(p, bad::thread()) = bad::maximum(p, bad::thread());
  const float found = workspace[bad::thread() % 16];
  if (found == 12345.678f) bad::element(p, bad::thread()) = found;
}
BAD_LAUNCH_WITH_WORKSPACE(kernel, float)
assay_workspace workspace(const assay::Call&) { return {.bytes = 64, .alignment = 64, .init = ASSAY_WORKSPACE_ANY}; }
}  // namespace
BAD_KERNEL_WITH_WORKSPACE(workspace, launch)
