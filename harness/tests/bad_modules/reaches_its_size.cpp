// pass: takes 300 KiB, not from the heap, at each of its first launches, as some libraries do until they have what they
// need.
#include "base.h"
#include "keep.h"
namespace {
int launches = 0;
const char* launch(const assay::Call& c) {
  bad::reduce(c);
  return ++launches > 35 ? nullptr : bad::keep(300 << 10);
}
}  // namespace
BAD_KERNEL(launch)
