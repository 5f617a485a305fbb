// not loaded: a kernel without launch.
#include <assay/abi.h>

extern "C" ASSAY_EXPORT const assay_module_table* assay_module(void) {
  static const assay_kernel kernel = {.name = "bad", .op = "reduce", .target = "cpu"};
  static const assay_kernel* const kernels[] = {&kernel};
  static const assay_module_table table = {ASSAY_ABI_VERSION, sizeof(assay_kernel), "hole", 1, kernels};
  return &table;
}
