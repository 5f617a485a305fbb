// compare_bytes(), find_unwritten() and fill_poison() on the current CUDA device, with the host's answers. A hash
// (hash_elements()) is one long chain by XXH64's definition, and made on the host: device_relations.h.
#pragma once

#include "check/bytes.h"
#include "check/poison.h"

namespace assay {

// Pointers are to element (0,...,0) in device memory, `stream` is a cudaStream_t. Both wait for the device and throw
// Error when it refuses.
ByteDifference compare_bytes_on_device(const TensorSpec& spec, const void* a, const void* b, void* stream = nullptr);
Unwritten find_unwritten_on_device(const TensorSpec& spec, const void* after_first, const void* after_second,
                                   bool single_bytes, void* stream = nullptr);

// As fill_poison(); returns before the device is done.
void fill_poison_on_device(void* begin, size_t bytes, size_t element_at, DType t, Poison poison,
                           void* stream = nullptr);

}  // namespace assay
