// fallback: gives the work to another kernel and its contract does not allow that.
#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  return nullptr;
}
void describe(const assay::Call&, const assay::Describe& say) {
  say("fallback", "avx512");
  say("fallback_reason", "no such instructions here");
}
}  // namespace
ASSAY_KERNEL(reduce, bad, .launch = launch, .describe = describe, .contract = bad::kContract)
