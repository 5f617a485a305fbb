// not loaded: for a target that does not exist.
#include "base.h"
namespace {
const char* launch(const assay::Call&) { return nullptr; }
}  // namespace
ASSAY_KERNEL(reduce, bad, .target = "cdua", .launch = launch, .contract = bad::kContract)
