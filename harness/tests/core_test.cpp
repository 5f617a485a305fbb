// core/: case ids, dtypes, domains, sizes.
#include <assay/domain.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "core/case.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/op.h"
#include "scratch.h"

namespace assay {
namespace {

std::vector<FieldSpec> fields() {
  std::vector<FieldSpec> all{
      {.name = "m", .doc = "rows"},
      {.name = "alpha", .kind = FieldKind::real, .doc = "scale", .fallback = "1"},
      {.name = "dtype", .kind = FieldKind::word, .doc = "type", .choices = {"f32", "bf16"}},
  };
  for (FieldSpec& field : common_fields()) all.push_back(field);
  return all;
}

TEST(CaseId, ParsesBackToItself) {
  const Case c("op", fields(), {{"alpha", "0.10"}, {"m", "7"}, {"dtype", "bf16"}, {"seed", "9"}});
  EXPECT_EQ(c.id(), "op:m=7,alpha=0.1,dtype=bf16,seed=9");
  const ParsedId parsed = parse_id(c.id());
  EXPECT_EQ(Case("op", fields(), parsed.fields).id(), c.id());
  EXPECT_EQ(c.kernel_id("simd"), "op/simd:m=7,alpha=0.1,dtype=bf16,seed=9");
  EXPECT_EQ(parse_id(c.kernel_id("simd")).kernel, "simd");
}

TEST(CaseId, DefaultsAreLeftOutHoweverTheyAreWritten) {
  const Case c("op", fields(), {{"m", "7"}, {"alpha", "1.000"}, {"dtype", "f32"}});
  EXPECT_EQ(c.id(), "op:m=7,dtype=f32");
}

TEST(CaseId, ErrorsNameOpFieldAndRemedy) {
  using Given = std::vector<std::pair<std::string, std::string>>;
  const auto error = [](Given given) { return message_of([&] { Case("op", fields(), given); }); };
  EXPECT_NE(error({{"mm", "7"}, {"dtype", "f32"}}).find("no field 'mm'; it has m, alpha"), std::string::npos);
  EXPECT_NE(error({{"dtype", "f32"}}).find("'m' is missing"), std::string::npos);
  EXPECT_NE(error({{"m", "7x"}, {"dtype", "f32"}}).find("not an integer"), std::string::npos);
  EXPECT_NE(error({{"m", "-1"}, {"dtype", "f32"}}).find("below 0"), std::string::npos);
  EXPECT_NE(error({{"m", "1"}, {"dtype", "f32"}, {"seeds", "0"}}).find("'seeds' = 0 is below 1"), std::string::npos);
  // Beyond what can be addressed, where strides and offsets in bytes would wrap around.
  EXPECT_NE(error({{"m", "1"}, {"dtype", "f32"}, {"offset", "4611686018427387904"}}).find("is above 1099511627776"),
            std::string::npos);
  EXPECT_NE(error({{"m", "1099511627777"}, {"dtype", "f32"}}).find("is above 1099511627776"), std::string::npos);
  EXPECT_NE(error({{"m", "1"}, {"dtype", "f32"}, {"seed", "4611686018427387905"}}).find("is above 4611686018427387904"),
            std::string::npos);
  EXPECT_NE(error({{"m", "1"}, {"dtype", "f32"}, {"seeds", "65537"}}).find("'seeds' = 65537 is above 65536"),
            std::string::npos);
  EXPECT_NO_THROW(Case("op", fields(), {{"m", "1"}, {"dtype", "f32"}, {"seeds", "65536"}}));
  EXPECT_NE(error({{"m", "1"}, {"dtype", "f8"}}).find("not one of f32, bf16"), std::string::npos);
  EXPECT_NE(error({{"m", "1"}, {"m", "1"}, {"dtype", "f32"}}).find("given twice"), std::string::npos);
  EXPECT_NE(message_of([] { parse_id(":m=1"); }).find("not a case id"), std::string::npos);
  EXPECT_NE(message_of([] { parse_id("op:m=1,"); }).find("comma"), std::string::npos);
}

// The compiler's own conversions are the independent source for f32 and f16.
TEST(DType, EveryF16RoundTripsAndMatchesTheHardware) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const double value = decode(DType::f16, bits);
    const auto hardware = static_cast<double>(std::bit_cast<_Float16>(static_cast<uint16_t>(bits)));
    if (std::isnan(hardware)) {
      EXPECT_TRUE(std::isnan(value));
    } else {
      EXPECT_EQ(value, hardware);
      EXPECT_EQ(encode(DType::f16, value), bits);
    }
  }
}

