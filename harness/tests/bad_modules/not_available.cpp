// unsupported: this machine lacks what it needs, and it says what.
#include "base.h"
namespace {
const char* unavailable() { return "needs a quantum computer"; }
const char* launch(const assay::Call&) { return nullptr; }
}  // namespace
ASSAY_KERNEL(reduce, bad, .launch = launch, .unavailable = unavailable, .contract = bad::kContract)
