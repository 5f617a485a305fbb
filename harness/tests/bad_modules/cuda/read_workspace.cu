// memory under initcheck: reads its workspace before it has written there, and makes nothing of it.
#include "base.cuh"

namespace {
constexpr assay_contract with_workspace() {
  assay_contract contract = bad::kContract;
  contract.workspace_limit = 4096;
  return contract;
}
__global__ void kernel(bad::Problem p, const volatile float* workspace) {
  if (!bad::has_element(p, bad::thread())) return;
  bad::element(p, bad::thread()) = bad::maximum(p, bad::thread());
  const float found = workspace[bad::thread() % 16];
  if (found == 12345.678f) bad::element(p, bad::thread()) = found;
}
const char* launch(const assay::Call& c) {
  const bad::Problem p = bad::problem(c);
  kernel<<<bad::blocks_for(p), bad::kThreads, 0, static_cast<cudaStream_t>(c.stream())>>>(
      p, static_cast<const float*>(c.workspace()));
  return assay::last_launch_error();
}
assay_workspace workspace(const assay::Call&) { return {.bytes = 64, .alignment = 64, .init = ASSAY_WORKSPACE_ANY}; }
}  // namespace
ASSAY_KERNEL(reduce, bad, .target = "cuda", .workspace = workspace, .launch = launch, .contract = with_workspace())
