// How two outputs of the same kernel must be related when their inputs are: the exact probes that need no oracle, and
// what they do to inputs. Pointers are to element (0,...,0), on the host; check/device_relations.h has the same there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/hd.h"
#include "core/op.h"

namespace assay {

inline constexpr int64_t kNowhere = -1;  // for an element's logical index: there is none

// The elements whose coordinate along one axis is `index`.
struct Slice {
  int64_t inner = 1;   // elements between neighbours along the axis, in logical order
  int64_t length = 1;  // of the axis
  int64_t index = 0;

  ASSAY_HD bool holds(int64_t i) const { return i / inner % length == index; }
};
Slice slice_of(const TensorSpec& spec, int axis, int64_t index);

// The first element outside `slice` whose bytes differ, or kNowhere.
int64_t changed_outside(const Slice& slice, const TensorSpec& spec, const std::byte* before, const std::byte* after);

// The first element of `slice` that is not NaN, as no integer is, or kNowhere.
int64_t number_in(const Slice& slice, const TensorSpec& spec, const std::byte* data);

// The first element of `part` whose bytes differ from the same logical element of `whole`, or kNowhere.
int64_t changed_in_leading_part(const TensorSpec& whole_spec, const std::byte* whole, const TensorSpec& part_spec,
                                const std::byte* part);

// The first element of `after` that is not exactly 2^power times that of `before`, or kNowhere. Elements that are, or
// would become, subnormal or infinite say nothing; `looked_at` counts those that did, when none is broken.
struct Scaling {
  int64_t broken = kNowhere;
  int64_t looked_at = 0;
};
Scaling scaling_of(const TensorSpec& spec, int power, const std::byte* before, const std::byte* after);

// The slices along an axis, in reverse order.
void reverse(const TensorSpec& spec, int axis, std::byte* data);
// The elements of a tensor at their coordinates in `larger`, no shorter along any axis, and zero everywhere else.
void put_among_zeros(const TensorSpec& spec, const std::byte* data, const TensorSpec& larger_spec, std::byte* larger);

// Sets every element of `slice` to NaN.
void set_nan(const Slice& slice, const TensorSpec& spec, std::byte* data);
// Multiplies every element by 2^power, and rounds it.
void scale(const TensorSpec& spec, int power, std::byte* data);

namespace detail {

// The element that takes the place of element i where the slices along an axis, one of which is given, are reversed.
ASSAY_HD inline int64_t mirrored(const Slice& along, int64_t i) {
  return i + (along.length - 1 - 2 * (i / along.inner % along.length)) * along.inner;
}

// Where the elements of a tensor lie that has the first coordinates of another, in that one.
inline TensorSpec first_of(const TensorSpec& spec, const TensorSpec& larger_spec) {
  TensorSpec first = spec;
  first.strides = larger_spec.strides;
  return first;
}

ASSAY_HD inline uint64_t nan_bits(DType t) { return encode(t, std::numeric_limits<double>::quiet_NaN()); }

ASSAY_HD inline uint64_t scaled_bits(DType t, uint64_t bits, int power) {
  const double old = decode(t, bits), scaled = std::ldexp(old, power);
  return scaled == old || !(old == old) ? bits : encode(t, scaled);
}

// Whether a value is far enough from the ends of the format that scaling it neither rounds nor overflows. The margin
// keeps clear of intermediate results a little larger or smaller than the value itself.
ASSAY_HD inline bool scales_exactly(DType t, double value, int power) {
  constexpr int kMargin = 8;
  if (value == 0 || !(std::fabs(value) <= std::numeric_limits<double>::max())) return false;
  const FloatFormat f = format_of(t);
  const int exponent = std::ilogb(value);
  const int low = exponent + (power < 0 ? power : 0), high = exponent + (power > 0 ? power : 0);
  return low >= f.min_exponent + kMargin && high <= f.max_exponent - kMargin;
}

}  // namespace detail
}  // namespace assay
