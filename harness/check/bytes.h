// Compares tensors as bytes, element by element: -0 differs from +0, and one NaN from another. No value is ever
// converted. Padding between elements is not compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/op.h"

namespace assay {

struct ByteDifference {
  int64_t count = 0;   // elements that differ
  int64_t first = -1;  // logical index of the first
  uint64_t a = 0;      // its bits in either
  uint64_t b = 0;
};

// Both tensors have the shape and dtype of `spec`; the second may have strides of its own (another leading dimension).
// Throws Error when shapes or dtypes differ. Pointers are to element (0,...,0).
ByteDifference compare_bytes(const TensorSpec& spec, const std::byte* a, const std::byte* b);
ByteDifference compare_bytes(const TensorSpec& spec_a, const std::byte* a, const TensorSpec& spec_b,
                             const std::byte* b);

// "y[12] 0x3f800000 (1) became 0x3f800001 (1.0000001), 3 of 64 elements"; empty when nothing differs.
std::string describe(const TensorSpec& spec, const ByteDifference& difference);

// XXH64 of the elements' bytes in logical order, continued from `seed` (0, or the hash of the tensor before).
uint64_t hash_elements(const TensorSpec& spec, const std::byte* data, uint64_t seed = 0);

// The same bytes hashed as those of a sweep are, chunk by chunk (hash.h): XXH64, continued from `seed`, of the chunks'.
uint64_t hash_elements_by_chunks(const TensorSpec& spec, const std::byte* data, uint64_t seed = 0);

}  // namespace assay
