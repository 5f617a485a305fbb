// Fills: purity, statistics of each generator, and bits that never change silently.
#include "fill/fill.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "core/error.h"

namespace assay {
namespace {

constexpr uint64_t kSeed = 7;

TensorSpec spec_of(const std::string& generator, DType dtype, std::vector<int64_t> shape, int64_t pad = 0) {
  TensorSpec spec{.name = "x", .dtype = dtype, .shape = shape, .strides = row_major(shape, pad)};
  spec.fill.generator = generator;
  return spec;
}

std::vector<std::byte> filled(const TensorSpec& spec, int threads = 1, int poison = 0xa5) {
  std::vector<std::byte> data(static_cast<size_t>(spec.span_elements()) * size_of(spec.dtype), std::byte(poison));
  fill_tensor(spec, kSeed, data.data(), threads);
  return data;
}

std::vector<double> values(const std::string& generator, DType dtype, std::vector<int64_t> shape,
                           uint64_t seed = kSeed) {
  const TensorSpec spec = spec_of(generator, dtype, shape);
  std::vector<std::byte> data(static_cast<size_t>(spec.elements()) * size_of(dtype));
  fill_tensor(spec, seed, data.data());
  std::vector<double> out;
  for (int64_t i = 0; i < spec.elements(); ++i) out.push_back(load(dtype, data.data(), i));
  return out;
}

struct Moments {
  double mean, variance, skew, kurtosis;
};
Moments moments(const std::vector<double>& x) {
  const double n = static_cast<double>(x.size());
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
  double m2 = 0, m3 = 0, m4 = 0;
  for (const double v : x) {
    const double d = v - mean;
    m2 += d * d / n;
    m3 += d * d * d / n;
    m4 += d * d * d * d / n;
  }
  return {mean, m2, m3 / std::pow(m2, 1.5), m4 / (m2 * m2)};
}

TEST(Fill, AnyElementInAnyOrderEqualsTheFilledTensor) {
  std::mt19937_64 random(3);
  for (const std::string& generator : generator_names()) {
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i8}) {
      const TensorSpec spec = spec_of(generator, dtype, {2, 5, 9}, 3);
      const std::vector<std::byte> data = filled(spec);
      for (int draw = 0; draw < 200; ++draw) {
        const auto i = static_cast<int64_t>(random() % 90);
        const double alone = fill_value(spec.fill, kSeed, "x", spec.shape, dtype, i);
        EXPECT_EQ(encode(dtype, alone), load_bits(dtype, data.data(), offset_of(spec, i)))
            << generator << " " << name_of(dtype) << " " << i;
      }
    }
  }
}

TEST(Fill, RowsMayRunAlongAnyAxis) {
  for (const std::string& generator : generator_names()) {
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{3, 4, 5}, {6, 7, 1}, {1, 9, 1}, {8, 1, 3}, {2, 1, 1}}) {
      TensorSpec spec = spec_of(generator, DType::f32, shape, 2);
      for (int axis = 0; axis < 3; ++axis) {
        spec.fill.axis = axis;
        const std::vector<std::byte> data = filled(spec);
        for (int64_t i = 0; i < spec.elements(); ++i) {
          const double alone = fill_value(spec.fill, kSeed, "x", shape, DType::f32, i);
          EXPECT_EQ(encode(DType::f32, alone), load_bits(DType::f32, data.data(), offset_of(spec, i)))
              << generator << " axis " << axis << " element " << i;
        }
      }
    }
  }
}

TEST(Fill, ATransposedMatrixHasTheSameElements) {
  for (const std::string& generator : generator_names()) {
    const FillSpec along_last{.generator = generator}, along_first{.generator = generator, .axis = 1};
    for (int64_t i = 0; i < 2 * 5 * 7; ++i) {
      const int64_t batch = i / 35, row = i / 7 % 5, col = i % 7;
      const double plain = fill_value(along_last, kSeed, "x", std::vector<int64_t>{2, 5, 7}, DType::f16, i);
      const double turned =
          fill_value(along_first, kSeed, "x", std::vector<int64_t>{2, 7, 5}, DType::f16, batch * 35 + col * 5 + row);
      EXPECT_EQ(encode(DType::f16, plain), encode(DType::f16, turned)) << generator << " " << i;
    }
  }
}

TEST(Fill, AnAxisOutOfRangeIsRefused) {
  EXPECT_THROW(plan_fill({.axis = 2}, 1, "x", std::vector<int64_t>{3, 4}, DType::f32), Error);
  EXPECT_THROW(plan_fill({.axis = -3}, 1, "x", std::vector<int64_t>{3, 4}, DType::f32), Error);
}

