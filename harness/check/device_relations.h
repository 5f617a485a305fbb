// What check/relations.h, check/trust.h and check/guard.h find in two outputs, and what they do to inputs, on the
// current CUDA device, with the host's answers. Pointers are to element (0,...,0) in device memory. All wait for the
// device and throw Error when it refuses.
#pragma once

#include "check/guard.h"
#include "check/relations.h"
#include "check/trust.h"

namespace assay {

int64_t changed_outside_on_device(const Slice& slice, const TensorSpec& spec, const void* before, const void* after);
int64_t number_in_on_device(const Slice& slice, const TensorSpec& spec, const void* data);
int64_t changed_in_leading_part_on_device(const TensorSpec& whole_spec, const void* whole, const TensorSpec& part_spec,
                                          const void* part);
Scaling scaling_on_device(const TensorSpec& spec, int power, const void* before, const void* after);

void reverse_on_device(const TensorSpec& spec, int axis, void* data);
void put_among_zeros_on_device(const TensorSpec& spec, const void* data, const TensorSpec& larger_spec, void* larger);
void set_nan_on_device(const Slice& slice, const TensorSpec& spec, void* data);
void scale_on_device(const TensorSpec& spec, int power, void* data);

Majority majority_on_device(const TensorSpec& spec, const void* data);

// As check_guards() of a region that begins and ends with the tensor: what lies between its elements.
GuardReport check_padding_on_device(const TensorSpec& spec, const void* data, Poison poison);

// As hash_elements(), of content that comes to the host piece by piece.
uint64_t hash_elements_on_device(const TensorSpec& spec, const void* data, uint64_t seed = 0);
// As hash_elements_by_chunks(): of the content no more than the digests come to the host.
uint64_t hash_elements_by_chunks_on_device(const TensorSpec& spec, const void* data, uint64_t seed = 0);

}  // namespace assay
