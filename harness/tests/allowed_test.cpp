// check/allowed.h against judge_element: the same elements pass, of every bit pattern of the narrow types.
#include "check/allowed.h"

#include <gtest/gtest.h>

#include <random>

namespace assay {
namespace {

constexpr uint64_t kSeed = 20261201;
constexpr double kInf = std::numeric_limits<double>::infinity();

class AllowedElements : public ::testing::Test {
 protected:
  // An oracle's answer as checks meet them: ordinary, at the ends of the format, tiny, special.
  Expected draw(DType t) {
    Expected r;
    const double ordinary = std::ldexp(static_cast<double>(random()) - 0x1p63, static_cast<int>(random() % 24) - 70);
    switch (random() % 8) {
      case 0:
        r.hi = largest_finite(t) * (random() % 2 == 0 ? 1.0 : -1.0) * (0.9 + 0.2 * uniform());
        break;
      case 1:
        r.hi = is_float(t) ? smallest_subnormal(t) * static_cast<double>(random() % 40) * (random() % 2 ? 1 : -1) : 0.5;
        break;
      case 2:
        r.hi = random() % 3 == 0 ? std::nan("") : random() % 2 == 0 ? kInf : -kInf;
        return with_evidence(r);
      case 3:
        r.hi = random() % 2 == 0 ? 0.0 : -0.0;
        break;
      default:
        r.hi = t == DType::f64 ? ordinary : round_to(DType::f32, ordinary);
    }
    r.lo = random() % 2 == 0 ? 0 : r.hi * 0x1p-55 * uniform();
    r.e_ref = random() % 3 == 0 ? 0 : std::fabs(r.hi) * 0x1p-50;
    const double steps[] = {0, 0x1p-30, 0x1p-11, 0x1p-6, 1, kInf, std::nan("")};
    r.e_alg = std::fabs(r.hi) * steps[random() % std::size(steps)];
    if (random() % 5 == 0) r.e_alg = kInf;
    return with_evidence(r);
  }
  Expected with_evidence(Expected r) {
    r.evidence = static_cast<Evidence>(random() % 5);
    return r;
  }
  double uniform() { return static_cast<double>(random() >> 11) * 0x1p-53; }

  template <DType T>
  void agrees(const Expected& r, double got, const JudgeRules& rules) {
    const bool passes = !judge_element<T>(r, got, rules).failed;
    ASSERT_EQ(allows(allowed<T>(r, rules), got), passes)
        << name_of(T) << " hi " << r.hi << " lo " << r.lo << " e_ref " << r.e_ref << " e_alg " << r.e_alg
        << " evidence " << static_cast<int>(r.evidence) << " bitwise " << rules.bitwise << " nan "
        << rules.nan_unspecified << " got " << got << ", seed " << kSeed;
    (passes ? passed : failed)++;
  }

  std::mt19937_64 random{kSeed};
  int64_t passed = 0, failed = 0;
};

TEST_F(AllowedElements, OfNarrowTypesEveryBitPattern) {
  const auto every = [this]<DType T>(std::integral_constant<DType, T>) {
    for (int round = 0; round < 150; ++round) {
      const Expected r = draw(T);
      const JudgeRules rules{.nan_unspecified = random() % 4 == 0, .bitwise = random() % 2 == 0};
      // NOLINTNEXTLINE(clang-analyzer-core.BitwiseShift): of narrow types alone
      for (uint64_t bits = 0; bits < uint64_t{1} << (8 * size_of(T)); ++bits) agrees<T>(r, decode(T, bits), rules);
    }
  };
  every(std::integral_constant<DType, DType::f16>{});
  every(std::integral_constant<DType, DType::bf16>{});
  every(std::integral_constant<DType, DType::e4m3>{});
  every(std::integral_constant<DType, DType::i8>{});
  every(std::integral_constant<DType, DType::u8>{});
  EXPECT_GT(passed, 100'000);
  EXPECT_GT(failed, 100'000);
}

TEST_F(AllowedElements, OfWideTypesAroundTheEnds) {
  const auto around = [this]<DType T>(std::integral_constant<DType, T>) {
    for (int round = 0; round < 100'000; ++round) {
      const Expected r = draw(T);
      const JudgeRules rules{.nan_unspecified = random() % 4 == 0, .bitwise = random() % 2 == 0};
      const Allowed a = allowed<T>(r, rules);
      std::vector<double> tries{0.0, -0.0, round_extended<T>(std::isnan(r.hi) ? 1 : r.hi), a.low, a.high};
      if (is_float(T)) tries.insert(tries.end(), {kInf, -kInf, std::nan("")});
      for (const double end : {a.low, a.high}) {
        if (!(std::fabs(end) <= largest_finite(T))) continue;
        const double step = T == DType::f64 ? 0 : 1;
        tries.push_back(T == DType::f32 ? std::nextafterf(static_cast<float>(end), INFINITY) : end + step);
        tries.push_back(T == DType::f32 ? std::nextafterf(static_cast<float>(end), -INFINITY) : end - step);
        if (T == DType::f64) tries.insert(tries.end(), {std::nextafter(end, kInf), std::nextafter(end, -kInf)});
      }
      for (const double got : tries) {
        if (is_float(T) || std::fabs(got) <= largest_finite(T)) agrees<T>(r, got, rules);
      }
    }
  };
  around(std::integral_constant<DType, DType::f32>{});
  around(std::integral_constant<DType, DType::f64>{});
  around(std::integral_constant<DType, DType::i32>{});
  EXPECT_GT(passed, 100'000);
  EXPECT_GT(failed, 100'000);
}

}  // namespace
}  // namespace assay
