// contract: computes what its domain does not claim.
#include "base.h"
namespace {
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  return nullptr;
}
}  // namespace
ASSAY_KERNEL(reduce, honest, .launch = launch, .contract = bad::kContract)

extern "C" const assay_kernel* assay_kernel_reduce_bad() {
  static const assay_kernel liar = [] {
    assay_kernel kernel = *assay_kernel_reduce_honest();
    kernel.name = "bad";
    kernel.contract.domain = "kind in max; dtype in f32; n <= 1";
    return kernel;
  }();
  return &liar;
}
