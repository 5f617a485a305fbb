#include "check/relations.h"

#include "core/strided.h"

namespace assay {

Slice slice_of(const TensorSpec& spec, int axis, int64_t index) {
  Slice slice{.length = spec.shape[static_cast<size_t>(axis)], .index = index};
  for (size_t a = spec.shape.size() - 1; a > static_cast<size_t>(axis); --a) slice.inner *= spec.shape[a];
  return slice;
}

int64_t changed_outside(const Slice& slice, const TensorSpec& spec, const std::byte* before, const std::byte* after) {
  const Strided lies = strided(spec);
  for (int64_t i = 0; i < lies.elements; ++i) {
    if (slice.holds(i)) continue;
    const int64_t at = lies.offset(i);
    if (load_bits(spec.dtype, before, at) != load_bits(spec.dtype, after, at)) return i;
  }
  return kNowhere;
}

int64_t number_in(const Slice& slice, const TensorSpec& spec, const std::byte* data) {
  const Strided lies = strided(spec);
  for (int64_t i = 0; i < lies.elements; ++i) {
    if (slice.holds(i) && !std::isnan(load(spec.dtype, data, lies.offset(i)))) return i;
  }
  return kNowhere;
}

int64_t changed_in_leading_part(const TensorSpec& whole_spec, const std::byte* whole, const TensorSpec& part_spec,
                                const std::byte* part) {
  const Strided in_whole = strided(whole_spec), in_part = strided(part_spec);
  for (int64_t i = 0; i < in_part.elements; ++i) {
    const uint64_t before = load_bits(whole_spec.dtype, whole, in_whole.offset(i));
    if (before != load_bits(part_spec.dtype, part, in_part.offset(i))) return i;
  }
  return kNowhere;
}

Scaling scaling_of(const TensorSpec& spec, int power, const std::byte* before, const std::byte* after) {
  const Strided lies = strided(spec);
  Scaling found;
  for (int64_t i = 0; i < lies.elements && found.broken == kNowhere; ++i) {
    const int64_t at = lies.offset(i);
    const double old = load(spec.dtype, before, at), scaled = load(spec.dtype, after, at);
    if (!detail::scales_exactly(spec.dtype, old, power)) continue;
    ++found.looked_at;
    if (!(scaled == std::ldexp(old, power))) found.broken = i;
  }
  return found;
}

void reverse(const TensorSpec& spec, int axis, std::byte* data) {
  const Slice along = slice_of(spec, axis, 0);
  const Strided lies = strided(spec);
  for (int64_t i = 0; i < lies.elements; ++i) {
    const int64_t other = detail::mirrored(along, i);
    if (other <= i) continue;
    const int64_t at = lies.offset(i), there = lies.offset(other);
    const uint64_t bits = load_bits(spec.dtype, data, at);
    store_bits(spec.dtype, data, at, load_bits(spec.dtype, data, there));
    store_bits(spec.dtype, data, there, bits);
  }
}

void put_among_zeros(const TensorSpec& spec, const std::byte* data, const TensorSpec& larger_spec, std::byte* larger) {
  const Strided zeros = strided(larger_spec);
  for (int64_t i = 0; i < zeros.elements; ++i) store_bits(larger_spec.dtype, larger, zeros.offset(i), 0);
  const Strided from = strided(spec), to = strided(detail::first_of(spec, larger_spec));
  for (int64_t i = 0; i < from.elements; ++i) {
    store_bits(spec.dtype, larger, to.offset(i), load_bits(spec.dtype, data, from.offset(i)));
  }
}

void set_nan(const Slice& slice, const TensorSpec& spec, std::byte* data) {
  const Strided lies = strided(spec);
  for (int64_t i = 0; i < lies.elements; ++i) {
    if (slice.holds(i)) store_bits(spec.dtype, data, lies.offset(i), detail::nan_bits(spec.dtype));
  }
}

void scale(const TensorSpec& spec, int power, std::byte* data) {
  const Strided lies = strided(spec);
  for (int64_t i = 0; i < lies.elements; ++i) {
    const int64_t at = lies.offset(i);
    store_bits(spec.dtype, data, at, detail::scaled_bits(spec.dtype, load_bits(spec.dtype, data, at), power));
  }
}

}  // namespace assay
