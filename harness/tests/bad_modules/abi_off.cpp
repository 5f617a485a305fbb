// not loaded: speaks another version of the ABI.
#include <assay/abi.h>

extern "C" ASSAY_EXPORT const assay_module_table* assay_module(void) {
  static const assay_module_table table = {ASSAY_ABI_VERSION + 1, sizeof(assay_kernel), "abi_off", 0, nullptr};
  return &table;
}
