// check/truth: what the truth golden's hash must and must not depend on.
#include "check/truth.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <random>

#include "core/error.h"

namespace assay {
namespace {

Reference reference(DType t, std::vector<double> hi, double e_ref = 0) {
  const size_t n = hi.size();
  return {.tensor = "y",
          .dtype = t,
          .hi = std::move(hi),
          .lo = std::vector<double>(n, 0),
          .e_ref = std::vector<double>(n, e_ref)};
}

Truth truth_of_one(const Reference& r) { return truth_of({&r, 1}); }

// XXH64 of 1.0f, 2.0f, -0.5f little-endian, from Python's xxhash.
TEST(Truth, HashIsXxh64OfThePackedRoundedElements) {
  const Truth truth = truth_of_one(reference(DType::f32, {1, 2, -0.5}));
  EXPECT_EQ(truth.hash, "97cf9c9a99384812");
  EXPECT_EQ(truth.elements, 3);
  EXPECT_EQ(truth.straddling, 0);
  EXPECT_EQ(truth.samples, (std::vector<std::string>{"0:3f800000", "2:bf000000"}));
}

TEST(Truth, RoundsOnce) {
  // 1 + 2^-11 is a tie of f16; what lies 2^-60 above it must not round back to even by way of a double.
  Reference r = reference(DType::f16, {1 + 0x1p-11});
  const Truth tie = truth_of_one(r);
  EXPECT_EQ(tie.samples[0], "0:3c00");
  r.lo[0] = 0x1p-60;
  EXPECT_EQ(truth_of_one(r).samples[0], "0:3c01");
  r.lo[0] = -0x1p-60;
  EXPECT_EQ(truth_of_one(r), tie);
  EXPECT_EQ(truth_of_one(reference(DType::i8, {300, -2.5})).samples, (std::vector<std::string>{"0:7f", "1:fe"}));
}

TEST(Truth, OneElementMoreOrLessChangesTheHash) {
  const std::vector<double> values(5000, 0.25);
  const Truth truth = truth_of_one(reference(DType::bf16, values));
  for (const size_t i : {0u, 1u, 4095u, 4096u, 4999u}) {
    std::vector<double> other = values;
    other[i] = 0.5;
    EXPECT_NE(truth_of_one(reference(DType::bf16, other)).hash, truth.hash) << i;
  }
  EXPECT_NE(truth_of_one(reference(DType::bf16, std::vector<double>(4999, 0.25))).hash, truth.hash);
}

// add_rounded() of pieces is add() of the whole, whichever elements straddle.
TEST(Truth, RoundedPiecesAreTheWhole) {
  std::mt19937_64 random(11);
  for (int trial = 0; trial < 300; ++trial) {
    const size_t n = random() % 300;
    const uint64_t rarity = 1 + random() % 5;
    Reference r = reference(DType::f16, std::vector<double>(n));
    std::vector<uint16_t> bits(n);
    std::vector<uint8_t> straddles(n);
    for (size_t i = 0; i < n; ++i) {
      r.hi[i] = static_cast<double>(random() % 2048);
      r.e_ref[i] = random() % rarity == 0 ? 1 : 0;
      straddles[i] = r.e_ref[i] != 0;
      bits[i] = straddles[i] != 0 ? 0 : static_cast<uint16_t>(encode(DType::f16, r.hi[i]));
    }
    TruthBuilder whole, pieces;
    whole.add(r);
    for (size_t i = 0; i < n;) {
      const size_t count = std::min<size_t>(n - i, random() % 40);
      pieces.add_rounded(DType::f16, static_cast<int64_t>(count), reinterpret_cast<const std::byte*>(&bits[i]),
                         &straddles[i]);
      i += count;
    }
    EXPECT_EQ(pieces.finish(), whole.finish()) << trial;
  }
}

// The rounded elements of a reference, an element in `rarity` straddling; stretches of those too.
struct Rounded {
  Reference r;
  std::vector<uint16_t> bits;
  std::vector<uint8_t> straddles;
  const std::byte* elements() const { return reinterpret_cast<const std::byte*>(bits.data()); }
};
Rounded rounded(size_t n, uint64_t rarity, std::mt19937_64& random) {
  Rounded all{reference(DType::f16, std::vector<double>(n)), std::vector<uint16_t>(n), std::vector<uint8_t>(n)};
  const size_t from = random() % (n + 1), to = std::min<size_t>(n, from + (random() % 2) * 20000);
  for (size_t i = 0; i < n; ++i) {
    all.r.hi[i] = static_cast<double>(random() % 2048);
    all.r.e_ref[i] = (i >= from && i < to) || random() % rarity == 0 ? 1 : 0;
    all.straddles[i] = all.r.e_ref[i] != 0;
    all.bits[i] = all.straddles[i] != 0 ? 0 : static_cast<uint16_t>(encode(DType::f16, all.r.hi[i]));
  }
  return all;
}

// By the definition, with the library alone: chunks of 16384 bytes, here 8192 elements, of one output after the other.
TEST(Truth, OfASweepIsOfTheDigestsOfItsChunks) {
  std::mt19937_64 random(12);
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<Rounded> outputs;
    for (uint64_t k = 0; k < 1 + random() % 3; ++k) {
      const size_t n = trial % 4 == 0 ? 8192 * (random() % 4) : random() % 40000;
      outputs.push_back(rounded(n, trial % 3 == 0 ? uint64_t{1} << 40 : 1 + random() % 5000, random));
    }
    TruthBuilder by_references(true), by_elements(true);
    std::vector<uint64_t> digests;
    int64_t elements = 0, straddling = 0;
    for (const Rounded& output : outputs) {
      by_references.add(output.r);
      by_elements.add_rounded(DType::f16, static_cast<int64_t>(output.bits.size()), output.elements(),
                              output.straddles.data());
      for (size_t first = 0; first < output.bits.size(); first += 8192) {
        const size_t count = std::min<size_t>(8192, output.bits.size() - first);
        uint64_t digest = XXH64(&output.bits[first], 2 * count, 0);
        const auto open = std::accumulate(&output.straddles[first], &output.straddles[first] + count, int64_t{0});
        if (open > 0) digest = XXH64(&output.straddles[first], count, digest);
        straddling += open;
        digests.push_back(digest);
      }
      elements += static_cast<int64_t>(output.bits.size());
    }
    const Truth truth = by_references.finish();
    EXPECT_EQ(by_elements.finish(), truth) << trial;
    char hash[17];
    std::snprintf(hash, sizeof hash, "%016llx",
                  static_cast<unsigned long long>(XXH64(digests.data(), 8 * digests.size(), 0)));
    EXPECT_EQ(truth.hash, hash) << trial;
    EXPECT_EQ(truth.elements, elements);
    EXPECT_EQ(truth.straddling, straddling);
  }
}

TEST(Truth, AnyElementOfASweepCountsAndWhetherItStraddles) {
  std::mt19937_64 random(13);
  Rounded output = rounded(20000, uint64_t{1} << 40, random);
  output.straddles.assign(20000, 0);
  const auto truth = [&] {
    TruthBuilder builder(true);
    builder.add_rounded(DType::f16, 20000, output.elements(), output.straddles.data());
    return builder.finish();
  };
  const Truth whole = truth();
  EXPECT_EQ(whole.samples.size(), 3u);
  for (int draw = 0; draw < 300; ++draw) {
    const size_t i = draw < 2 ? 19999 * static_cast<size_t>(draw) : random() % 20000;
    const uint16_t before = output.bits[i];
    output.bits[i] ^= static_cast<uint16_t>(1 << random() % 16);
    EXPECT_NE(truth().hash, whole.hash) << i;
    output.bits[i] = before;
    output.straddles[i] = 1;
    EXPECT_NE(truth().hash, whole.hash) << i;
    output.straddles[i] = 0;
  }
  EXPECT_EQ(truth(), whole);
}

// The samples of a whole sweep of halves are those of the same elements hashed in one piece.
TEST(Truth, SamplesOfASweepAreProvenElements) {
  std::mt19937_64 random(14);
  for (int trial = 0; trial < 20; ++trial) {
    const Rounded output = rounded(65536, 3, random);
    TruthBuilder plain, sweep(true);
    plain.add(output.r);
    sweep.add(output.r);
    const Truth truth = sweep.finish();
    EXPECT_EQ(truth.samples, plain.finish().samples) << trial;
    EXPECT_EQ(truth.samples.size(), 3u) << trial;
  }
}

TEST(Truth, ChunksAreOfSweepsAlone) {
  const std::vector<TruthChunk> one(1);
  TruthBuilder plain, sweep(true);
  EXPECT_THROW(plain.add_chunks(DType::f32, 4096, one), Error);
  EXPECT_THROW(sweep.add_chunks(DType::f32, 4097, one), Error);
  sweep.add_chunks(DType::f32, 4096, one);
}

TEST(Truth, StraddlingElementsAreLeftOutAndCounted) {
  // 1 + 2^-24 is a tie of f32, so an oracle with any error does not know its rounding.
  const auto at = [](double value, double e_ref) { return truth_of_one(reference(DType::f32, {2, value, 3}, e_ref)); };
  const Truth straddles = at(1 + 0x1p-24, 0x1p-50);
  EXPECT_EQ(straddles.straddling, 1);
  EXPECT_EQ(at(1 + 0x1p-24 + 0x1p-52, 0x1p-50), straddles) << "either side of the tie: the same golden";
  EXPECT_EQ(at(1 + 0x1p-24, 0).straddling, 0);
  EXPECT_NE(at(1 + 0x1p-24, 0).hash, straddles.hash);
  const Truth elsewhere = truth_of_one(reference(DType::f32, {1 + 0x1p-24, 2, 3}, 0x1p-50));
  EXPECT_EQ(elsewhere.straddling, 1);
  EXPECT_NE(elsewhere.hash, straddles.hash) << "which element straddles counts";
  EXPECT_EQ(elsewhere.samples[0], "1:40000000") << "a sample is never of an unproven element";
}

TEST(Truth, ImprovingAnOracleThatStraddlesNowhereChangesNothing) {
  Reference r = reference(DType::f32, {0.1, 0.2, 1e-40, 1e30, 0}, 0x1p-160);
  const Truth before = truth_of_one(r);
  ASSERT_EQ(before.straddling, 0);
  r.e_ref.assign(5, 0);
  r.lo = {0x1p-60, -0x1p-60, 0, 0, 0};
  EXPECT_EQ(truth_of_one(r), before);
}

TEST(Truth, NansAreOneAndZerosHaveASignOnlyBitwise) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double other = std::bit_cast<double>(std::bit_cast<uint64_t>(nan) | 12345);
  EXPECT_EQ(truth_of_one(reference(DType::f32, {nan})), truth_of_one(reference(DType::f32, {-other})));
  EXPECT_EQ(truth_of_one(reference(DType::f64, {nan})), truth_of_one(reference(DType::f64, {-other})));
  Reference zero = reference(DType::f32, {0.0}), minus = reference(DType::f32, {-0.0});
  EXPECT_EQ(truth_of_one(zero), truth_of_one(minus));
  zero.bitwise = minus.bitwise = true;
  EXPECT_NE(truth_of_one(zero).hash, truth_of_one(minus).hash);
  EXPECT_NE(truth_of_one(reference(DType::f32, {INFINITY})).hash,
            truth_of_one(reference(DType::f32, {-INFINITY})).hash);
}

TEST(Truth, OutputsFollowOneAnother) {
  const std::vector<Reference> two{reference(DType::f32, {1, 2}), reference(DType::f16, {3})};
  const Truth truth = truth_of(two);
  EXPECT_EQ(truth.elements, 3);
  EXPECT_EQ(truth.samples, (std::vector<std::string>{"0:3f800000", "2:4200"}));
  const Truth none = truth_of({});
  EXPECT_EQ(none.elements, 0);
  EXPECT_TRUE(none.samples.empty());
}

TEST(Truth, AReferenceOfUnequalPartsIsAFault) {
  Reference r = reference(DType::f32, {1, 2});
  r.e_ref.pop_back();
  EXPECT_THROW(truth_of_one(r), Error);
}

}  // namespace
}  // namespace assay
