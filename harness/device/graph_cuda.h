// A launch captured into a CUDA graph: what it queued, and the same work again by replaying the graph.
#pragma once

#include "device/driver_cuda.h"
#include "device/worker_device.h"

namespace assay::cuda {

// Captures `launch` on `stream`, replays the graph once on it, and says what is in the graph; the replay may still run
// on return. A launch that cannot be captured is said in the result. Throws Error when the driver refuses what is left.
Captured capture_and_replay(CUstream stream, const std::function<const char*()>& launch);

}  // namespace assay::cuda