TEST(Fill, ThreadsChangeNothing) {
  for (const char* generator : {"normal", "special", "nan_one"}) {
    const TensorSpec spec = spec_of(generator, DType::f32, {700, 513}, 5);
    const auto one = filled(spec, 1);
    EXPECT_EQ(one, filled(spec, 2));
    EXPECT_EQ(one, filled(spec, 5));
  }
}

TEST(Fill, NeverWritesPadding) {
  const TensorSpec spec = spec_of("normal", DType::f16, {4, 7}, 5);
  const auto first = filled(spec, 1, 0xa5);
  const auto second = filled(spec, 1, 0x5a);
  for (int64_t i = 0; i < spec.span_elements(); ++i) {
    const bool padding = i % 12 >= 7;
    EXPECT_EQ(load_bits(DType::f16, first.data(), i) == 0xa5a5, padding) << i;
    EXPECT_EQ(load_bits(DType::f16, second.data(), i) == 0x5a5a, padding) << i;
  }
}

TEST(Fill, EveryIsEachPatternOnceWhateverTheParts) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::i8}) {
    const int64_t patterns = dtype == DType::i8 ? 1 << 8 : 1 << 16;
    for (const int64_t parts : {1, 4, 32}) {
      for (const uint64_t round : {0, 1, 40000}) {  // rounds begin elsewhere
        const TensorSpec spec = spec_of("every", dtype, {2, patterns / parts / 2});
        std::vector<int> seen(static_cast<size_t>(patterns));
        std::vector<std::byte> data(static_cast<size_t>(spec.elements()) * size_of(dtype));
        for (int64_t part = 0; part < parts; ++part) {
          const uint64_t seed = 1 + round * static_cast<uint64_t>(parts) + static_cast<uint64_t>(part);
          fill_tensor(spec, seed, data.data(), 2);
          for (int64_t i = 0; i < spec.elements(); ++i) {
            const uint64_t bits = load_bits(dtype, data.data(), i);
            ++seen[bits];
            EXPECT_EQ(fill_bits(plan_fill(spec.fill, seed, "x", spec.shape, dtype), i), bits);
            if (round == 0) {
              ASSERT_EQ(bits, static_cast<uint64_t>(part * spec.elements() + i));
            }
          }
        }
        EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
        EXPECT_EQ(load_bits(dtype, data.data(), 0) == static_cast<uint64_t>((parts - 1) * spec.elements()), round == 0);
      }
    }
  }
}

// The parts of 2^32 floats are next to each other, begin at +0 and end at the last NaN, payloads and all.
TEST(Fill, EveryFloatComesInPartsOfTheSweep) {
  const TensorSpec spec = spec_of("every", DType::f32, {1024, 1024});
  const auto bits = [&](uint64_t seed, int64_t i) {
    return fill_bits(plan_fill(spec.fill, seed, "x", spec.shape, DType::f32), i);
  };
  for (uint64_t part = 0; part < 4096; ++part) {
    ASSERT_EQ(bits(part + 1, 0), part << 20);
    ASSERT_EQ(bits(part + 1, (1 << 20) - 1), (part << 20) + 0xfffff);
  }
  std::vector<std::byte> data(4u << 20);
  fill_tensor(spec, 2045, data.data());  // quiet and signalling NaNs
  for (int64_t i = 0; i < spec.elements(); i += 997) {
    ASSERT_EQ(load_bits(DType::f32, data.data(), i), 0x7fc00000u + static_cast<uint32_t>(i));
  }
}

TEST(Fill, EveryHasNoScale) {
  EXPECT_THROW(plan_fill({.generator = "every", .scale = 2}, 1, "x", std::vector<int64_t>{4}, DType::f32), Error);
  EXPECT_THROW(plan_fill({.generator = "every", .shift = 1}, 1, "x", std::vector<int64_t>{4}, DType::f32), Error);
}

TEST(Fill, EmptyTensorsWriteNothing) {
  for (const std::string& generator : generator_names()) {
    fill_tensor(spec_of(generator, DType::f32, {0, 4}), kSeed, nullptr);
    fill_tensor(spec_of(generator, DType::f32, {4, 0}), kSeed, nullptr);
  }
}

TEST(Fill, UnknownGeneratorListsTheNames) {
  try {
    plan_fill({.generator = "nomal"}, 1, "x", std::vector<int64_t>{2}, DType::f32);
    FAIL() << "accepted";
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("no generator 'nomal'"), std::string::npos);
    for (const std::string& name : generator_names()) {
      EXPECT_NE(std::string(e.what()).find(name), std::string::npos) << name;
    }
  }
}

