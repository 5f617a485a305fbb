// contract: what it makes for all its plans cannot be made, though the machine has all it needs.
#include <stdexcept>

#include "base.h"

namespace {
std::shared_ptr<void> create(assay_device) { throw std::runtime_error("the library did not start"); }
const char* launch(const assay::Call&) { return nullptr; }
}  // namespace
ASSAY_KERNEL(reduce, bad, .launch = launch, .create = create, .contract = bad::kContract)
