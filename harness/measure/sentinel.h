// A fixed piece of work, timed like a kernel, that no kernel and no library has a part in: when its time moves, the
// machine did it. It is a chain of dependent operations in registers, so that it follows the clock.
#pragma once

#include "device/worker_device.h"
#include "measure/sampler.h"

namespace assay {

// Some milliseconds of the device that `device` is.
SampleSet sample_sentinel(WorkerDevice& device);

}  // namespace assay
