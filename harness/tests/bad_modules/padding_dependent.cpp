// nondeterministic: another sign of zero where rows are padded.
#include "base.h"

namespace {
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  const auto x = c.in<float>("x");
  if (x.stride(1) != x.dim(2)) bad::negate_first_zero(c);
  return nullptr;
}
}  // namespace
ASSAY_KERNEL(reduce, bad, .launch = launch, .contract = bad::promising_also(ASSAY_SAME_PADDING))
