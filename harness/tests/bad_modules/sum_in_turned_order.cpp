// pass: within every bound, and not as sum_in_order.cpp computes: only its fingerprint and bits tell.
#include "sum_base.h"

namespace {
const char* launch(const assay::Call& c) {
  bad::sum(c, true);
  return nullptr;
}
}  // namespace
BAD_SUM(launch)
