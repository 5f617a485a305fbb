// check/: bytes, poison, guards and trust. Each shows what it must catch, and what it must leave alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "check/bytes.h"
#include "check/guard.h"
#include "check/hash.h"
#include "check/poison.h"
#include "check/trust.h"
#include "check/xxh64.h"
#include "core/error.h"

namespace assay {
namespace {

constexpr std::array kAllTypes{DType::f64,  DType::f32, DType::f16, DType::bf16,
                               DType::e4m3, DType::i32, DType::i8,  DType::u8};

TensorSpec output(DType t, std::vector<int64_t> shape, int64_t pad = 0) {
  TensorSpec spec{.name = "y", .dtype = t, .shape = shape, .strides = row_major(shape, pad), .role = Role::output};
  return spec;
}

const std::byte* bytes_of(const auto& values) { return reinterpret_cast<const std::byte*>(values.data()); }

TEST(Bytes, SignsOfZeroAndPayloadsOfNanDiffer) {
  const TensorSpec y = output(DType::f32, {4});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> a{1, 0.0f, nan, 2};
  std::vector<float> b = a;
  EXPECT_EQ(compare_bytes(y, bytes_of(a), bytes_of(b)).count, 0);
  EXPECT_EQ(describe(y, compare_bytes(y, bytes_of(a), bytes_of(b))), "");
  b[1] = -0.0f;
  b[2] = std::bit_cast<float>(std::bit_cast<uint32_t>(nan) | 1);
  const ByteDifference d = compare_bytes(y, bytes_of(a), bytes_of(b));
  EXPECT_EQ(d.count, 2);
  EXPECT_EQ(d.first, 1);
  EXPECT_EQ(describe(y, d), "y[1] 0x00000000 (0) became 0x80000000 (-0), 2 of 4 elements");
}

TEST(Bytes, PaddingIsNotComparedAndLayoutsMayDiffer) {
  const TensorSpec packed = output(DType::f32, {3, 5}), padded = output(DType::f32, {3, 5}, 2);
  std::vector<float> a, b(21, -7);
  for (int i = 0; i < 15; ++i) a.push_back(static_cast<float>(i));
  for (int64_t i = 0; i < 15; ++i) b[static_cast<size_t>(offset_of(padded, i))] = static_cast<float>(i);
  std::vector<float> c = b;
  c[5] = c[6] = 99;  // padding
  EXPECT_EQ(compare_bytes(padded, bytes_of(b), bytes_of(c)).count, 0);
  EXPECT_EQ(compare_bytes(packed, bytes_of(a), padded, bytes_of(c)).count, 0);
  c[7] = -1;
  const ByteDifference d = compare_bytes(packed, bytes_of(a), padded, bytes_of(c));
  EXPECT_EQ(d.count, 1);
  EXPECT_EQ(d.first, 5);
  EXPECT_THROW(compare_bytes(packed, bytes_of(a), output(DType::f32, {5, 3}), bytes_of(c)), Error);
}

TEST(Bytes, EveryElementIsLookedAt) {
  for (const int64_t stride : {1, 2}) {
    TensorSpec y = output(DType::i8, {10007});
    y.strides = {stride};
    std::vector<int8_t> a(20014, 3), b = a;
    for (const int64_t i : {0, 4095, 4096, 8191, 10006}) {
      b = a;
      b[static_cast<size_t>(i * stride)] = 4;
      const ByteDifference d = compare_bytes(y, bytes_of(a), bytes_of(b));
      EXPECT_EQ(d.count, 1);
      EXPECT_EQ(d.first, i);
      EXPECT_NE(hash_elements(y, bytes_of(a)), hash_elements(y, bytes_of(b)));
    }
  }
}

// The same elements in three layouts.
struct Layouts {
  TensorSpec packed = output(DType::f32, {70, 90}), padded = output(DType::f32, {70, 90}, 3), transposed = packed;
  std::vector<float> a = std::vector<float>(6300), b = std::vector<float>(6510), c = a;
  Layouts() {
    transposed.strides = {1, 70};
    for (int64_t i = 0; i < 6300; ++i) {
      a[static_cast<size_t>(i)] = b[static_cast<size_t>(offset_of(padded, i))] =
          c[static_cast<size_t>(offset_of(transposed, i))] = static_cast<float>(i);
    }
  }
};

TEST(Bytes, HashIsOfLogicalOrderWhateverTheLayout) {
  const Layouts all;
  EXPECT_EQ(hash_elements(all.packed, bytes_of(all.a)), hash_elements(all.padded, bytes_of(all.b)));
  EXPECT_EQ(hash_elements(all.packed, bytes_of(all.a)), hash_elements(all.transposed, bytes_of(all.c)));
  EXPECT_NE(hash_elements(all.packed, bytes_of(all.a), 1), hash_elements(all.packed, bytes_of(all.a), 2));
}

// XXH64 of each 16384 bytes, by the library alone, and XXH64 of those eight bytes each.
uint64_t hashed_plainly(const std::vector<std::byte>& bytes, uint64_t seed) {
  std::vector<uint64_t> digests;
  for (size_t at = 0; at < bytes.size(); at += 16384) {
    digests.push_back(XXH64(bytes.data() + at, std::min<size_t>(16384, bytes.size() - at), 0));
  }
  return XXH64(digests.data(), 8 * digests.size(), seed);
}

std::vector<std::byte> random_bytes(size_t count, std::mt19937_64& random) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

TEST(Chunks, HashIsOfTheDigestsOfTheirBytes) {
  std::mt19937_64 random(31);
  for (const int64_t count : {0, 1, 7, 8191, 8192, 8193, 40000, 65536}) {
    const TensorSpec y = output(DType::f16, {count});
    const std::vector<std::byte> bytes = random_bytes(static_cast<size_t>(2 * count), random);
    for (const uint64_t seed : {uint64_t{0}, random()}) {
      EXPECT_EQ(hash_elements_by_chunks(y, bytes.data(), seed), hashed_plainly(bytes, seed)) << count;
    }
  }
}

TEST(Chunks, HashIsOfLogicalOrderWhateverTheLayout) {
  const Layouts all;
  EXPECT_EQ(hash_elements_by_chunks(all.packed, bytes_of(all.a)), hash_elements_by_chunks(all.padded, bytes_of(all.b)));
  EXPECT_EQ(hash_elements_by_chunks(all.packed, bytes_of(all.a)),
            hash_elements_by_chunks(all.transposed, bytes_of(all.c)));
}

// As an examination chains them: the hash of one part is the seed of the next.
TEST(Chunks, AnyBitOfAnyPartCounts) {
  std::mt19937_64 random(32);
  const TensorSpec y = output(DType::f32, {9000});
  std::vector<std::vector<std::byte>> parts;
  for (int part = 0; part < 3; ++part) parts.push_back(random_bytes(36000, random));
  const auto hash = [&] {
    uint64_t all = 0;
    for (const auto& part : parts) all = hash_elements_by_chunks(y, part.data(), all);
    return all;
  };
  const uint64_t whole = hash();
  for (int draw = 0; draw < 500; ++draw) {
    auto& part = parts[draw % 2 == 0 ? 2 : random() % 3];
    const size_t bit = draw == 0 ? 0 : draw == 2 ? 8 * part.size() - 1 : random() % (8 * part.size());
    const std::byte mask{static_cast<unsigned char>(1 << bit % 8)};
    part[bit / 8] ^= mask;
    EXPECT_NE(hash(), whole) << "bit " << bit;
    part[bit / 8] ^= mask;
  }
  EXPECT_EQ(hash(), whole);
  std::swap(parts[0], parts[1]);
  EXPECT_NE(hash(), whole);
}

TEST(HashDeathTest, NullHasNoBytes) {
  EXPECT_EQ(xxh64_of(nullptr, 0), 0xef46db3751d8e999u) << "of nothing, doc/xxhash_spec.md";
  EXPECT_DEATH(xxh64_of(nullptr, 1), "");
}

// What devices compute (check/xxh64.h) is what the library computes, whatever follows the last byte.
TEST(Chunks, DigestsOfDevicesAreTheLibrarys) {
  std::mt19937_64 random(33);
  std::vector<uint64_t> words(16384 / 8 + 1);
  const auto digest = [&](uint64_t bytes, uint64_t seed) {
    uint64_t sums[xxh64::kLanes];
    for (int lane = 0; lane < xxh64::kLanes; ++lane) {
      sums[lane] = xxh64::accumulator(lane, words.data(), bytes, seed);
    }
    return xxh64::digest(sums, words.data(), bytes, seed);
  };
  for (uint64_t bytes = 0; bytes <= 16384; bytes += bytes < 300 ? 1 : 1 + random() % 40) {
    for (uint64_t& word : words) word = random();
    for (const uint64_t seed : {uint64_t{0}, random()}) {
      ASSERT_EQ(digest(bytes, seed), XXH64(words.data(), bytes, seed)) << bytes;
    }
  }
  ASSERT_EQ(digest(16384, 5), XXH64(words.data(), 16384, 5));
}

TEST(Poison, PatternsAreNanAndDifferInEveryByte) {
  for (const DType t : kAllTypes) {
    const uint64_t a = poison_bits(t, Poison::first), b = poison_bits(t, Poison::second);
    for (size_t byte = 0; byte < size_of(t); ++byte) {
      EXPECT_NE((a >> (8 * byte)) & 0xff, (b >> (8 * byte)) & 0xff) << name_of(t);
    }
    if (is_float(t)) {
      EXPECT_TRUE(std::isnan(decode(t, a)));
      EXPECT_TRUE(std::isnan(decode(t, b)));
    }
  }
}

TEST(Poison, WhatAWorkspaceHoldsIsNoOutputsPoison) {
  for (const DType t : kAllTypes) {
    if (t == DType::u8) continue;
    for (const Poison poison : {Poison::first, Poison::second}) {
      for (size_t byte = 0; byte < size_of(t); ++byte) {
        EXPECT_NE((poison_bits(t, poison) >> (8 * byte)) & 0xff, poison_bits(DType::u8, poison)) << name_of(t);
      }
    }
  }
}

// A tensor in the middle of a region, run over both patterns.
struct TwoRuns {
  TensorSpec spec;
  size_t at = 27;  // misaligned for every type
  std::vector<std::byte> first, second;

