// crashed: dies while planning.
#include <cstdlib>

#include "base.h"
namespace {
const char* refuse(const assay::Call&) { std::abort(); }
const char* launch(const assay::Call&) { return nullptr; }
}  // namespace
ASSAY_KERNEL(reduce, bad, .refuse = refuse, .launch = launch, .contract = bad::kContract)
