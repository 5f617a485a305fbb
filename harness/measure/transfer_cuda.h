// What a caller pays around a launch on a GPU: memory for the workspace, and moving tensors between host and device. By
// the host's clock, until the device is done. No CUDA header is needed to include this.
#pragma once

#include <functional>
#include <vector>

#include "measure/flush.h"
#include "measure/sampler.h"

namespace assay {

// cudaMalloc of that many bytes, of a device with no other work; giving them back is not counted.
SampleSet sample_allocation(const SamplerOptions& options, size_t bytes);

enum class Direction { to_device, from_device };

// Copying all of the device's `buffers` to or from page-locked memory of the host. Their content stays as it is.
SampleSet sample_copies(const SamplerOptions& options, const std::vector<AddressRange>& buffers, Direction direction);

// Keeps what the device's `buffers` hold now, in other memory of the device. What is returned queues on `stream` (a
// cudaStream_t) that they hold it again.
std::function<void()> keep_on_device(std::vector<AddressRange> buffers, void* stream);

}  // namespace assay