TEST(DType, RoundingMatchesTheHardwareOnRandomBits) {
  const uint64_t seed = 20261;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 200000; ++i) {
    const double x = std::ldexp(static_cast<double>(random()) - 0x1p63, static_cast<int>(random() % 320) - 224);
    EXPECT_EQ(encode(DType::f32, x), std::bit_cast<uint32_t>(static_cast<float>(x))) << x;
    EXPECT_EQ(encode(DType::f16, x), std::bit_cast<uint16_t>(static_cast<_Float16>(x))) << x;
  }
}

TEST(DType, Bf16AndE4m3RoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const double value = decode(DType::bf16, bits);
    if (!std::isnan(value)) {
      EXPECT_EQ(encode(DType::bf16, value), bits);
    }
  }
  for (uint32_t bits = 0; bits < 256; ++bits) {
    const double value = decode(DType::e4m3, bits);
    if (!std::isnan(value)) {
      EXPECT_EQ(encode(DType::e4m3, value), bits);
    }
  }
  EXPECT_EQ(decode(DType::e4m3, 0x7e), 448);
  EXPECT_EQ(encode(DType::e4m3, 1000, true), 0x7eu);
  EXPECT_EQ(encode(DType::bf16, 0x1.01p0), 0x3f80u);  // a tie goes to even
  EXPECT_EQ(encode(DType::i8, 200), 0x7fu);
  EXPECT_EQ(encode(DType::i8, -0.5), 0u);
}

// 2^64 elements would be 0 in 64 bits.
TEST(TensorSpec, WhatCannotBeCountedIsNotTakenForLittle) {
  constexpr int64_t kLong = int64_t{1} << 32;
  const auto spec = [](std::vector<int64_t> shape, int64_t pad) {
    std::vector<int64_t> strides = row_major(shape, pad);
    return TensorSpec{.name = "x", .shape = std::move(shape), .strides = std::move(strides)};
  };
  const TensorSpec beyond = spec({kLong, kLong}, 0), batched = spec({4, kLong, kLong}, 3),
                   padded = spec({3, 5}, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(beyond.elements(), kMostCounted);
  EXPECT_EQ(beyond.span_elements(), kMostCounted);
  EXPECT_EQ(batched.elements(), kMostCounted);
  EXPECT_EQ(batched.span_elements(), kMostCounted);
  EXPECT_EQ(padded.elements(), 15);
  EXPECT_EQ(padded.span_elements(), kMostCounted);
  EXPECT_EQ(spec({kLong, kLong, 0}, 0).elements(), 0);
  EXPECT_EQ(spec({3, 5}, 2).span_elements(), 19);
}

TEST(Domain, HoldsAndRefusesWithTheClause) {
  const DomainLookup lookup = [](std::string_view name) -> DomainValue {
    if (name == "k") return {true, 24, "24"};
    if (name == "dtype") return {true, std::nan(""), "f16"};
    return {};
  };
  EXPECT_EQ(domain_refusal("", lookup), "");
  EXPECT_EQ(domain_refusal("dtype in f32 f16; k multiple of 8; k <= 24", lookup), "");
  EXPECT_EQ(domain_refusal("dtype in f32; k > 1", lookup), "needs dtype in f32, got dtype = f16");
  EXPECT_EQ(domain_refusal("dtype not in f16", lookup), "needs dtype not in f16, got dtype = f16");
  EXPECT_EQ(domain_refusal("k multiple of 16", lookup), "needs k multiple of 16, got k = 24");
  EXPECT_NE(domain_refusal("dtype < 3", lookup), "");  // a word is no number: every comparison fails
  EXPECT_EQ(domain_refusal("dtype in f32 | k == 24", lookup), "");
  EXPECT_EQ(domain_refusal("dtype in f32 | k == 25", lookup),
            "needs dtype in f32, got dtype = f16; or needs k == 25, got k = 24");
  EXPECT_EQ(domain_refusal("dtype in f32 | ", lookup), "");  // an empty alternative claims everything
  EXPECT_THROW(domain_refusal("dtype in f32; j == 1", lookup), std::invalid_argument);
  EXPECT_THROW(domain_refusal("j == 1", lookup), std::invalid_argument);
  EXPECT_THROW(domain_refusal("k ~ 1", lookup), std::invalid_argument);
  EXPECT_THROW(domain_refusal("k <= x", lookup), std::invalid_argument);
}

}  // namespace
}  // namespace assay