TEST(Fill, SeedTensorAndScaleMatter) {
  const std::vector<int64_t> shape{64};
  const auto value = [&](FillSpec spec, uint64_t seed, const char* name) {
    return fill_value(spec, seed, name, shape, DType::f64, 5);
  };
  const double base = value({}, 1, "a");
  EXPECT_NE(base, value({}, 2, "a"));
  EXPECT_NE(base, value({}, 1, "b"));
  EXPECT_EQ(value({.scale = 4}, 1, "a"), 4 * base);
  EXPECT_EQ(value({.scale = 4, .shift = 3}, 1, "a"), 4 * base + 3);
}

// Six standard errors of each moment of n independent draws.
TEST(Fill, NormalHasTheMomentsOfTheIrwinHallSum) {
  const auto x = values("normal", DType::f64, {1000, 1000});
  const double n = static_cast<double>(x.size());
  const Moments m = moments(x);
  EXPECT_LT(std::fabs(m.mean), 6 / std::sqrt(n));
  EXPECT_LT(std::fabs(m.variance - 1), 6 * std::sqrt(1.9 / n));
  EXPECT_LT(std::fabs(m.skew), 6 * std::sqrt(6 / n));
  EXPECT_LT(std::fabs(m.kurtosis - 2.9), 6 * std::sqrt(24 / n));  // 3 - 6/(5 * 12)
  const auto [least, most] = std::minmax_element(x.begin(), x.end());
  EXPECT_GT(*least, -6);
  EXPECT_LT(*most, 6);
  double neighbours = 0;
  for (size_t i = 1; i < x.size(); ++i) neighbours += x[i] * x[i - 1] / n;
  EXPECT_LT(std::fabs(neighbours), 6 / std::sqrt(n));
  int64_t odd = 0;  // the last bits are random: f64 inputs fill their significand
  for (const double v : x) odd += static_cast<int64_t>(std::fabs(v) * 0x1p49) & 1;
  EXPECT_LT(std::fabs(static_cast<double>(odd) - n / 2), 6 * std::sqrt(n) / 2);
}

TEST(Fill, DifferentTensorsAndSeedsAreUncorrelated) {
  const auto a = values("normal", DType::f64, {100000}, 1);
  const auto b = values("normal", DType::f64, {100000}, 2);
  double product = 0;
  for (size_t i = 0; i < a.size(); ++i) product += a[i] * b[i] / 1e5;
  EXPECT_LT(std::fabs(product), 6 / std::sqrt(1e5));
}

TEST(Fill, UniformFillsTheUnitInterval) {
  const auto x = values("uniform", DType::f64, {1000000});
  const Moments m = moments(x);
  EXPECT_LT(std::fabs(m.mean - 0.5), 6 * std::sqrt(1 / 12.0 / 1e6));
  EXPECT_LT(std::fabs(m.variance - 1 / 12.0), 6 * std::sqrt(1 / 180.0 / 1e6));
  const auto [least, most] = std::minmax_element(x.begin(), x.end());
  EXPECT_GE(*least, 0);
  EXPECT_LT(*most, 1);
  EXPECT_LT(*least, 1e-4);
  EXPECT_GT(*most, 1 - 1e-4);
}

TEST(Fill, CancellingPairsNearlyCancel) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const auto x = values("cancelling", dtype, {100, 64});
    int differ = 0;
    for (size_t i = 0; i < x.size(); i += 2) {
      EXPECT_LE(std::fabs(x[i] + x[i + 1]), 12 * unit_roundoff(dtype) * std::fabs(x[i])) << name_of(dtype);
      differ += x[i] + x[i + 1] != 0;
    }
    EXPECT_GT(differ, 2000) << name_of(dtype);  // of 3200: the remainder survives rounding
  }
}

TEST(Fill, ScaledRowsSpanTheirRange) {
  const auto x = values("scaled", DType::f32, {2000, 64});
  int least = 99, most = -99;
  for (size_t row = 0; row < 2000; ++row) {
    double square = 0;
    for (size_t col = 0; col < 64; ++col) square += x[row * 64 + col] * x[row * 64 + col] / 64;
    const int exponent = static_cast<int>(std::lround(std::log2(square) / 2));
    least = std::min(least, exponent);
    most = std::max(most, exponent);
  }
  EXPECT_EQ(least, -20);
  EXPECT_EQ(most, 20);
  for (const double v : values("scaled", DType::f16, {500, 64})) EXPECT_TRUE(std::isfinite(v));
}

