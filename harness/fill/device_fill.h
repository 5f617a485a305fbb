// fill_tensor() on the current CUDA device: the same bytes, from the same generate().
#pragma once

#include "fill/fill.h"

namespace assay {

// `first_element` is device memory, `stream` a cudaStream_t. Returns before the device is done; throws as fill_tensor,
// and Error when the device refuses.
void fill_on_device(const TensorSpec& spec, uint64_t seed, void* first_element, void* stream = nullptr);

}  // namespace assay
