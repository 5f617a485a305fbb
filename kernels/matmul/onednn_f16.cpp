// matmul by oneDNN, f16 with f32 accumulation.
#include "matmul/onednn_matmul.h"

namespace {
const char* unavailable() {
  return onednn::has_isa(dnnl::cpu_isa::avx512_core_fp16) ? nullptr : "oneDNN needs AVX512-FP16 for f16";
}
}  // namespace

// The domain is that of onednn.cpp.
ASSAY_KERNEL(matmul, onednn_f16, .target = "cpu", .plan = onednn_matmul::plan, .workspace = onednn::workspace,
             .launch = onednn::launch, .describe = onednn::describe, .unavailable = unavailable,
             .contract = {.interface_version = 1,
                          .owner = "libraries@assay",
                          .domain = "dtype in f16; k >= 1; m <= 8192; n <= 8192; k <= 8192",
                          .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART,
                          .arithmetic = {.accumulator = ASSAY_ACC_F32, .split_k = 1},
                          .nan_policy = ASSAY_NAN_PROPAGATES,
                          .workspace_limit = onednn::kMostWorkspace,
                          .may_allocate = 1})
