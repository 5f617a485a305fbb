// contract: claims a dtype that nobody knows, and would be unsupported for ever.
#include "base.h"
namespace {
constexpr assay_contract misspelt() {
  assay_contract contract = bad::kContract;
  contract.domain = "kind in max; dtype in fp32";
  return contract;
}
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  return nullptr;
}
}  // namespace
ASSAY_KERNEL(reduce, bad, .launch = launch, .contract = misspelt())
