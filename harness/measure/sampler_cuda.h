// The sampling loop on a GPU. Samples are events around one launch, all of a group queued behind a stream that is held
// back and then let go, so that no time of the host lies between the events: hold, [flush, event, launch, event]...,
// release. Cold: a flush writes a buffer of twice the L2 in the stream before each launch. Nothing is subtracted; the
// time of two events with nothing between is in the samples and in SampleSet::empty_pair_ns. A launch that waits for
// its own work cannot be held back, and its samples are `coarse`. No CUDA header is needed to include this.
#pragma once

#include <functional>

#include "device/worker_device.h"
#include "measure/sampler.h"

namespace assay {

enum class Caches { warm, cold };

// `launch` queues on device.stream() and does not wait; what it throws comes out of here. With `before_last` a
// group comes last whose times are not kept: it queues, in the same stream, what comes before its last launch.
SampleSet sample_on_gpu(const SamplerOptions& options, WorkerDevice& device, const std::function<void()>& launch,
                        Caches caches, const std::function<void()>& before_last = nullptr);

}  // namespace assay
