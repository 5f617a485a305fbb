#include "worker/relations.h"

#include <cmath>

namespace assay {
namespace {

std::string element_text(const TensorSpec& spec, int64_t i, double before, double after) {
  return spec.name + "[" + std::to_string(i) + "] " + print_number(before) + " became " + print_number(after);
}

// Whether a value is far enough from the ends of the format that scaling it neither rounds nor overflows. The margin
// keeps clear of intermediate results a little larger or smaller than the value itself.
bool scales_exactly(DType dtype, double value, int power) {
  constexpr int kMargin = 8;
  if (value == 0 || !std::isfinite(value)) return false;
  const FloatFormat f = format_of(dtype);
  const int low = std::ilogb(value) + std::min(power, 0), high = std::ilogb(value) + std::max(power, 0);
  return low >= f.min_exponent + kMargin && high <= f.max_exponent - kMargin;
}

}  // namespace

int64_t coordinate(const TensorSpec& spec, int64_t i, int axis) {
  for (size_t a = spec.shape.size() - 1; a > static_cast<size_t>(axis); --a) i /= spec.shape[a];
  return i % spec.shape[static_cast<size_t>(axis)];
}

std::string changed_outside_slice(const TensorSpec& spec, int axis, int64_t slice, const std::byte* before,
                                  const std::byte* after) {
  for (int64_t i = 0; i < spec.elements(); ++i) {
    if (coordinate(spec, i, axis) == slice) continue;
    const int64_t at = offset_of(spec, i);
    if (load_bits(spec.dtype, before, at) == load_bits(spec.dtype, after, at)) continue;
    return element_text(spec, i, load(spec.dtype, before, at), load(spec.dtype, after, at));
  }
  return {};
}

std::string changed_in_leading_part(const TensorSpec& whole_spec, const std::byte* whole, const TensorSpec& part_spec,
                                    const std::byte* part) {
  for (int64_t i = 0; i < part_spec.elements(); ++i) {
    const int64_t in_whole = offset_of(whole_spec, i), in_part = offset_of(part_spec, i);
    if (load_bits(whole_spec.dtype, whole, in_whole) == load_bits(part_spec.dtype, part, in_part)) continue;
    return element_text(whole_spec, i, load(whole_spec.dtype, whole, in_whole), load(part_spec.dtype, part, in_part));
  }
  return {};
}

std::string broken_scaling(const TensorSpec& spec, int power, const std::byte* before, const std::byte* after,
                           int64_t* looked_at) {
  *looked_at = 0;
  for (int64_t i = 0; i < spec.elements(); ++i) {
    const int64_t at = offset_of(spec, i);
    const double old = load(spec.dtype, before, at), scaled = load(spec.dtype, after, at);
    if (!scales_exactly(spec.dtype, old, power)) continue;
    ++*looked_at;
    if (!(scaled == std::ldexp(old, power))) return element_text(spec, i, old, scaled);
  }
  return {};
}

}  // namespace assay
