// memory: writes one byte beyond its workspace.
#include "base.h"
namespace {
constexpr assay_contract with_workspace() {
  assay_contract contract = bad::kContract;
  contract.workspace_limit = 4096;
  return contract;
}
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  static_cast<volatile char*>(c.workspace())[100] = 1;
  return nullptr;
}
assay_workspace workspace(const assay::Call&) { return {.bytes = 100, .alignment = 64, .init = ASSAY_WORKSPACE_ANY}; }
}  // namespace
ASSAY_KERNEL(reduce, bad, .workspace = workspace, .launch = launch, .contract = with_workspace())
