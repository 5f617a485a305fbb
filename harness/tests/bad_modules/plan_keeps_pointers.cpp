// memory: each launch of a plan works on the buffers of its first.
#include <memory>
#include <vector>

#include "base.h"

namespace {

struct Plan {
  mutable std::vector<void*> pointers;
};

std::shared_ptr<void> plan(const assay::Call&) { return std::make_shared<Plan>(); }

const char* launch(const assay::Call& c) {
  std::vector<void*>& kept = c.plan<Plan>().pointers;
  if (kept.empty()) kept.assign(c.pointers(), c.pointers() + c.raw().tensor_count + 1);
  bad::reduce(assay::Call(c.raw(), nullptr, nullptr, nullptr, kept.data()));
  return nullptr;
}

}  // namespace

ASSAY_KERNEL(reduce, bad, .plan = plan, .launch = launch, .contract = bad::kContract)