  explicit TwoRuns(TensorSpec s) : spec(std::move(s)) {
    const size_t bytes = at + static_cast<size_t>(spec.span_elements()) * size_of(spec.dtype) + 40;
    first.resize(bytes);
    second.resize(bytes);
    fill_poison(first.data(), bytes, at, spec.dtype, Poison::first);
    fill_poison(second.data(), bytes, at, spec.dtype, Poison::second);
  }
  void write(int64_t i, uint64_t bits) {
    store_bits(spec.dtype, first.data() + at, offset_of(spec, i), bits);
    store_bits(spec.dtype, second.data() + at, offset_of(spec, i), bits);
  }
  void write_all(uint64_t bits) {
    for (int64_t i = 0; i < spec.elements(); ++i) write(i, bits);
  }
  Unwritten unwritten(bool single_bytes = true) const {
    return find_unwritten(spec, first.data() + at, second.data() + at, single_bytes);
  }
  GuardReport guards() const { return check_guards(spec, first.data(), first.size(), at, Poison::first); }
};

TEST(Poison, AnyElementLeftOutIsFound) {
  for (const DType t : kAllTypes) {
    TwoRuns runs(output(t, {3, 7}, 2));
    EXPECT_EQ(runs.unwritten().count, 21);
    for (int64_t left_out = 0; left_out < 21; ++left_out) {
      TwoRuns trial(output(t, {3, 7}, 2));
      for (int64_t i = 0; i < 21; ++i) {
        if (i != left_out) trial.write(i, encode(t, 1));
      }
      for (const bool single_bytes : {true, false}) {
        const Unwritten u = trial.unwritten(single_bytes);
        EXPECT_EQ(u.count, 1);
        EXPECT_EQ(u.first, left_out);
        EXPECT_TRUE(u.whole);
      }
    }
  }
}

TEST(Poison, AnyByteLeftOutIsFoundWhereBothRunsMustAgree) {
  for (const DType t : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i32}) {
    for (size_t byte = 0; byte < size_of(t); ++byte) {
      TwoRuns runs(output(t, {5}));
      runs.write_all(encode(t, 3));
      const size_t at = runs.at + 2 * size_of(t) + byte;
      runs.first[at] = poison_byte(t, Poison::first, static_cast<int64_t>(byte));
      runs.second[at] = poison_byte(t, Poison::second, static_cast<int64_t>(byte));
      EXPECT_EQ(runs.unwritten(true).count, 1) << name_of(t) << " byte " << byte;
      EXPECT_EQ(runs.unwritten(true).first, 2);
      EXPECT_FALSE(runs.unwritten(true).whole);
      EXPECT_EQ(describe(runs.spec, runs.unwritten(true)), "y[2] was written in part, 1 of 5 elements");
      EXPECT_EQ(runs.unwritten(false).count, 0) << "without that promise, chance could do it";
    }
  }
}

TEST(Poison, RunsThatDifferAnywayMayHoldThePatternsOfAByteByChance) {
  TwoRuns runs(output(DType::f32, {5}));
  runs.write_all(encode(DType::f32, 3));
  const size_t at = runs.at + 2 * 4;
  runs.first[at] = poison_byte(DType::f32, Poison::first, 0);
  runs.second[at] = poison_byte(DType::f32, Poison::second, 0);
  EXPECT_EQ(runs.unwritten().count, 1);
  runs.second[at + 1] = std::byte{0x77};
  EXPECT_EQ(runs.unwritten().count, 0);
}

TEST(Poison, OfRunsThatDifferElsewhereFewElementsMayHoldThePatternsByChance) {
  EXPECT_FALSE(may_be_by_chance({.count = 1}, 1)) << "no other differs";
  EXPECT_FALSE(may_be_by_chance({.count = 1}, 1000));
  EXPECT_TRUE(may_be_by_chance({.count = 1}, 1001));
  EXPECT_TRUE(may_be_by_chance({.count = 64}, 4'000'000)) << "as many as bytes at random give";
  EXPECT_FALSE(may_be_by_chance({.count = 4096}, 4'000'000)) << "a tile";
}

TEST(Poison, WhatArithmeticMakesOfItIsWritten) {
  for (const DType t : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    TwoRuns runs(output(t, {5}));
    const auto bits = [&](Poison poison) { return encode(t, 0 * decode(t, poison_bits(t, poison)) + 1); };
    for (const Poison poison : {Poison::first, Poison::second}) EXPECT_NE(bits(poison), poison_bits(t, poison));
    for (const int64_t i : {0, 1, 3, 4}) {
      store_bits(t, runs.first.data() + runs.at, i, bits(Poison::first));
      store_bits(t, runs.second.data() + runs.at, i, bits(Poison::second));
    }
    for (const bool single_bytes : {true, false}) {
      EXPECT_EQ(runs.unwritten(single_bytes).count, 1) << name_of(t);
      EXPECT_EQ(runs.unwritten(single_bytes).first, 2);
    }
  }
  // The payload kept, as processors do: every other byte is still the pattern's.
  TwoRuns runs(output(DType::f32, {1}));
  store_bits(DType::f32, runs.first.data() + runs.at, 0, poison_bits(DType::f32, Poison::first) | 1u << 22);
  store_bits(DType::f32, runs.second.data() + runs.at, 0, poison_bits(DType::f32, Poison::second) | 1u << 22);
  EXPECT_EQ(runs.unwritten().count, 0);
}

TEST(Poison, AResultThatEqualsAPatternIsNotUnwritten) {
  for (const DType t : kAllTypes) {
    for (const Poison poison : {Poison::first, Poison::second}) {
      TwoRuns runs(output(t, {16}));
      runs.write_all(poison_bits(t, poison));
      EXPECT_EQ(runs.unwritten().count, 0);
      EXPECT_EQ(describe(runs.spec, runs.unwritten()), "");
    }
  }
}

// Every byte of a region is written in turn; only those of elements may be.
TEST(Guard, EveryStrayByteIsFoundAndNamed) {
  std::vector<TensorSpec> specs;
  for (const DType t : {DType::f64, DType::f32, DType::bf16, DType::i8}) {
    specs.push_back(output(t, {4, 5}, 3));
    specs.push_back(output(t, {4, 5}));
    specs.push_back(output(t, {2, 3, 5}, 1));
    specs.push_back(output(t, {}));
    specs.push_back(output(t, {0, 5}, 3));
    TensorSpec strided = output(t, {3, 4});
    strided.strides = {2, 9};  // columns further apart than rows
    specs.push_back(strided);
  }
  for (const TensorSpec& spec : specs) {
    TwoRuns runs(spec);
    std::vector<bool> owned(runs.first.size(), false);
    const size_t size = size_of(spec.dtype);
    for (int64_t i = 0; i < spec.elements(); ++i) {
      const size_t begin = runs.at + static_cast<size_t>(offset_of(spec, i)) * size;
      for (size_t b = 0; b < size; ++b) owned[begin + b] = true;
    }
    runs.write_all(encode(spec.dtype, 1));
    GuardReport report = runs.guards();
    EXPECT_EQ(report.stray, 0);
    EXPECT_EQ(report.before + report.padding + report.after, std::count(owned.begin(), owned.end(), false));
    const auto first = std::find(owned.begin(), owned.end(), true);
    const auto last = std::find(owned.rbegin(), owned.rend(), true);
    for (size_t i = 0; i < runs.first.size(); ++i) {
      runs.first[i] ^= std::byte{1};
      report = runs.guards();
      EXPECT_EQ(report.stray, owned[i] ? 0 : 1) << "byte " << i;
      if (!owned[i]) {
        EXPECT_EQ(report.first, static_cast<int64_t>(i) - static_cast<int64_t>(runs.at));
        const auto where = i < static_cast<size_t>(first - owned.begin())          ? GuardReport::Where::before
                           : i >= static_cast<size_t>(last.base() - owned.begin()) ? GuardReport::Where::after
                                                                                   : GuardReport::Where::padding;
        EXPECT_EQ(report.where, where);
      }
      runs.first[i] ^= std::byte{1};
    }
  }
}

TEST(Guard, LongGapsAreReadToTheEnd) {
  for (const size_t stray : {0u, 7u, 8u, 9u, 4999u, 5000u, 9998u, 9999u}) {
    const TensorSpec spec = output(DType::i8, {0});
    std::vector<std::byte> region(10000);
    fill_poison(region.data(), region.size(), 3, DType::i8, Poison::second);
    EXPECT_EQ(check_guards(spec, region.data(), region.size(), 3, Poison::second).stray, 0);
    region[stray] = std::byte{0};
    const GuardReport report = check_guards(spec, region.data(), region.size(), 3, Poison::second);
    EXPECT_EQ(report.stray, 1);
    EXPECT_EQ(report.first, static_cast<int64_t>(stray) - 3);
  }
  // A write that repeats itself with the pattern's period must not hide behind it.
  const TensorSpec empty = output(DType::f64, {0});
  std::vector<std::byte> region(4096, std::byte{0});
  EXPECT_EQ(check_guards(empty, region.data(), region.size(), 0, Poison::first).stray, 4096);
}

TEST(Guard, ASideOfNoBytesSaysSo) {
  const TensorSpec spec = output(DType::f32, {1024});
  std::vector<std::byte> region(4096);
  fill_poison(region.data(), region.size(), 0, DType::f32, Poison::first);
  const GuardReport report = check_guards(spec, region.data(), region.size(), 0, Poison::first);
  EXPECT_EQ(report.before, 0);
  EXPECT_EQ(report.after, 0);
  EXPECT_EQ(report.padding, 0);
  EXPECT_THROW(check_guards(spec, region.data(), region.size() - 1, 0, Poison::first), Error);
}

TEST(Guard, PoisonKeepsStepWithElements) {
  for (const DType t : kAllTypes) {
    for (size_t at = 0; at < 20; ++at) {
      std::vector<std::byte> region(67);
      fill_poison(region.data(), region.size(), at, t, Poison::first);
      const std::byte* element = region.data() + at;
      EXPECT_EQ(load_bits(t, element, 0), poison_bits(t, Poison::first));
      EXPECT_EQ(load_bits(t, element, 3), poison_bits(t, Poison::first));
    }
  }
}

struct TrustTrial {
  std::vector<TensorSpec> tensors{
      {.name = "a", .dtype = DType::f32, .shape = {8, 8}, .strides = {8, 1}, .fill = {.generator = "normal"}},
      output(DType::f32, {8, 8})};
  std::vector<float> y = std::vector<float>(64);
  TrustTrial() {
    for (size_t i = 0; i < 64; ++i) y[i] = static_cast<float>(i);
  }
  CheckResult check() const {
    const OutputMajority majority{&tensors[1], majority_of(tensors[1], bytes_of(y))};
    return trust_check(tensors, {&majority, 1});
  }
};

TEST(Trust, NearlyAllZeroOrConstantIsMistrusted) {
  TrustTrial trial;
  EXPECT_EQ(trial.check().outcome, Outcome::pass);
  for (const float same : {0.0f, 7.5f, std::numeric_limits<float>::quiet_NaN()}) {
    for (size_t i = 2; i < 64; ++i) trial.y[i] = same;
    EXPECT_EQ(trial.check().outcome, Outcome::fail);
    EXPECT_EQ(trial.check().verdict, Verdict::mistrusted);
  }
  for (size_t i = 2; i < 64; ++i) trial.y[i] = i % 2 ? 0.0f : -0.0f;
  EXPECT_EQ(trial.check().outcome, Outcome::fail) << "both zeros are zero";
}

TEST(Trust, MaskedHalvesPass) {
  TrustTrial trial;
  for (size_t i = 0; i < 64; ++i) {
    if (i % 8 > i / 8) trial.y[i] = 0;  // causal
  }
  EXPECT_EQ(trial.check().outcome, Outcome::pass);
}

TEST(Trust, SamenessInTheNatureOfTheCaseIsNotApplicable) {
  const auto why = [](auto change) {
    TrustTrial trial;
    std::fill(trial.y.begin(), trial.y.end(), 1.0f);
    change(trial);
    const CheckResult result = trial.check();
    EXPECT_EQ(result.outcome, Outcome::not_applicable);
    const size_t colon = result.detail.rfind(": ");
    return colon == std::string::npos ? result.detail : result.detail.substr(colon + 2);
  };
  const auto one_column = [](TrustTrial& t) {
    t.tensors[1].shape = {64, 1};
    t.tensors[1].strides = {1, 1};
  };
  EXPECT_EQ(why([](TrustTrial& t) { t.tensors[0].shape = {8, 0}; }), "a is empty");
  EXPECT_EQ(why([](TrustTrial& t) { t.tensors[0].is_read = false; }), "no input that is read is random");
  EXPECT_EQ(why([](TrustTrial& t) { t.tensors[0].fill.generator = "onehot"; }), "a is filled with onehot");
  EXPECT_EQ(why(one_column), "y has an axis of length 1");
  EXPECT_EQ(why([](TrustTrial& t) { t.tensors[1].shape = {2, 8}; }), "only 16 output elements");
  TrustTrial varied;
  one_column(varied);
  EXPECT_EQ(varied.check().outcome, Outcome::pass) << "an excuse nobody needs";
}

}  // namespace
}  // namespace assay
