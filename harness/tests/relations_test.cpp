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
