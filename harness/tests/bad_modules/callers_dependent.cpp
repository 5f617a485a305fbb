// nondeterministic: another sign of zero while another thread calls the kernel too.
#include <unistd.h>

#include <atomic>

#include "base.h"
namespace {
std::atomic<int> within = 0;

const char* launch(const assay::Call& c) {
  bad::reduce(c);
  ++within;
  ::usleep(2000);  // long enough for the others to come
  if (within > 1) bad::negate_first_zero(c);
  --within;
  return nullptr;
}
}  // namespace
ASSAY_KERNEL(reduce, bad, .launch = launch, .contract = bad::promising_also(ASSAY_SAME_LOAD))
