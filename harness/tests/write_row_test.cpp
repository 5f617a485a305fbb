// RowWriter, streamed and not: the same bytes at every address and length, and not one beyond.
#include "common/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "write_row_test.cpp"
#include "hwy/foreach_target.h"
//
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "common/half-inl.h"
#include "common/stream-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {

// Elements i on, of i + 1, which every type here holds exactly up to the longest row.
template <class T, class D>
Pair<D> counting(D d, int64_t i) {
  using C = hn::TFromD<D>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto first = hn::Iota(d, C(0));
  if constexpr (is_interleaved<T>) {
    const auto even = hn::Add(hn::Add(first, first), hn::Set(d, static_cast<C>(i + 1)));
    return {even, hn::Add(even, hn::Set(d, C(1)))};
  }
  return {hn::Add(first, hn::Set(d, static_cast<C>(i + 1))), hn::Add(first, hn::Set(d, static_cast<C>(i + 1 + lanes)))};
}

// As one row, and as two, neighbours in memory.
template <class T>
void write(T* to, int64_t n, bool stream) {
  using D = typename RowWriter<T>::D;
  const D d;
  const int64_t two = 2 * static_cast<int64_t>(hn::Lanes(d));
  RowWriter<T> writer(stream);
  for (const int64_t split : {n, n / 3}) {
    for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, split}, {split, n}}) {
      if (begin == end) continue;
      writer.begin_row(to + begin, end - begin);
      for (int64_t i = begin; i < end; i += two) {
        if (i + two <= end) {
          writer.put(counting<T>(d, i));
        } else {
          writer.put_n(counting<T>(d, i), static_cast<size_t>(end - i));
        }
      }
    }
  }
}

// `rows` rows of n elements, alike, each `stride` after the one before.
template <class T>
void write_rows(T* to, int64_t n, int64_t stride, int64_t rows, bool stream) {
  using D = typename RowWriter<T>::D;
  const D d;
  const int64_t two = 2 * static_cast<int64_t>(hn::Lanes(d));
  RowWriter<T> writer(stream);
  for (int64_t row = 0; row < rows; ++row) {
    writer.begin_row(to + row * stride, n);
    int64_t i = 0;
    for (; i + two <= n; i += two) writer.put(counting<T>(d, i));
    if (i < n) writer.put_n(counting<T>(d, i), static_cast<size_t>(n - i));
  }
}

void write_rows_f64(double* to, int64_t n, int64_t stride, int64_t rows, bool stream) {
  write_rows(to, n, stride, rows, stream);
}
void write_rows_bf16(bf16* to, int64_t n, int64_t stride, int64_t rows, bool stream) {
  write_rows(to, n, stride, rows, stream);
}

void write_f64(double* to, int64_t n, bool stream) { write(to, n, stream); }
void write_f32(float* to, int64_t n, bool stream) { write(to, n, stream); }
void write_f16(f16* to, int64_t n, bool stream) { write(to, n, stream); }
void write_bf16(bf16* to, int64_t n, bool stream) { write(to, n, stream); }

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::simd {
namespace {

HWY_EXPORT(write_f64);
HWY_EXPORT(write_f32);
HWY_EXPORT(write_f16);
HWY_EXPORT(write_bf16);
HWY_EXPORT(write_rows_f64);
HWY_EXPORT(write_rows_bf16);

constexpr int64_t kLongest = 200;  // of integers, bf16 holds those to 256

double value(double x) { return x; }
double value(float x) { return x; }
double value(bf16 x) { return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16); }
double value(f16 x) { return std::ldexp(1024 + (x.bits & 1023), (x.bits >> 10) - 25); }  // normal numbers

class WriteRow : public testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    hwy::SetSupportedTargetsForTest(GetParam());
    hwy::GetChosenTarget().Update(GetParam());
  }
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
  }

  template <class T, class Function>
  static void expect_exactly_the_row(Function function) {
    const int64_t most_offset = 64 / static_cast<int64_t>(sizeof(T));
    for (const bool stream : {false, true}) {
      for (int64_t offset = 0; offset <= most_offset; ++offset) {
        for (int64_t n = 0; n <= kLongest; ++n) {
          alignas(64) T row[kLongest + 128];
          std::memset(row, 0xA5, sizeof row);
          const std::vector<unsigned char> poison(sizeof row, 0xA5);
          function(row + offset, n, stream);
          for (int64_t i = 0; i < n; ++i)
            ASSERT_EQ(value(row[offset + i]), i + 1) << offset << " " << n << " " << stream;
          ASSERT_EQ(std::memcmp(row, poison.data(), static_cast<size_t>(offset) * sizeof(T)), 0) << offset << " " << n;
          const auto used = static_cast<size_t>(offset + n) * sizeof(T);
          ASSERT_EQ(std::memcmp(reinterpret_cast<char*>(row) + used, poison.data(), sizeof row - used), 0)
              << offset << " " << n << " " << stream;
        }
      }
    }
  }
};

TEST_P(WriteRow, WritesExactlyTheRowAtAnyAddress) {
  expect_exactly_the_row<double>(&HWY_DYNAMIC_DISPATCH(write_f64));
  expect_exactly_the_row<float>(&HWY_DYNAMIC_DISPATCH(write_f32));
  expect_exactly_the_row<f16>(&HWY_DYNAMIC_DISPATCH(write_f16));
  expect_exactly_the_row<bf16>(&HWY_DYNAMIC_DISPATCH(write_bf16));
}

// Enough rows that those gathered into lines wrap around where they wait.
template <class T, class Function>
void expect_exactly_the_rows(Function function) {
  using Bytes = std::array<unsigned char, sizeof(T)>;
  constexpr int64_t kBytes = 20'000, kPoison = 0xA5;
  for (const int64_t n : {1, 3, 31, 33, 150, 200}) {
    for (const int64_t stride : {n, n + 1, n + 64}) {
      for (int64_t offset = 0; offset < 8; ++offset) {
        const int64_t rows = kBytes / (stride * static_cast<int64_t>(sizeof(T))) + 1;
        std::vector<T> all(static_cast<size_t>(offset + rows * stride + 64));
        std::memset(all.data(), kPoison, all.size() * sizeof(T));
        const T untouched = all[0];
        function(all.data() + offset, n, stride, rows, true);
        for (int64_t i = 0; i < static_cast<int64_t>(all.size()); ++i) {
          const int64_t at = i - offset, column = at % stride;
          const T got = all[static_cast<size_t>(i)];
          if (at >= 0 && at < rows * stride && column < n) {
            ASSERT_EQ(value(got), column + 1) << n << " " << stride << " " << offset << " " << i;
          } else {
            ASSERT_EQ(std::bit_cast<Bytes>(got), std::bit_cast<Bytes>(untouched))
                << n << " " << stride << " " << offset << " " << i;
          }
        }
      }
    }
  }
}

TEST_P(WriteRow, WritesExactlyManyRows) {
  expect_exactly_the_rows<double>(&HWY_DYNAMIC_DISPATCH(write_rows_f64));
  expect_exactly_the_rows<bf16>(&HWY_DYNAMIC_DISPATCH(write_rows_bf16));
}

std::vector<int64_t> targets() {
  std::vector<int64_t> all;
  for (int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1) all.push_back(left & -left);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Targets, WriteRow, testing::ValuesIn(targets()),
                         [](const auto& info) { return std::string(hwy::TargetName(info.param)); });

}  // namespace
}  // namespace assay::simd
#endif
