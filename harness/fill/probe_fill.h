// The generators probe_* of fill/fill.h: core/probe.h says what lies where.
#pragma once

#include "core/hd.h"
#include "core/probe.h"

namespace assay::fill_detail {

ASSAY_HD inline double pair_term(DType t, int64_t k, int64_t row, int64_t col) {
  const auto [big, unit] = probe::magnitudes(t);
  const int64_t i = row / k % k, j = row % k;
  if (i != j && col == i) return detail::power_of_two(big);
  if (i != j && col == j) return -detail::power_of_two(big);
  return detail::power_of_two(unit);
}

ASSAY_HD inline double spine_term(DType t, int64_t k, int64_t rows, int64_t row, int64_t col) {
  const auto [big, unit] = probe::magnitudes(t);
  const int64_t end = probe::end_of_stretch(k, rows, row);
  if (end != 0 && col == 0) return detail::power_of_two(big);
  if (end != 0 && col == end) return -detail::power_of_two(big);
  return col % probe::stretch(k, rows) == probe::stretch(k, rows) - 1 ? detail::power_of_two(unit) : 0;
}

// The second factors of column `row` of the product.
ASSAY_HD inline double spine_partner(DType t, int64_t k, int64_t rows, int64_t row, int64_t col) {
  if (!probe::in_both_factors(t)) return 1;
  const auto [big, unit] = probe::magnitudes(t);
  const int64_t end = probe::end_of_stretch(k, rows, row);
  return detail::power_of_two(end != 0 && (col == 0 || col == end) ? big : unit);
}

// `a`, `b`, `c`: where the three terms lie in the first order.
ASSAY_HD inline double ladder_term(DType t, int64_t a, int64_t b, int64_t c, int64_t row, int64_t col) {
  const auto f = static_cast<int>(row % probe::kLadderSteps);
  const auto kind = static_cast<int>(row / probe::kLadderSteps % probe::kLadderKinds);
  const auto order = static_cast<int>(row / (int64_t{probe::kLadderSteps} * probe::kLadderKinds));
  const int64_t first = order == 2 ? b : a, second = order == 0 ? b : c, last = order == 0 ? c : order == 1 ? b : a;
  const bool below = kind == probe::kHalfBelow || kind == probe::kStoredHalfBelow;
  const bool half = kind != probe::kLost && kind != probe::kStored;
  const double one = (below ? -1 : 1) * detail::power_of_two(probe::ladder_base(t));
  if (col == first) return one;
  if (col == second) return one * (half ? 1.5 : 1) * detail::power_of_two(-f);
  return col == last && kind < probe::kStored ? -one : 0;
}

ASSAY_HD inline double bits_term(int64_t row, int64_t col) {
  const auto f = static_cast<int>(row % probe::kLadderSteps);
  const double half = row / probe::kLadderSteps % 2 == 1 ? 1.5 : 1;
  return col == 0 ? 1 + half * detail::power_of_two(-f) : 0;
}

ASSAY_HD inline double fused_term(DType t, int64_t k, int64_t row, int64_t col) {
  const int h = probe::fused_bits(t);
  const bool turned = row / k % 2 == 1;
  const int64_t product = turned ? 0 : row % k, other = turned ? row % k : 0;
  if (product == other) return 0;
  if (col == product) return 1 + detail::power_of_two(-h);
  return col == other ? -(1 + detail::power_of_two(1 - h)) : 0;
}

ASSAY_HD inline double fused_partner(DType t, int64_t row, int64_t col) {
  const bool has_product = row % 4 == probe::kFusedColumn ? col > 0 : row % 4 == probe::kFusedColumnTurned && col == 0;
  return has_product ? 1 + detail::power_of_two(-probe::fused_bits(t)) : 1;
}

ASSAY_HD inline double subnormal_term(DType t, int64_t row, int64_t col) {
  const double least = detail::power_of_two(format_of(t).min_exponent);
  switch (row % probe::kSubnormalRows) {
    case probe::kSubnormalInput:
      return col == 0 ? least / 2 : 0;
    case probe::kSubnormalSum:
      return col == 0 ? least : col == 1 ? -1.5 * least : 0;
    default:
      return col == 0 ? least : 0;
  }
}

// Terms of a softmax: e to these is 1, and less than half of what 1 is known to, so that two together count.
ASSAY_HD inline double absorb_term(DType t, int64_t k, int64_t row, int64_t col) {
  constexpr double kLog2 = 0x1.62e42fefa39efp-1;
  return col == row % k ? 0 : -kLog2 * (t == DType::f64 ? 53.5 : 24.5);
}

// e to the last is below the type's normal numbers, and well above the least subnormal one.
ASSAY_HD inline double faint_term(DType t, int64_t col) {
  constexpr double kLog2 = 0x1.62e42fefa39efp-1;
  return col == 0 ? 0 : kLog2 * format_of(t).min_exponent - 0.5;
}

// Bits of every size: 16 of them from the index, the others from `noise`.
ASSAY_HD inline double pattern(DType t, int64_t index, uint64_t noise) {
  const int below = static_cast<int>(8 * size_of(t)) - 16;
  if (below <= 0) return decode(t, static_cast<uint64_t>(index) & ((uint64_t{1} << (16 + below)) - 1));
  return decode(t, ((static_cast<uint64_t>(index) & 0xffff) << below) | (noise >> (64 - below)));
}

// The whole numbers that `ties` spreads along a row of k: with 1 times the first and 127 times the others they sum to
// (2 u + 1) 2^(p-1) + e, u and e drawn by `noise`.
ASSAY_HD inline double ties_term(int64_t k, uint64_t noise, int64_t col) {
  const int p = probe::ties_exponent(k);
  if (p == 0) return col == 0 ? static_cast<double>(noise % 255) - 127 : 0;
  const auto u = static_cast<int64_t>(noise % 200) - 100;
  const auto e = static_cast<int64_t>((noise >> 32) % (2 * probe::kTiesReach + 1)) - probe::kTiesReach;
  const int64_t sum = (2 * u + 1) * (int64_t{1} << (p - 1)) + e;
  const auto floor_of = [](int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); };
  const int64_t others = floor_of(sum, 127);
  if (col == 0) return static_cast<double>(sum - 127 * others);
  const int64_t each = floor_of(others, k - 1);
  return static_cast<double>(each + (col - 1 < others - each * (k - 1) ? 1 : 0));
}

}  // namespace assay::fill_detail
