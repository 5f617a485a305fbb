// memory: writes one byte beyond its workspace.
#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  static_cast<volatile char*>(c.workspace())[100] = 1;
  return nullptr;
}
assay_workspace workspace(const assay::Call&) { return {.bytes = 100, .alignment = 64, .init = ASSAY_WORKSPACE_ANY}; }
}  // namespace
BAD_KERNEL_WITH_WORKSPACE(workspace, launch)
