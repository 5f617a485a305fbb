// matmul by oneDNN, bf16 with f32 accumulation: AMX or AVX-512 dot products, emulated before those.
#include "matmul/onednn_matmul.h"

namespace {
const char* unavailable() {
  return onednn::has_isa(dnnl::cpu_isa::avx512_core) ? nullptr : "oneDNN needs AVX-512 for bf16";
}
}  // namespace

// bf16 dot products treat subnormals as zero, whatever MXCSR says (Intel SDM, VDPBF16PS and TDPBF16PS).
ASSAY_KERNEL(matmul, onednn_bf16, .target = "cpu", .plan = onednn_matmul::plan, .workspace = onednn::workspace,
             .launch = onednn::launch, .describe = onednn::describe, .unavailable = unavailable,
             .contract = {.interface_version = 1,
                          .owner = "libraries@assay",
                          .domain = "dtype in bf16; k >= 1; m <= 8192; n <= 8192; k <= 8192",
                          .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART,
                          .arithmetic = {.accumulator = ASSAY_ACC_F32, .split_k = 1, .flushes_subnormals = 1},
                          .nan_policy = ASSAY_NAN_PROPAGATES,
                          .workspace_limit = onednn::kMostWorkspace,
                          .may_allocate = 1})
