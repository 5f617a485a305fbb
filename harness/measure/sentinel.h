// A fixed piece of work, timed like a kernel, that no kernel and no library has a part in: when its time moves, the
// machine did it. `compute` is a chain of dependent operations in registers, so that it follows the clock; `memory`
// reads, on a GPU copies, more than the caches hold.
#pragma once

#include "device/worker_device.h"
#include "measure/sampler.h"

namespace assay {

struct SentinelSamples {
  SampleSet compute, memory;
};

// Some milliseconds of the device that `device` is.
SentinelSamples sample_sentinel(WorkerDevice& device);

}  // namespace assay
