// pass: takes a workspace that it writes before it reads.
#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  *static_cast<float*>(c.workspace()) = 0;
  bad::reduce(c);
  return nullptr;
}
assay_workspace workspace(const assay::Call&) { return {.bytes = 64, .alignment = 4, .init = ASSAY_WORKSPACE_ANY}; }
}  // namespace
BAD_KERNEL_WITH_WORKSPACE(workspace, launch)
