#include "check/relations.h"

namespace assay {

Slice slice_of(const TensorSpec& spec, int axis, int64_t index) {
  Slice slice{.length = spec.shape[static_cast<size_t>(axis)], .index = index};
  for (size_t a = spec.shape.size() - 1; a > static_cast<size_t>(axis); --a) slice.inner *= spec.shape[a];
  return slice;
}

int64_t changed_outside(const Slice& slice, const TensorSpec& spec, const std::byte* before, const std::byte* after) {
  for (int64_t i = 0; i < spec.elements(); ++i) {
    if (slice.holds(i)) continue;
    const int64_t at = offset_of(spec, i);
    if (load_bits(spec.dtype, before, at) != load_bits(spec.dtype, after, at)) return i;
  }
  return kNowhere;
}

int64_t number_in(const Slice& slice, const TensorSpec& spec, const std::byte* data) {
  for (int64_t i = 0; i < spec.elements(); ++i) {
    if (slice.holds(i) && !std::isnan(load(spec.dtype, data, offset_of(spec, i)))) return i;
  }
  return kNowhere;
}

int64_t changed_in_leading_part(const TensorSpec& whole_spec, const std::byte* whole, const TensorSpec& part_spec,
                                const std::byte* part) {
  for (int64_t i = 0; i < part_spec.elements(); ++i) {
    const int64_t in_whole = offset_of(whole_spec, i), in_part = offset_of(part_spec, i);
    if (load_bits(whole_spec.dtype, whole, in_whole) != load_bits(part_spec.dtype, part, in_part)) return i;
  }
  return kNowhere;
}

Scaling scaling_of(const TensorSpec& spec, int power, const std::byte* before, const std::byte* after) {
  Scaling found;
  for (int64_t i = 0; i < spec.elements() && found.broken == kNowhere; ++i) {
    const int64_t at = offset_of(spec, i);
    const double old = load(spec.dtype, before, at), scaled = load(spec.dtype, after, at);
    if (!detail::scales_exactly(spec.dtype, old, power)) continue;
    ++found.looked_at;
    if (!(scaled == std::ldexp(old, power))) found.broken = i;
  }
  return found;
}

void reverse(const TensorSpec& spec, int axis, std::byte* data) {
  const Slice along = slice_of(spec, axis, 0);
  for (int64_t i = 0; i < spec.elements(); ++i) {
    const int64_t other = detail::mirrored(along, i);
    if (other <= i) continue;
    const int64_t at = offset_of(spec, i), there = offset_of(spec, other);
    const uint64_t bits = load_bits(spec.dtype, data, at);
    store_bits(spec.dtype, data, at, load_bits(spec.dtype, data, there));
    store_bits(spec.dtype, data, there, bits);
  }
}

void put_among_zeros(const TensorSpec& spec, const std::byte* data, const TensorSpec& larger_spec, std::byte* larger) {
  for (int64_t i = 0; i < larger_spec.elements(); ++i) {
    store_bits(larger_spec.dtype, larger, offset_of(larger_spec, i), 0);
  }
  const TensorSpec first = detail::first_of(spec, larger_spec);
  for (int64_t i = 0; i < spec.elements(); ++i) {
    store_bits(spec.dtype, larger, offset_of(first, i), load_bits(spec.dtype, data, offset_of(spec, i)));
  }
}

void set_nan(const Slice& slice, const TensorSpec& spec, std::byte* data) {
  for (int64_t i = 0; i < spec.elements(); ++i) {
    if (slice.holds(i)) store_bits(spec.dtype, data, offset_of(spec, i), detail::nan_bits(spec.dtype));
  }
}

void scale(const TensorSpec& spec, int power, std::byte* data) {
  for (int64_t i = 0; i < spec.elements(); ++i) {
    const int64_t at = offset_of(spec, i);
    store_bits(spec.dtype, data, at, detail::scaled_bits(spec.dtype, load_bits(spec.dtype, data, at), power));
  }
}

}  // namespace assay
