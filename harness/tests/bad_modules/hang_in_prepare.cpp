// timeout: never finishes planning.
#include "base.h"
namespace {
const char* refuse(const assay::Call&) {
  for (volatile int forever = 1; forever != 0;) {
  }
  return nullptr;
}
const char* launch(const assay::Call&) { return nullptr; }
}  // namespace
ASSAY_KERNEL(reduce, bad, .refuse = refuse, .launch = launch, .contract = bad::kContract)
