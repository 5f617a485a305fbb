// check/relations.h: what two outputs must have in common, where that is broken, and what is done to inputs to see it.
#include "check/relations.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace assay {
namespace {

// 2 x 3 x 4, rows two elements longer than they are.
const std::vector<int64_t> kShape{2, 3, 4};
TensorSpec padded() { return {.name = "y", .shape = kShape, .strides = row_major(kShape, 2), .fill = {}}; }

std::vector<float> counting(const TensorSpec& spec) {
  std::vector<float> values(static_cast<size_t>(spec.span_elements()));
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}
const std::byte* bytes_of(const std::vector<float>& values) {
  return reinterpret_cast<const std::byte*>(values.data());
}
std::byte* bytes_of(std::vector<float>& values) { return reinterpret_cast<std::byte*>(values.data()); }
float& at(std::vector<float>& values, int64_t i) { return values[static_cast<size_t>(offset_of(padded(), i))]; }

TEST(Relations, ASliceHoldsItsElementsAlone) {
  const Slice rows = slice_of(padded(), 1, 2), columns = slice_of(padded(), 2, 3), first = slice_of(padded(), 0, 0);
  for (int64_t i = 0; i < 24; ++i) {
    EXPECT_EQ(rows.holds(i), i / 4 % 3 == 2) << i;
    EXPECT_EQ(columns.holds(i), i % 4 == 3) << i;
    EXPECT_EQ(first.holds(i), i < 12) << i;
  }
}

TEST(Relations, OnlyChangesOutsideTheSliceAreFound) {
  const std::vector<float> before = counting(padded());
  std::vector<float> after = before;
  const Slice slice = slice_of(padded(), 1, 2);
  at(after, 8) = at(after, 11) = -1;
  after[4] = -1;  // padding
  EXPECT_EQ(changed_outside(slice, padded(), bytes_of(before), bytes_of(after)), kNowhere);
  at(after, 23) = -1;  // in the slice too
  at(after, 12) = -1;
  EXPECT_EQ(changed_outside(slice, padded(), bytes_of(before), bytes_of(after)), 12);
}

TEST(Relations, NumbersInTheSliceAreFound) {
  std::vector<float> values = counting(padded());
  const Slice slice = slice_of(padded(), 1, 2);
  EXPECT_EQ(number_in(slice, padded(), bytes_of(values)), 8);
  set_nan(slice, padded(), bytes_of(values));
  EXPECT_EQ(number_in(slice, padded(), bytes_of(values)), kNowhere);
  at(values, 21) = -1;
  EXPECT_EQ(number_in(slice, padded(), bytes_of(values)), 21);
  const std::vector<int32_t> integers(24);
  const TensorSpec of_integers{
      .name = "k", .dtype = DType::i32, .shape = kShape, .strides = row_major(kShape), .fill = {}};
  EXPECT_EQ(number_in(slice, of_integers, reinterpret_cast<const std::byte*>(integers.data())), 8);
}

TEST(Relations, ALeadingPartMayLieOtherwise) {
  TensorSpec part = padded();
  part.shape[0] = 1;
  part.strides = row_major(part.shape);
  std::vector<float> whole = counting(padded()), alone;
  for (int64_t i = 0; i < 12; ++i) alone.push_back(at(whole, i));
  EXPECT_EQ(changed_in_leading_part(padded(), bytes_of(whole), part, bytes_of(alone)), kNowhere);
  alone[7] = 0.5f;
  EXPECT_EQ(changed_in_leading_part(padded(), bytes_of(whole), part, bytes_of(alone)), 7);
}

TEST(Relations, ReversedSlicesLieWhereTheirCounterpartsLay) {
  const std::vector<float> before = counting(padded());
  for (int axis = 0; axis < 3; ++axis) {
    std::vector<float> after = before;
    reverse(padded(), axis, bytes_of(after));
    for (int64_t i = 0; i < 24; ++i) {
      int64_t of[] = {i / 12, i / 4 % 3, i % 4};
      auto& along = of[static_cast<size_t>(axis)];
      along = kShape[static_cast<size_t>(axis)] - 1 - along;
      const auto from = static_cast<size_t>(offset_of(padded(), 12 * of[0] + 4 * of[1] + of[2]));
      EXPECT_EQ(at(after, i), before[from]) << axis << " " << i;
    }
    for (const size_t padding : {4u, 5u, 10u}) EXPECT_EQ(after[padding], before[padding]) << axis;
    reverse(padded(), axis, bytes_of(after));
    EXPECT_EQ(after, before) << axis;
  }
}

TEST(Relations, ColumnsAreReversedWhereverTheyLie) {
  // 2 x 3 by columns, one element between them.
  const TensorSpec columns{.name = "a", .shape = {2, 3}, .strides = {1, 3}, .fill = {}};
  std::vector<float> values{1, 4, 0, 2, 5, 0, 3, 6};
  reverse(columns, 1, bytes_of(values));
  EXPECT_EQ(values, (std::vector<float>{3, 6, 0, 2, 5, 0, 1, 4}));
  reverse(columns, 0, bytes_of(values));
  EXPECT_EQ(values, (std::vector<float>{6, 3, 0, 5, 2, 0, 4, 1}));
}

TEST(Relations, AmongZerosElementsKeepTheirCoordinates) {
  const TensorSpec small{.name = "a", .shape = {2, 3}, .strides = {4, 1}, .fill = {}};
  const std::vector<float> values{1, 2, 3, -1, 4, 5, 6};
  // One longer along either axis, by columns, with an element between them.
  const TensorSpec larger{.name = "a", .shape = {3, 4}, .strides = {1, 4}, .fill = {}};
  std::vector<float> got(static_cast<size_t>(larger.span_elements()), 9.0f);
  put_among_zeros(small, bytes_of(values), larger, bytes_of(got));
  EXPECT_EQ(got, (std::vector<float>{1, 4, 0, 9, 2, 5, 0, 9, 3, 6, 0, 9, 0, 0, 0}));
  for (const float zero : {got[2], got[12]}) EXPECT_FALSE(std::signbit(zero));
}

TEST(Relations, ScalingIsExactOrBroken) {
  std::vector<float> before = counting(padded());
  at(before, 3) = 1e38f;  // four times it overflows: it says nothing
  std::vector<float> after = before;
  scale(padded(), 2, bytes_of(after));
  EXPECT_EQ(at(after, 5), 4 * at(before, 5));
  const Scaling exact = scaling_of(padded(), 2, bytes_of(before), bytes_of(after));
  EXPECT_EQ(exact.broken, kNowhere);
  EXPECT_EQ(exact.looked_at, 23);
  at(after, 5) = std::nextafter(at(after, 5), 0.0f);
  EXPECT_EQ(scaling_of(padded(), 2, bytes_of(before), bytes_of(after)).broken, 5);
}

TEST(Relations, NaNGoesIntoTheSliceAlone) {
  const std::vector<float> before = counting(padded());
  std::vector<float> after = before;
  set_nan(slice_of(padded(), 2, 1), padded(), bytes_of(after));
  for (int64_t i = 0; i < 24; ++i) EXPECT_EQ(std::isnan(at(after, i)), i % 4 == 1) << i;
  EXPECT_EQ(after[4], before[4]);  // padding
}

}  // namespace
}  // namespace assay
