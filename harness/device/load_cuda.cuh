// Other work on a GPU while a kernel runs there: short kernels that stream through memory or fill shared memory with
// NaN, one after the other, so that a kernel which needs whole multiprocessors gets its turn.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace assay::cuda {

inline constexpr size_t kLoadBytes = size_t{128} << 20;  // more than the caches hold

// Queues about a millisecond of it. `memory` is kLoadBytes of the device's.
cudaError_t queue_load(float4* memory, cudaStream_t stream);

}  // namespace assay::cuda
