// pass: with one thread its plan says that subnormal numbers are flushed, and they are.
#include <cmath>
#include <limits>

#include "sum_base.h"

namespace {
constexpr assay_contract kAsEver = [] {
  assay_contract contract = bad::kSumContract;
  contract.promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART;
  return contract;
}();
constexpr assay_contract kAlone = [] {
  assay_contract contract = kAsEver;
  contract.arithmetic.flushes_subnormals = 1;
  return contract;
}();
const char* launch(const assay::Call& c) {
  bad::sum(c);
  const auto y = c.out<float>("y");
  for (int64_t i = 0; c.threads() == 1 && i < y.size(); ++i) {
    if (std::fabs(y.data()[i]) < std::numeric_limits<float>::min()) y.data()[i] = 0;
  }
  return nullptr;
}
const assay_contract* plan_contract(const assay::Call& c) { return c.threads() == 1 ? &kAlone : nullptr; }
}  // namespace
ASSAY_KERNEL(reduce, bad, .launch = launch, .plan_contract = plan_contract, .contract = kAsEver)
