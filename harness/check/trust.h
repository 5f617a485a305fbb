// Recognises cases that prove little: random inputs whose outputs are nearly all zero or all the same, so that a kernel
// that computes almost nothing would pass. It is about the case, not about the kernel: correctness is judged elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/hd.h"
#include "core/op.h"
#include "record/record.h"

namespace assay {

// More than this share of equal outputs is `mistrusted`. Causal and random masks zero about half, saturating int8
// outputs pile up a few in a hundred at either end: both stay far below.
inline constexpr double kMistrustedShare = 0.95;
// Below this many elements a share means nothing.
inline constexpr int64_t kLeastTrustedElements = 32;

// The value that more than half the elements of an output have, both zeros being one, and how many have it; none: 0.
struct Majority {
  uint64_t bits = 0;
  int64_t count = 0;

  bool operator==(const Majority&) const = default;
};
Majority majority_of(const TensorSpec& spec, const std::byte* data);  // element (0,...,0)

struct OutputMajority {
  const TensorSpec* spec = nullptr;
  Majority majority;
};

// The check "trust", over all outputs together. Sameness is not applicable, with the reason, where it is in the nature
// of the case: an input that is read is empty (k = 0) or forces it (zeros, one-hot, overflow), it has a support, no
// random input is read (alpha = 0), an output axis has length 1 (softmax over one column), or there are too few
// elements.
CheckResult trust_check(std::span<const TensorSpec> tensors, std::span<const OutputMajority> outputs);

// Bits with both zeros made one.
ASSAY_HD constexpr uint64_t value_bits(DType t, uint64_t bits) {
  return is_float(t) && (bits << (65 - 8 * size_of(t))) == 0 ? 0 : bits;
}

}  // namespace assay
