// Inputs as a pure function of (fill, seed, tensor name, shape, dtype, index): the same bits from any thread, for any
// slice and in any order, on every IEEE machine. Only integer hashing and exact or correctly rounded arithmetic is
// used. To add a generator: one enumerator and one case in generate(), one row in kGenerators (fill.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/hd.h"
#include "core/op.h"
#include "fill/probe_fill.h"

namespace assay {

enum class Generator : uint8_t {
  normal,
  uniform,
  cancelling,
  scaled,
  huge,
  subnormal,
  signed_zeros,
  special,
  nan_one,
  integers,
  ones,
  zeros,
  constant,
  onehot,
  identity,
  index,
  negative,
  ascending,
  shifted,
  mask_causal,
  mask_random,
  mask_full_rows,
  int8_full,
  int8_extreme,
  ties,
  ties_partner,
  probe_pairs,
  probe_spine,
  probe_spine_partner,
  probe_near,
  probe_far,
  probe_ends,
  probe_bits,
  probe_fused,
  probe_fused_partner,
  probe_subnormal,
  probe_absorb,
  probe_faint,
  probe_order,
  probe_order_partner,
  probe_patterns,
  probe_steps,
  every,
  sparse,
  dominant,
  triangle,
};

// Everything about one tensor's fill that does not depend on the element, but for its support; plain data, to be passed
// to a device.
// Generators see a matrix whose rows run along FillSpec::axis; for a last axis the rows are in logical order. A matrix
// stored transposed, with the axis turned too, has the same elements.
struct FillPlan {
  Generator generator = Generator::normal;
  DType dtype = DType::f32;
  double scale = 1;
  double shift = 0;
  uint64_t seed = 0;
  uint64_t key = 0;       // hash of seed and tensor name
  int64_t cols = 1;       // length of the axis along which rows run
  int64_t inner = 1;      // elements between neighbours along it, in logical order: the product of the axes after it
  int64_t rows = 1;       // of one matrix: the axes after it, or when there are none the axis before
  int64_t elements = 1;   // of the tensor
  int64_t one_index = 0;  // nan_one: where
};

// Throws UsageError that lists the generators when spec.generator is none of them, Error for an axis out of range.
FillPlan plan_fill(const FillSpec& spec, uint64_t seed, std::string_view tensor_name, std::span<const int64_t> shape,
                   DType dtype);

namespace fill_detail {

// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014) on a counter: 64 well mixed bits per (key, counter).
ASSAY_HD constexpr uint64_t hash(uint64_t key, uint64_t counter) {
  uint64_t z = key + (counter + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Independent streams of one key: per element, and per row or pair.
inline constexpr uint64_t kRowStream = 0x6a09e667f3bcc909u;
inline constexpr uint64_t kChoiceStream = 0xbb67ae8584caa73bu;

// Multiples of 2^-53 in [0, 1).
ASSAY_HD inline double uniform(uint64_t key, uint64_t i) { return static_cast<double>(hash(key, i) >> 11) * 0x1p-53; }

// Irwin-Hall: the sum of 12 uniforms of 16 bits has variance 1 - 2^-32 and range +-6; 33 more random bits fill the
// significand, so that products and sums of f64 inputs do round. An exact multiple of 2^-49.
ASSAY_HD inline double normal(uint64_t key, uint64_t i) {
  constexpr uint64_t kLanes = 0x0000ffff0000ffffu;
  uint64_t sum = 0;
  for (uint64_t part = 0; part < 3; ++part) {
    const uint64_t h = hash(key, 4 * i + part);
    sum += (h & kLanes) + ((h >> 16) & kLanes);
  }
  sum = (sum & 0xffffffffu) + (sum >> 32);
  const uint64_t low = hash(key, 4 * i + 3) >> 31;
  constexpr int64_t kCentre = (int64_t{6 * 65535} << 33) + (int64_t{1} << 32);
  return static_cast<double>(static_cast<int64_t>((sum << 33) + low) - kCentre) * 0x1p-49;
}

// Of probe_order: numbers of many sizes, the same at equal distances from either end of a row.
ASSAY_HD inline double mirrored(const FillPlan& f, int64_t row, int64_t col) {
  const int64_t turned = f.cols - 1 - col;
  const auto i = static_cast<uint64_t>(row * f.cols + (col < turned ? col : turned));
  const int range = f.dtype == DType::e4m3 ? 1 : f.dtype == DType::f16 ? 3 : 8;
  const auto draw = static_cast<int>(hash(f.key ^ kChoiceStream, i) % static_cast<uint64_t>(2 * range + 1));
  return normal(f.key, i) * detail::power_of_two(draw - range);
}

// Rows are scaled by 2^-20 to 2^20, or what the format's range leaves of that.
ASSAY_HD inline int scaled_range(DType t) { return t == DType::f16 ? 8 : t == DType::e4m3 ? 3 : 20; }

// Counts through the bit patterns of the type, NaNs with each payload among them, from seed 1 on: where the elements of
// one seed end those of the next begin. Each further time round begins elsewhere, so that another seed has other
// elements even where one holds all patterns.
ASSAY_HD inline uint64_t every_bits(const FillPlan& f, int64_t index) {
  const uint64_t count = (f.seed - 1) * static_cast<uint64_t>(f.elements) + static_cast<uint64_t>(index);
  const auto width = static_cast<unsigned>(8 * size_of(f.dtype));
  if (width == 64) return count;
  return (count + (count >> width) * 0x9e3779b9u) & ((uint64_t{1} << width) - 1);
}

ASSAY_HD inline double generate(const FillPlan& f, int64_t row, int64_t col) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const int64_t index = row * f.cols + col;
  const auto i = static_cast<uint64_t>(index);
  const uint64_t row_key = f.key ^ kRowStream;
  const uint64_t choice_key = f.key ^ kChoiceStream;
  switch (f.generator) {
    case Generator::normal:
      return normal(f.key, i);
    case Generator::uniform:
      return uniform(f.key, i);
    case Generator::cancelling: {  // v, -v (1 + a few ulps), along the row
      const double v = normal(f.key, i - static_cast<uint64_t>(col % 2));
      if (col % 2 == 0 || !is_float(f.dtype)) return col % 2 == 0 ? v : -v;
      return -(v * (1 + detail::power_of_two(3 - format_of(f.dtype).precision) * uniform(choice_key, i)));
    }
    case Generator::scaled: {
      const int range = scaled_range(f.dtype);
      const auto draw = hash(row_key, static_cast<uint64_t>(row)) % static_cast<uint64_t>(2 * range + 1);
      return normal(f.key, i) * detail::power_of_two(static_cast<int>(draw) - range);
    }
    case Generator::huge: {
      const double magnitude = largest_finite(f.dtype) * (0.5 + 0.5 * uniform(f.key, i));
      return (hash(choice_key, i) & 1) != 0 ? -magnitude : magnitude;
    }
    case Generator::subnormal: {
      const FloatFormat format = format_of(f.dtype);
      if (format.precision == 0) return 0;  // integers have none
      const uint64_t most = (uint64_t{1} << (format.precision - 1)) - 1;
      const double units = static_cast<double>(hash(f.key, i) % most + 1);
      const double magnitude = units * smallest_subnormal(f.dtype);
      return (hash(choice_key, i) & 1) != 0 ? -magnitude : magnitude;
    }
    case Generator::signed_zeros: {  // three quarters are zeros of either sign
      const uint64_t draw = hash(choice_key, i) & 7;
      return draw < 3 ? 0.0 : draw < 6 ? -0.0 : normal(f.key, i);
    }
    case Generator::special: {  // one element in two rows, at least one in 64, so that most rows stay finite
      const auto cols = static_cast<uint64_t>(f.cols < 32 ? 32 : f.cols);
      if (hash(choice_key, i) >= (uint64_t{1} << 63) / cols) return normal(f.key, i);
      const uint64_t kind = hash(row_key, i) % 3;
      return kind == 0 ? kNan : kind == 1 ? kInfinity : -kInfinity;
    }
    case Generator::nan_one:
      return index == f.one_index ? kNan : normal(f.key, i);
    case Generator::integers:
      return static_cast<double>(static_cast<int64_t>(hash(f.key, i) % 17) - 8);
    case Generator::ones:
      return 1;
    case Generator::zeros:
      return 0;
    case Generator::constant:
      return normal(row_key, static_cast<uint64_t>(row));
    case Generator::onehot: {
      const auto cols = static_cast<uint64_t>(f.cols);
      return static_cast<uint64_t>(col) == (static_cast<uint64_t>(row) % cols * 7 + 3 + f.seed % cols) % cols ? 1 : 0;
    }
    case Generator::identity:
      return row % f.rows == col ? 1 : 0;
    case Generator::index:
      return static_cast<double>(index % 251 - 125);
    case Generator::negative: {
      const double v = normal(f.key, i);
      return v < 0 ? v : -v;
    }
    case Generator::ascending:
      return static_cast<double>(col);
    case Generator::shifted:
      return 1000 + normal(f.key, i);
    case Generator::mask_causal:
      // The last row sees every column: queries are the newest keys.
      return col <= (row + (f.cols > f.rows ? f.cols - f.rows : 0)) % f.cols ? 0 : -kInfinity;
    case Generator::mask_full_rows:
      if (row % 3 == 2) return -kInfinity;
      [[fallthrough]];
    case Generator::mask_random:  // 77 of 256
      return (hash(choice_key, i) & 255) < 77 ? -kInfinity : 0;
    case Generator::int8_full:
      return static_cast<double>(static_cast<int64_t>(hash(f.key, i) & 255) - 128);
    case Generator::int8_extreme:
      return (hash(f.key, i) & 1) != 0 ? 127 : -128;
    case Generator::ties:
      return ties_term(f.cols, hash(row_key, static_cast<uint64_t>(row)), col);
    case Generator::ties_partner:
      return col == 0 ? 1 : 127;
    case Generator::probe_pairs:
      return pair_term(f.dtype, f.cols, row, col);
    case Generator::probe_spine:
      return spine_term(f.dtype, f.cols, f.elements / f.cols, row, col);
    case Generator::probe_spine_partner:
      return spine_partner(f.dtype, f.cols, f.elements / f.cols, row, col);
    case Generator::probe_near:
      return ladder_term(f.dtype, 0, 1, 2, row, col);
    case Generator::probe_far:
      return ladder_term(f.dtype, 0, f.cols / 2, f.cols - 1, row, col);
    case Generator::probe_ends:
      return ladder_term(f.dtype, 0, 1, f.cols - 1, row, col);
    case Generator::probe_bits:
      return bits_term(row, col);
    case Generator::probe_fused:
      return fused_term(f.dtype, f.cols, row, col);
    case Generator::probe_fused_partner:
      return fused_partner(f.dtype, row, col);
    case Generator::probe_subnormal:
      return subnormal_term(f.dtype, row, col);
    case Generator::probe_absorb:
      return absorb_term(f.dtype, f.cols, row, col);
    case Generator::probe_faint:
      return faint_term(f.dtype, col);
    case Generator::probe_order: {
      const double v = mirrored(f, row, col);
      const int64_t turned = f.cols - 1 - col;
      return col < turned ? v : col > turned ? -v : 0;
    }
    case Generator::probe_order_partner:
      return mirrored(f, row, col);
    case Generator::probe_patterns:
      return pattern(f.dtype, index, hash(f.key, i));
    case Generator::probe_steps: {
      const int64_t sum = row % probe::kStepsRows - probe::kStepsRows / 2;
      return col == 0 ? static_cast<double>(sum) : 0;
    }
    case Generator::every:
      return decode(f.dtype, every_bits(f, index));
    case Generator::dominant:
    case Generator::triangle: {
      // Of a square matrix, whose elements may have parts; rows count those.
      const int64_t parts = f.elements / (f.cols * f.cols), line = row / (parts < 1 ? 1 : parts);
      if (line == col) return (hash(choice_key, i) & 1) != 0 ? -1 - uniform(f.key, i) : 1 + uniform(f.key, i);
      if (col > line && f.generator == Generator::triangle) return kNan;
      return normal(f.key, i) / static_cast<double>(f.cols);
    }
    case Generator::sparse: {  // one element in each eighth of a row
      const int64_t eighth = (f.cols + 7) / 8;
      const uint64_t draw = hash(row_key, static_cast<uint64_t>(8 * row + col / eighth));
      if (static_cast<uint64_t>(col % eighth) != (draw >> 1) % static_cast<uint64_t>(eighth)) return 0;
      return (draw & 1) != 0 ? -1 : 1;
    }
  }
  return kNan;  // not reached: the switch is complete
}

}  // namespace fill_detail

// The element at (row, col), before rounding to the dtype; row counts all rows of the tensor. With the default scale
// and shift the generator's value is returned as it is, signed zero included.
ASSAY_HD inline double fill_unrounded(const FillPlan& f, int64_t row, int64_t col) {
  const double v = fill_detail::generate(f, row, col);
  if (!(v == v)) return v;  // arithmetic may turn its sign, on some machines
  const double scaled = f.scale == 1 ? v : v * f.scale;
  return f.shift == 0 ? scaled : scaled + f.shift;
}

// Where a logical index lies in the matrix that generators see.
struct FillPlace {
  int64_t row, col;
};
ASSAY_HD inline FillPlace fill_place(const FillPlan& f, int64_t logical_index) {
  const int64_t line = logical_index / f.inner;
  return {line / f.cols * f.inner + logical_index % f.inner, line % f.cols};
}

ASSAY_HD inline double fill_unrounded(const FillPlan& f, int64_t logical_index) {
  const FillPlace at = fill_place(f, logical_index);
  return fill_unrounded(f, at.row, at.col);
}

// The bits of one element, rounded to the dtype.
ASSAY_HD inline uint64_t fill_bits(const FillPlan& f, int64_t logical_index) {
  const FillPlace at = fill_place(f, logical_index);
  // A NaN's payload does not survive a double.
  if (f.generator == Generator::every) return fill_detail::every_bits(f, at.row * f.cols + at.col);
  return encode(f.dtype, fill_unrounded(f, at.row, at.col));
}

// One element, rounded to the dtype.
ASSAY_HD inline double fill_element(const FillPlan& f, int64_t logical_index) {
  return round_to(f.dtype, fill_unrounded(f, logical_index));
}

// The same for a single element without a plan.
double fill_value(const FillSpec& spec, uint64_t seed, std::string_view tensor_name, std::span<const int64_t> shape,
                  DType dtype, int64_t logical_index);

// Writes every element of a tensor whose element (0,...,0) is at `first_element`, whatever spec.is_read says; bytes
// between rows are not touched.
void fill_tensor(const TensorSpec& spec, uint64_t seed, std::byte* first_element, int threads = 1);

// The names of the generators, and one line on each.
const std::vector<std::string>& generator_names();
std::string_view generator_summary(std::string_view name);  // throws UsageError

}  // namespace assay
