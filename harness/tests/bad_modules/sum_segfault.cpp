// crashed: follows a wild pointer when more than 64 rows are summed.
#include "sum_base.h"

namespace {
const char* launch(const assay::Call& c) {
  bad::sum(c);
  int* volatile wild = reinterpret_cast<int*>(uintptr_t{16});
  if (c.in<float>("x").dim(0) > 64) *wild = 1;
  return nullptr;
}
}  // namespace
BAD_SUM(launch)