TEST(Fill, HugeAndSubnormalStayInTheirRange) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    int negative = 0;
    for (const double v : values("huge", dtype, {10000})) {
      EXPECT_GE(std::fabs(v), largest_finite(dtype) / 2 * 0.99);
      EXPECT_LE(std::fabs(v), largest_finite(dtype));
      negative += v < 0;
    }
    EXPECT_NEAR(negative, 5000, 300);
    for (const double v : values("subnormal", dtype, {10000})) {
      EXPECT_GE(std::fabs(v), smallest_subnormal(dtype));
      EXPECT_LT(std::fabs(v), smallest_subnormal(dtype) * std::ldexp(1.0, format_of(dtype).precision - 1));
    }
  }
}

TEST(Fill, SignedZerosHaveBothSigns) {
  int plus = 0, minus = 0;
  for (const double v : values("signed_zeros", DType::f32, {10000})) {
    plus += v == 0 && !std::signbit(v);
    minus += v == 0 && std::signbit(v);
  }
  EXPECT_NEAR(plus, 3750, 300);
  EXPECT_NEAR(minus, 3750, 300);
}

TEST(Fill, SpecialHitsAboutHalfTheRows) {
  const auto x = values("special", DType::f16, {4000, 100});
  int nan = 0, plus = 0, minus = 0, hit_rows = 0;
  for (size_t row = 0; row < 4000; ++row) {
    bool hit = false;
    for (size_t col = 0; col < 100; ++col) {
      const double v = x[row * 100 + col];
      nan += std::isnan(v);
      plus += v > 7;
      minus += v < -7;
      hit = hit || !std::isfinite(v);
    }
    hit_rows += hit;
  }
  EXPECT_NEAR(hit_rows, 4000 * (1 - std::pow(1 - 0.005, 100)), 200);
  for (const int count : {nan, plus, minus}) EXPECT_NEAR(count, 2000 / 3.0, 160);
}

TEST(Fill, NanOneHasExactlyOneAtAnIndexThatMoves) {
  std::vector<size_t> places;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const auto x = values("nan_one", DType::bf16, {13, 11}, seed);
    size_t nans = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      if (!std::isnan(x[i])) continue;
      ++nans;
      places.push_back(i);
    }
    EXPECT_EQ(nans, 1u);
  }
  std::sort(places.begin(), places.end());
  EXPECT_GT(std::unique(places.begin(), places.end()) - places.begin(), 25);
}

TEST(Fill, DeterministicPatterns) {
  const auto at = [](const char* generator, int64_t row, int64_t col) {
    return fill_value({.generator = generator}, kSeed, "x", std::vector<int64_t>{2, 6, 5}, DType::f32, row * 5 + col);
  };
  for (int64_t row = 0; row < 12; ++row) {
    for (int64_t col = 0; col < 5; ++col) {
      EXPECT_EQ(at("onehot", row, col), col == (row * 7 + 3 + static_cast<int64_t>(kSeed)) % 5);
      EXPECT_EQ(at("identity", row, col), row % 6 == col);
      EXPECT_EQ(at("index", row, col), static_cast<double>((row * 5 + col) % 251 - 125));
      EXPECT_EQ(at("ascending", row, col), static_cast<double>(col));
      EXPECT_EQ(at("constant", row, col), at("constant", row, 0));
      EXPECT_EQ(std::isinf(at("mask_causal", row, col)), col > row % 5);
      EXPECT_EQ(at("ones", row, col), 1);
      EXPECT_EQ(at("zeros", row, col), 0);
      EXPECT_LE(at("negative", row, col), 0);
      EXPECT_NEAR(at("shifted", row, col), 1000, 6);
    }
    if (row > 0) {
      EXPECT_NE(at("constant", row, 0), at("constant", row - 1, 0));
    }
  }
}

TEST(Fill, MasksHaveTheirShares) {
  const auto random = values("mask_random", DType::f32, {300, 100});
  const auto full = values("mask_full_rows", DType::f32, {300, 100});
  int masked = 0;
  for (size_t i = 0; i < random.size(); ++i) {
    masked += random[i] == -INFINITY;
    EXPECT_EQ(full[i], i / 100 % 3 == 2 ? -INFINITY : random[i]);
  }
  EXPECT_NEAR(masked / 30000.0, 77 / 256.0, 0.02);
}

TEST(Fill, SmallIntegersAreUniform) {
  const auto counts = [](const char* generator, DType dtype) {
    std::vector<int> seen(257);
    for (const double v : values(generator, dtype, {256000})) ++seen[static_cast<size_t>(v + 128)];
    return seen;
  };
  const auto integers = counts("integers", DType::f16);
  const auto full = counts("int8_full", DType::i8);
  const auto extreme = counts("int8_extreme", DType::i8);
  for (size_t at = 0; at < 256; ++at) {
    const int v = static_cast<int>(at) - 128;
    EXPECT_NEAR(integers[at], std::abs(v) <= 8 ? 256000 / 17 : 0, std::abs(v) <= 8 ? 800 : 0) << v;
    EXPECT_NEAR(full[at], 1000, 200) << v;
    EXPECT_NEAR(extreme[at], v == -128 || v == 127 ? 128000 : 0, v == -128 || v == 127 ? 2000 : 0) << v;
  }
}

