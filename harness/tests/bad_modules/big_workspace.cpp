// contract: asks for more workspace than its contract's limit.
#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  return nullptr;
}
assay_workspace workspace(const assay::Call&) { return {.bytes = 4096, .alignment = 64, .init = ASSAY_WORKSPACE_ANY}; }
}  // namespace
ASSAY_KERNEL(reduce, bad, .workspace = workspace, .launch = launch, .contract = bad::kContract)
