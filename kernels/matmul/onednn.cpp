// matmul by oneDNN, f32, on any x86-64 machine.
#include "matmul/onednn_matmul.h"

// k >= 1: with nothing to sum oneDNN leaves C as it is.
ASSAY_KERNEL(matmul, onednn, .target = "cpu", .plan = onednn_matmul::plan, .workspace = onednn::workspace,
             .launch = onednn::launch, .describe = onednn::describe,
             .contract = {.interface_version = 1,
                          .owner = "libraries@assay",
                          .domain = "dtype in f32; k >= 1; m <= 8192; n <= 8192; k <= 8192",
                          .promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART,
                          .arithmetic = {.accumulator = ASSAY_ACC_F32, .split_k = 1},
                          .nan_policy = ASSAY_NAN_PROPAGATES,
                          .workspace_limit = onednn::kMostWorkspace,
                          .may_allocate = 1})
