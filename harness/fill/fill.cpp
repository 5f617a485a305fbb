#include "fill/fill.h"

#include <algorithm>
#include <array>
#include <thread>

#include "core/error.h"

namespace assay {
namespace {

struct GeneratorRow {
  Generator generator;
  std::string_view name;
  std::string_view summary;
};

constexpr std::array kGenerators{
    GeneratorRow{Generator::normal, "normal", "mean 0, standard deviation 1, within +-6"},
    GeneratorRow{Generator::uniform, "uniform", "[0, 1), before rounding to the dtype"},
    GeneratorRow{Generator::cancelling, "cancelling", "pairs v, -v (1 + a few ulps) along a row"},
    GeneratorRow{Generator::scaled, "scaled", "normal, each row times a power of two from 2^-20 to 2^20"},
    GeneratorRow{Generator::huge, "huge", "either sign, from half the largest finite number to all of it"},
    GeneratorRow{Generator::subnormal, "subnormal", "subnormal numbers of the dtype, either sign"},
    GeneratorRow{Generator::signed_zeros, "signed_zeros", "three quarters +0 or -0, the rest normal"},
    GeneratorRow{Generator::special, "special", "normal, about every second row with a NaN, +Inf or -Inf"},
    GeneratorRow{Generator::nan_one, "nan_one", "normal with one NaN"},
    GeneratorRow{Generator::integers, "integers", "-8 to 8"},
    GeneratorRow{Generator::ones, "ones", "1"},
    GeneratorRow{Generator::zeros, "zeros", "0"},
    GeneratorRow{Generator::constant, "constant", "one normal value a row"},
    GeneratorRow{Generator::onehot, "onehot", "row i has a 1 at column (7 i + 3 + seed) mod columns"},
    GeneratorRow{Generator::identity, "identity", "1 on the diagonal of the last two axes"},
    GeneratorRow{Generator::index, "index", "logical index mod 251, minus 125"},
    GeneratorRow{Generator::negative, "negative", "minus the magnitude of normal"},
    GeneratorRow{Generator::ascending, "ascending", "the column index"},
    GeneratorRow{Generator::shifted, "shifted", "1000 + normal"},
    GeneratorRow{Generator::mask_causal, "mask_causal", "0 up to the diagonal that ends in the last row, -Inf beyond"},
    GeneratorRow{Generator::mask_random, "mask_random", "-Inf with probability 0.3, else 0"},
    GeneratorRow{Generator::mask_full_rows, "mask_full_rows", "mask_random with every third row all -Inf"},
    GeneratorRow{Generator::int8_full, "int8_full", "-128 to 127"},
    GeneratorRow{Generator::int8_extreme, "int8_extreme", "-128 or 127"},
    GeneratorRow{Generator::ties, "ties", "rows whose sums with ties_partner lie at and beside odd multiples of a 2^p"},
    GeneratorRow{Generator::ties_partner, "ties_partner", "1 in the first column, 127 in the others"},
    // core/probe.h says what lies where.
    GeneratorRow{Generator::probe_pairs, "probe_pairs", "units, but for a large number and its negative: all pairs"},
    GeneratorRow{Generator::probe_spine, "probe_spine", "the same, the first element with each other"},
    GeneratorRow{Generator::probe_spine_partner, "probe_spine_partner", "second factors for probe_spine"},
    GeneratorRow{Generator::probe_near, "probe_near", "1, 2^-f, -1 beside each other"},
    GeneratorRow{Generator::probe_far, "probe_far", "1, 2^-f, -1 at the ends and in the middle of a row"},
    GeneratorRow{Generator::probe_ends, "probe_ends", "1, 2^-f beside each other, -1 at the end of the row"},
    GeneratorRow{Generator::probe_bits, "probe_bits", "1 + 2^-f"},
    GeneratorRow{Generator::probe_fused, "probe_fused", "products that tell whether they are rounded"},
    GeneratorRow{Generator::probe_fused_partner, "probe_fused_partner", "second factors for probe_fused"},
    GeneratorRow{Generator::probe_subnormal, "probe_subnormal", "a subnormal number, difference, the least normal one"},
    GeneratorRow{Generator::probe_absorb, "probe_absorb", "exponents: a 1 among numbers that it swallows"},
    GeneratorRow{Generator::probe_faint, "probe_faint", "exponents: 1 and subnormal numbers"},
    GeneratorRow{Generator::probe_order, "probe_order", "rows that sum to exactly zero, but for roundings"},
    GeneratorRow{Generator::probe_order_partner, "probe_order_partner", "second factors for probe_order"},
    GeneratorRow{Generator::probe_patterns, "probe_patterns", "bit patterns: the first 16 bits count"},
    GeneratorRow{Generator::probe_steps, "probe_steps", "row less 64 in the first column, else 0"},
    GeneratorRow{Generator::every, "every", "every bit pattern of the dtype in turn, seed after seed"},
    GeneratorRow{Generator::sparse, "sparse", "1 or -1 at one place in each eighth of a row, else 0"},
    GeneratorRow{Generator::dominant, "dominant",
                 "square: 1 to 2 of either sign on the diagonal, normal / columns else"},
    GeneratorRow{Generator::triangle, "triangle", "dominant with NaN beyond the diagonal of each row"},
};

const GeneratorRow& generator_row(std::string_view name) {
  std::string names;
  for (const GeneratorRow& row : kGenerators) {
    if (row.name == name) return row;
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  throw UsageError("fill: no generator '" + std::string(name) + "'; there are " + names);
}

// FNV-1a; mixed again with the seed.
uint64_t tensor_key(uint64_t seed, std::string_view name) {
  uint64_t h = 0xcbf29ce484222325u;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return fill_detail::hash(fill_detail::hash(h, 0), seed);
}

// The last axis that has more than one element: neighbours along it are neighbours in logical order.
size_t run_axis(const TensorSpec& spec) {
  size_t axis = spec.shape.size();
  while (axis > 1 && spec.shape[axis - 1] == 1) --axis;
  return axis - 1;  // rank 0 has none, and is one run of one element
}

int64_t run_length(const TensorSpec& spec) { return spec.shape.empty() ? 1 : spec.shape[run_axis(spec)]; }

// Fills runs along that axis, `begin` to `end` of them in logical order.
template <DType T>
void fill_runs(const TensorSpec& spec, const FillPlan& plan, std::byte* first, int64_t begin, int64_t end) {
  const int64_t length = run_length(spec);
  const int64_t stride = spec.strides.empty() ? 1 : spec.strides[run_axis(spec)];
  const int64_t step_col = plan.inner == 1 && plan.cols > 1 ? 1 : 0;  // rows lie along the run, or across it
  const int64_t step_row = 1 - step_col;
  for (int64_t run = begin; run < end; ++run) {
    const int64_t logical = run * length;
    const int64_t offset = offset_of(spec, logical);
    const int64_t line = logical / plan.inner;
    const int64_t row = line / plan.cols * plan.inner + logical % plan.inner;
    const int64_t col = line % plan.cols;
    if (plan.generator == Generator::every) {  // not through a double, in which a NaN's payload is lost
      const int64_t first_index = row * plan.cols + col, step = step_row * plan.cols + step_col;
      const uint64_t start = fill_detail::every_bits(plan, first_index);
      // Mostly the patterns of a run follow one another.
      const bool counts_up = step == 1 && fill_detail::every_bits(plan, first_index + length - 1) ==
                                              start + static_cast<uint64_t>(length - 1);
      for (int64_t i = 0; counts_up && i < length; ++i) {
        store_bits(T, first, offset + i * stride, start + static_cast<uint64_t>(i));
      }
      for (int64_t i = 0; !counts_up && i < length; ++i) {
        store_bits(T, first, offset + i * stride, fill_detail::every_bits(plan, first_index + i * step));
      }
      continue;
    }
    for (int64_t i = 0; i < length; ++i) {
      const double value = fill_unrounded(plan, row + i * step_row, col + i * step_col);
      store_bits(T, first, offset + i * stride, encode(T, value));
    }
  }
}

// Zero has the bits 0 in every type.
void zero_all_but(const IndexRanges& kept, const TensorSpec& spec, std::byte* first) {
  int64_t next = 0;
  const auto zero_up_to = [&](int64_t end) {
    for (; next < end; ++next) store_bits(spec.dtype, first, offset_of(spec, next), 0);
  };
  for (const IndexRange& range : kept) {
    if (range.last >= spec.elements()) return zero_up_to(std::min(range.first, spec.elements()));
    zero_up_to(range.first);
    next = range.last + 1;
  }
  zero_up_to(spec.elements());
}

using RunFiller = void (*)(const TensorSpec&, const FillPlan&, std::byte*, int64_t, int64_t);

RunFiller run_filler(DType t) {
  switch (t) {
    case DType::f64:
      return fill_runs<DType::f64>;
    case DType::f32:
      return fill_runs<DType::f32>;
    case DType::f16:
      return fill_runs<DType::f16>;
    case DType::bf16:
      return fill_runs<DType::bf16>;
    case DType::e4m3:
      return fill_runs<DType::e4m3>;
    case DType::i32:
      return fill_runs<DType::i32>;
    case DType::i8:
      return fill_runs<DType::i8>;
    case DType::u8:
      return fill_runs<DType::u8>;
  }
  throw Error("fill: unknown dtype");
}

}  // namespace

FillPlan plan_fill(const FillSpec& spec, uint64_t seed, std::string_view tensor_name, std::span<const int64_t> shape,
                   DType dtype) {
  FillPlan plan{.generator = generator_row(spec.generator).generator,
                .dtype = dtype,
                .scale = spec.scale,
                .shift = spec.shift,
                .seed = seed,
                .key = tensor_key(seed, tensor_name)};
  if (plan.generator == Generator::every && (spec.scale != 1 || spec.shift != 0)) {
    throw Error("fill of tensor " + std::string(tensor_name) + ": every is bit patterns, which have no scale or shift");
  }
  for (const int64_t dim : shape) plan.elements *= dim;
  if (plan.elements == 0) return plan;
  const int rank = static_cast<int>(shape.size());
  const int axis = spec.axis < 0 ? spec.axis + rank : spec.axis;
  if (rank > 0 && (axis < 0 || axis >= rank)) {
    throw Error("fill of tensor " + std::string(tensor_name) + ": no axis " + std::to_string(spec.axis) + " in " +
                std::to_string(rank) + " dimensions");
  }
  if (rank > 0) plan.cols = shape[static_cast<size_t>(axis)];
  for (int after = axis + 1; after < rank; ++after) plan.inner *= shape[static_cast<size_t>(after)];
  plan.rows = axis + 1 < rank ? plan.inner : axis > 0 ? shape[static_cast<size_t>(axis) - 1] : 1;
  const uint64_t draw = fill_detail::hash(plan.key ^ fill_detail::kRowStream, 0);
  plan.one_index = static_cast<int64_t>(draw % static_cast<uint64_t>(plan.elements));
  return plan;
}

double fill_value(const FillSpec& spec, uint64_t seed, std::string_view tensor_name, std::span<const int64_t> shape,
                  DType dtype, int64_t logical_index) {
  const auto holds = [&](const IndexRange& range) {
    return range.first <= logical_index && logical_index <= range.last;
  };
  if (spec.support && std::ranges::none_of(*spec.support, holds)) return 0;
  return fill_element(plan_fill(spec, seed, tensor_name, shape, dtype), logical_index);
}

void fill_tensor(const TensorSpec& spec, uint64_t seed, std::byte* first_element, int threads) {
  const FillPlan plan = plan_fill(spec.fill, seed, spec.name, spec.shape, spec.dtype);
  if (plan.elements == 0) return;
  const RunFiller filler = run_filler(spec.dtype);
  const int64_t runs = plan.elements / run_length(spec);
  constexpr int64_t kWorthAThread = 1 << 16;  // elements; starting a thread costs tens of microseconds
  const int64_t parts = std::clamp<int64_t>(std::min(runs, plan.elements / kWorthAThread), 1, std::max(threads, 1));
  std::vector<std::jthread> helpers;
  for (int64_t part = 1; part < parts; ++part) {
    helpers.emplace_back(filler, std::cref(spec), std::cref(plan), first_element, runs * part / parts,
                         runs * (part + 1) / parts);
  }
  filler(spec, plan, first_element, 0, runs / parts);
  helpers.clear();  // they have ended
  if (spec.fill.support) zero_all_but(*spec.fill.support, spec, first_element);
}

const std::vector<std::string>& generator_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const GeneratorRow& row : kGenerators) names.emplace_back(row.name);
    return names;
  }();
  return kNames;
}

std::string_view generator_summary(std::string_view name) { return generator_row(name).summary; }

}  // namespace assay
