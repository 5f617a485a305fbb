// pass: takes a workspace that it writes before it reads.
#include "base.h"
namespace {
constexpr assay_contract with_workspace() {
  assay_contract contract = bad::kContract;
  contract.workspace_limit = 4096;
  return contract;
}
const char* launch(const assay::Call& c) {
  *static_cast<float*>(c.workspace()) = 0;
  bad::reduce(c);
  return nullptr;
}
assay_workspace workspace(const assay::Call&) { return {.bytes = 64, .alignment = 4, .init = ASSAY_WORKSPACE_ANY}; }
}  // namespace
ASSAY_KERNEL(reduce, bad, .workspace = workspace, .launch = launch, .contract = with_workspace())
