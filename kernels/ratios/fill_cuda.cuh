// Device work of cuda_ratios beside the kernels under test: random inputs, the copy, and emptying the level-2 cache.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/op.h"

namespace assay::ratios {

// Numbers of about N(0, 1), the integer types' whole range, everywhere from the first element to the last.
void fill_randomly(const TensorSpec& tensor, void* first_element, uint64_t seed);

// 16 bytes a thread, streaming. Both at 16-byte boundaries, `bytes` a multiple of 16.
void copy_streaming(const void* from, void* to, uint64_t bytes, cudaStream_t stream);

// Reads `bytes`, which leaves the cache holding them and nothing to write back. `sink` is never written.
void read_through(const void* from, uint64_t bytes, void* sink, cudaStream_t stream);

}  // namespace assay::ratios
