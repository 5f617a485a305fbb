// Kernels of a GPU. No CUDA header is needed to include this.
#pragma once

#include <memory>

#include "device/worker_device.h"

namespace assay {

// The device is touched when it is first needed: loading a module needs none.
std::unique_ptr<WorkerDevice> make_cuda_worker_device();

// One that computes in allocations of its own and maps the judge's memory as a CPU's worker does (bring_in()).
std::unique_ptr<WorkerDevice> make_private_cuda_worker_device();

namespace cuda {

// Returns when all that this context was given is done. Throws DeviceLost, or Error for a failure that leaves it
// usable.
void wait_for_context();

}  // namespace cuda

}  // namespace assay
