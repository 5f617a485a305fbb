// contract: refuses what its domain claims.
#include "base.h"
namespace {
const char* refuse(const assay::Call&) { return "not today"; }
const char* launch(const assay::Call&) { return nullptr; }
}  // namespace
ASSAY_KERNEL(reduce, bad, .refuse = refuse, .launch = launch, .contract = bad::kContract)
