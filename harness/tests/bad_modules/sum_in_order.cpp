// pass: a kernel as it was approved, which sum_in_turned_order.cpp stands for after its library was changed.
#include "sum_base.h"

namespace {
const char* launch(const assay::Call& c) {
  bad::sum(c);
  return nullptr;
}
}  // namespace
BAD_SUM(launch)
