// contract: claims every shape and refuses one batch entry.
#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  return nullptr;
}
const char* refuse(const assay::Call& c) { return c.axis("outer") == 1 ? "not alone" : nullptr; }
}  // namespace
ASSAY_KERNEL(reduce, bad, .refuse = refuse, .launch = launch, .contract = bad::kContract)
