// contract: once it was asked whether it takes a case, its caller rounds up.
#include <cfenv>

#include "base.h"
namespace {
const char* refuse(const assay::Call&) {
  std::fesetround(FE_UPWARD);
  return nullptr;
}
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  return nullptr;
}
}  // namespace
ASSAY_KERNEL(reduce, bad, .refuse = refuse, .launch = launch, .contract = bad::kContract)
