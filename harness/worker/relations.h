// How two outputs of the same kernel must be related when their inputs are: the exact probes that need no oracle.
// Outputs are host copies; pointers are to element (0,...,0).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/op.h"

namespace assay {

// Coordinate of logical row-major element `i` along `axis`.
int64_t coordinate(const TensorSpec& spec, int64_t i, int axis);

// The first element outside slice `slice` of `axis` whose bytes differ, as "y[3] ..."; empty when there is none.
std::string changed_outside_slice(const TensorSpec& spec, int axis, int64_t slice, const std::byte* before,
                                  const std::byte* after);

// The first element of `part` whose bytes differ from the same logical element of `whole`; empty when there is none.
std::string changed_in_leading_part(const TensorSpec& whole_spec, const std::byte* whole, const TensorSpec& part_spec,
                                    const std::byte* part);

// The first element of `after` that is not exactly 2^power times that of `before`; empty when there is none. Elements
// that are, or would become, subnormal or infinite say nothing. `looked_at` is set to the number that did.
std::string broken_scaling(const TensorSpec& spec, int power, const std::byte* before, const std::byte* after,
                           int64_t* looked_at);

}  // namespace assay
