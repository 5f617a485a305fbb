// What any op refuses in a contract, whatever it computes. An op adds its own conditions (which accumulators, which
// kind of exp) to these. To add a cap for every op: one line in common_cap_violation().
#pragma once

#include <string>

#include "core/contract.h"

namespace assay {

// The deepest summation tree that may be declared is ceil(n / divisor) + constant. A deeper one would make the rigorous
// bound say little. 32 partial sums in f32 and 8 in f64 are what the narrowest SIMD unit (128 bits) reaches with eight
// or four registers; the constant leaves room for a scalar tail of 31 terms and the final tree.
inline constexpr int32_t kLeastDepthDivisorF32 = 32;
inline constexpr int32_t kLeastDepthDivisorF64 = 8;
inline constexpr int32_t kLargestDepthConstant = 48;
inline constexpr uint64_t kLargestWorkspace = uint64_t{1} << 32;  // bytes
inline constexpr uint32_t kLargestAlignment = 256;  // bytes: of what CUDA allocates (CUDA C++ Programming Guide)

// Empty, or the first condition that the contract breaks, as a sentence for its author.
std::string common_cap_violation(const Contract& contract);

// The part for ops that compute element by element: in f32 or f64, or undeclared, which is f32.
std::string elementwise_cap_violation(const Contract& contract);

// The part for ops that sum in floating point: accumulator f32 or f64, depth, intermediate type.
std::string summation_cap_violation(const Contract& contract);

}  // namespace assay
