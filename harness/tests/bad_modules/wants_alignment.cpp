// crashed: declares an alignment of 16 bytes and wants 64 of its input.
#include "base.h"

namespace {

constexpr assay_contract kContract = [] {
  assay_contract contract = bad::kContract;
  contract.alignment = 16;
  contract.domain = "kind in max; dtype in f32; offset == 0";
  return contract;
}();

const char* launch(const assay::Call& c) {
  if (reinterpret_cast<uintptr_t>(c.address("x")) % 64 != 0) return "misaligned pointer";
  bad::reduce(c);
  return nullptr;
}

}  // namespace
ASSAY_KERNEL(reduce, bad, .launch = launch, .contract = kContract)