// Eight ones of either sign a row, one in each eighth; the last may be cut off.
TEST(Fill, SparseRowsHaveOneElementInEachEighth) {
  for (const int64_t cols : {1, 8, 9, 64, 1001}) {
    const int64_t rows = 4000, eighth = (cols + 7) / 8;
    const std::vector<double> x = values("sparse", DType::bf16, {rows, cols});
    std::vector<int> of_column(static_cast<size_t>(cols));
    int64_t positive = 0, all = 0;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t begin = 0; begin < cols; begin += eighth) {
        int seen = 0;
        for (int64_t col = begin; col < std::min(begin + eighth, cols); ++col) {
          const double v = x[static_cast<size_t>(row * cols + col)];
          if (v == 0) continue;
          ASSERT_EQ(std::fabs(v), 1);
          ++seen;
          ++all;
          positive += v > 0;
          ++of_column[static_cast<size_t>(col)];
        }
        EXPECT_LE(seen, 1);
        EXPECT_TRUE(seen == 1 || begin + eighth > cols);
      }
    }
    const double expected = static_cast<double>(rows) / static_cast<double>(eighth);
    for (const int count : of_column) EXPECT_NEAR(count, expected, 6 * std::sqrt(expected)) << cols;
    EXPECT_NEAR(static_cast<double>(positive), static_cast<double>(all) / 2, 3 * std::sqrt(static_cast<double>(all)));
  }
}

TEST(Fill, TiesSumToHalfAStepAndBesideIt) {
  for (const int64_t k : {2, 3, 64, 600, 4099, 131071}) {
    const int64_t rows = k > 5000 ? 40 : 2000, step = int64_t{1} << probe::ties_exponent(k);
    const auto terms = values("ties", DType::i8, {rows, k}), factors = values("ties_partner", DType::i8, {1, k});
    std::vector<int> seen(2 * probe::kTiesReach + 1);
    int64_t largest = 0;
    for (int64_t row = 0; row < rows; ++row) {
      int64_t sum = 0;
      for (int64_t i = 0; i < k; ++i) {
        sum += static_cast<int64_t>(terms[static_cast<size_t>(row * k + i)] * factors[static_cast<size_t>(i)]);
      }
      const int64_t beside = ((sum % step) + step) % step - step / 2;
      ASSERT_LE(std::abs(beside), probe::kTiesReach) << "k " << k << " row " << row << ": " << sum;
      ++seen[static_cast<size_t>(beside + probe::kTiesReach)];
      largest = std::max(largest, std::abs(sum) / step);
    }
    for (const int count : seen) EXPECT_GT(count, 0) << k;
    EXPECT_GT(largest, 80) << k;
    EXPECT_LT(largest, 101) << k;
  }
}

// The bits are part of every golden: a change here makes all of them stale and must be meant.
TEST(Fill, BitsNeverChangeSilently) {
  EXPECT_EQ(fill_detail::hash(0, 0), 0xe220a8397b1dcdafu);  // first output of SplitMix64 seeded with 0
  const auto hash = [](const char* generator, DType dtype) {
    const auto data = filled(spec_of(generator, dtype, {31, 37}));
    return XXH3_64bits(data.data(), data.size());
  };
  EXPECT_EQ(hash("normal", DType::f64), 0x56da7b712f447bcau);
  EXPECT_EQ(hash("normal", DType::f32), 0x7bcd7d3fe1493bc6u);
  EXPECT_EQ(hash("normal", DType::f16), 0x473f16f926998e0cu);
  EXPECT_EQ(hash("uniform", DType::bf16), 0x97aa6fe9fa65fa63u);
  EXPECT_EQ(hash("cancelling", DType::f32), 0xe7957f3223b3910fu);
  EXPECT_EQ(hash("scaled", DType::f32), 0x9e7860f3e695d7f6u);
  EXPECT_EQ(hash("special", DType::f32), 0xece712b58abf9c0cu);
  EXPECT_EQ(hash("int8_full", DType::i8), 0xda4e9da0f187921cu);
  EXPECT_EQ(hash("sparse", DType::bf16), 0x843a13d86447cbf8u);
}

}  // namespace
}  // namespace assay
