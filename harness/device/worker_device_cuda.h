// Kernels of a GPU. No CUDA header is needed to include this.
#pragma once

#include <memory>

#include "device/worker_device.h"

namespace assay {

// The device is touched when it is first needed: loading a module needs none.
std::unique_ptr<WorkerDevice> make_cuda_worker_device();

}  // namespace assay
