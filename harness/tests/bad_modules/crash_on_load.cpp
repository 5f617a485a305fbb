// not loaded: a static constructor dies.
#include <assay/abi.h>

#include <cstdlib>

namespace {
struct Dies {
  Dies() { std::abort(); }
} const dies;
}  // namespace

extern "C" ASSAY_EXPORT const assay_module_table* assay_module(void) { return nullptr; }
