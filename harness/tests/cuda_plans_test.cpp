// Several plans of one of our CUDA kernels in one process, on a real GPU: what one launch sets, the next must not miss.
#include <gtest/gtest.h>

#include "ratios/subject_cuda.h"

namespace assay {
namespace {

using ratios::CudaSubject;

// Rows that are walked along keep what fits in shared memory, and need different amounts of it.
TEST(CudaPlans, OfDifferentLengthsTakeTurns) {
  const OpRegistry ops = make_op_registry();
  for (const std::string op : {"softmax", "layernorm_residual"}) {
    const assay_kernel& kernel = ratios::cuda_kernel(ASSAY_BUILD_DIR "/modules", op, "simt");
    const auto planned = [&](const char* cols) {
      const Case c = ops.parse_case(op + ":rows=2,cols=" + cols + ",dtype=f32");
      return std::make_unique<CudaSubject>(ops.named(op), c, kernel, 16);
    };
    const std::unique_ptr<CudaSubject> longer = planned("50256"), shorter = planned("10000");
    for (int i = 0; i < 2; ++i) {
      for (CudaSubject* plan : {longer.get(), shorter.get()}) {
        EXPECT_NO_THROW(plan->launch(nullptr)) << op << ", turn " << i;
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << op << ", turn " << i;
      }
    }
  }
}

}  // namespace
}  // namespace assay
