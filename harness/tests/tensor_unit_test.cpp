// The bound of sums in a matrix unit: units simulated bit by bit stay inside it, whichever way they cut and however
// they treat subnormal factors; units that keep less than was declared do not.
#include "reference/math/tensor_unit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/error.h"
#include "gemm_matrices.h"
#include "mpfr_value.h"

namespace assay {
namespace {

using namespace testing;

// A unit as hardware would build one, written without a look at the bound. Numbers are kept as doubles: with at most
// 64 terms and 34 bits kept, no sum of cut terms rounds.
struct Unit {
  int terms = 16, fraction = 25, precision = 23, promotion = 0;
  bool cuts_downwards = false;        // two's complement, instead of sign and magnitude
  bool normalises = false;            // subnormal factors have an exponent of their own
  bool keeps_the_accumulator = true;  // false: it is dropped at each step

  double cut(double x, int lowest_bit) const {
    const double scaled = std::ldexp(x, -lowest_bit);
    return std::ldexp(cuts_downwards ? std::floor(scaled) : std::trunc(scaled), lowest_bit);
  }
  int exponent(double x, DType type) const {
    const int least = format_of(type).min_exponent;
    if (x == 0) return normalises ? -100000 : least;
    return normalises ? std::ilogb(x) : std::max(std::ilogb(x), least);
  }
  double step(double sum, const double* a, const double* b, size_t n, DType type) const {
    int top = sum == 0 ? -100000 : std::ilogb(sum);
    for (size_t i = 0; i < n; ++i) {
      if (normalises && (a[i] == 0 || b[i] == 0)) continue;
      top = std::max(top, exponent(a[i], type) + exponent(b[i], type));
    }
    if (top == -100000) return 0;
    double added = keeps_the_accumulator ? cut(sum, top - fraction) : 0;
    for (size_t i = 0; i < n; ++i) added += cut(a[i] * b[i], top - fraction);
    if (added == 0) return 0;
    return cut(added, std::max(std::ilogb(added) - precision, -149));  // the running sum is a number of f32's range
  }
  double sum(const std::vector<double>& a, const std::vector<double>& b, DType type) const {
    const size_t k = a.size(), width = static_cast<size_t>(terms);
    float promoted = 0;
    double running = 0;
    for (size_t p = 0; p < k; p += width) {
      if (promotion > 0 && p % static_cast<size_t>(promotion) == 0) {
        promoted += static_cast<float>(running);
        running = 0;
      }
      running = step(running, &a[p], &b[p], std::min(width, k - p), type);
    }
    return promotion > 0 ? promoted + static_cast<float>(running) : static_cast<float>(running);
  }
  double element(const Matrices& x, int64_t e, int64_t i, int64_t j) const {
    std::vector<double> row, column;
    for (int64_t p = 0; p < (x.alpha == 0 ? 0 : x.k); ++p) {
      row.push_back(x.a(e, i, p));
      column.push_back(x.b(e, p, j));
    }
    const auto total = static_cast<float>(sum(row, column, x.problem->specs[0].dtype));
    const float scaled = static_cast<float>(x.alpha) * total;
    return x.beta == 0 ? scaled : scaled + static_cast<float>(x.beta) * static_cast<float>(x.c(e, i, j));
  }
};

constexpr Unit kAmpere{.terms = 8, .fraction = 24}, kHopper{}, kHopperFp8{.terms = 32, .fraction = 13, .precision = 13};

assay_arithmetic declared(const Unit& unit) {
  return {.accumulator = ASSAY_ACC_TENSOR,
          .tensor_terms = unit.terms,
          .tensor_fraction = unit.fraction,
          .tensor_precision = unit.precision,
          .tensor_promotion = unit.promotion};
}

Contract contract_of(const Unit& unit) {
  Contract contract = plain_contract(ASSAY_ACC_TENSOR, 0, 0);
  contract.arithmetic = declared(unit);
  return contract;
}

ErrorSummary run(const Problem& problem, const Reference& reference, const Unit& unit, const Unit& promised) {
  const Matrices x(problem);
  return problem.judge(reference, contract_of(promised),
                       [&](int64_t at) { return unit.element(x, at / (x.m * x.n), at / x.n % x.m, at % x.n); });
}

ErrorSummary run(const std::string& fields, const Unit& unit, const Unit& promised) {
  const Problem problem(gemm_op(), gemm_case(fields));
  return run(problem, problem.oracle()[0], unit, promised);
}

Unit promoted(Unit unit, int interval) {
  unit.promotion = interval;
  return unit;
}

std::vector<Unit> variants(Unit unit) {
  std::vector<Unit> all;
  for (const bool downwards : {false, true}) {
    for (const bool normalises : {false, true}) {
      unit.cuts_downwards = downwards;
      unit.normalises = normalises;
      all.push_back(unit);
    }
  }
  return all;
}

TEST(TensorUnitBound, SimulatedUnitsNeverFail) {
  const uint64_t seed = 90210;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto pick = [&](const auto& from) { return from[random() % from.size()]; };
  const std::vector<std::string> fills{"normal", "uniform",  "cancelling",   "subnormal",
                                       "index",  "integers", "signed_zeros", "negative"};
  const std::vector<std::string> alphas{"1", "-0.75", "0", "1.5"}, betas{"0", "1", "0.5"};
  const std::vector<std::string> wide{"f16", "bf16"}, outs{"f32", "f16", "bf16"};
  int64_t elements = 0, exact = 0;
  for (int i = 0; i < 300; ++i) {
    const bool fp8 = i % 2 == 0;
    const std::string type = fp8 ? "out=" + pick(outs) + ",dtype=e4m3" : "dtype=" + pick(wide);
    const Case c = gemm_case("m=" + std::to_string(1 + random() % 5) + ",n=" + std::to_string(1 + random() % 5) +
                             ",k=" + std::to_string(random() % (i % 10 < 2 ? 900 : 70)) + ",alpha=" + pick(alphas) +
                             ",beta=" + pick(betas) + "," + type + ",fill=" + pick(fills) +
                             ",seed=" + std::to_string(random() % 100000));
    const Problem problem(gemm_op(), c);
    const Reference reference = problem.oracle()[0];
    const std::vector<Unit> units = fp8 ? std::vector<Unit>{kHopperFp8, promoted(kHopperFp8, 128), kHopper}
                                        : std::vector<Unit>{kAmpere, kHopper, promoted(kHopper, 64)};
    for (const Unit& promised : units) {
      for (const Unit& unit : variants(promised)) {
        const ErrorSummary s = run(problem, reference, unit, promised);
        EXPECT_EQ(s.failures, 0) << c.id() << " L " << unit.terms << " F " << unit.fraction << " promotion "
                                 << unit.promotion << " downwards " << unit.cuts_downwards << ": element "
                                 << s.worst_index << " got " << s.worst_got << ", want " << s.worst_want << " +- "
                                 << s.worst_bound;
        elements += s.elements;
        exact += s.exact;
      }
    }
  }
  EXPECT_GT(elements, 20000);
  EXPECT_GT(exact, 1000);
}

TEST(TensorUnitBound, UnitsThatKeepLessFail) {
  const std::string bf16 = "m=8,n=8,k=4096,dtype=f16,fill=uniform",
                    fp8 = "m=8,n=8,k=4096,out=f32,dtype=e4m3,fill=uniform";
  EXPECT_EQ(run(bf16, kHopper, kHopper).failures, 0);
  EXPECT_GT(run(bf16, kHopperFp8, kHopper).failures, 0);
  Unit forgets = kHopper;
  forgets.keeps_the_accumulator = false;
  EXPECT_GT(run("m=8,n=8,k=33,dtype=bf16", forgets, kHopper).failures, 0);
  EXPECT_EQ(run(fp8, promoted(kHopperFp8, 128), promoted(kHopperFp8, 128)).failures, 0);
  EXPECT_GT(run(fp8, kHopperFp8, promoted(kHopperFp8, 128)).failures, 0) << "never promoted";
  EXPECT_GT(run(fp8, promoted(kHopperFp8, 128), kHopper).failures, 0) << "declared as if in f32";
  // Where sums are exact every unit gives the same bits, and a wrong one is seen whatever it declares.
  EXPECT_EQ(run("m=8,n=8,k=60,dtype=bf16,fill=integers", kHopper, kHopper).exact, 64);
  EXPECT_GT(run("m=8,n=8,k=60,dtype=bf16,fill=integers", forgets, kHopperFp8).failures, 0);
}

// Share of the bound that the error of a unit's sum takes, against the exact sum and without the output's rounding.
double share_of_bound(const Unit& unit, const std::vector<double>& a, const std::vector<double>& b, DType type) {
  Big exact(0.0), magnitude(0.0);
  for (size_t p = 0; p < a.size(); ++p) {
    exact = exact + Big(a[p]) * Big(b[p]);
    magnitude = magnitude + (Big(a[p]) * Big(b[p])).abs();
  }
  const TensorUnit bound = charged_tensor_unit(declared(unit), type);
  const auto k = static_cast<double>(a.size());
  const double allowed = bound.rounding(k) * magnitude.value() + bound.subnormal_cuts(k, type);
  return (Big(unit.sum(a, b, type)) - exact).abs().value() / allowed;
}

TEST(TensorUnitBound, HoldsAgainstExactSumsAndIsNearlyReached) {
  constexpr size_t kProducts = 2048;
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const Unit& promised : {kAmpere, kHopper, promoted(kHopperFp8, 128)}) {
    const DType type = promised.fraction < 20 ? DType::e4m3 : DType::bf16;
    for (const Unit& unit : variants(promised)) {
      std::vector<double> a(kProducts), b(kProducts);
      for (int trial = 0; trial < 20; ++trial) {
        for (size_t p = 0; p < kProducts; ++p) {
          a[p] = round_to(type, uniform(random));
          b[p] = round_to(type, uniform(random));
        }
        EXPECT_LE(share_of_bound(unit, a, b, type), 1);
      }
      // A large product at the start of each sum, and the others just below what is kept beside it.
      for (size_t p = 0; p < kProducts; ++p) {
        const bool large = promised.promotion > 0 ? p % static_cast<size_t>(promised.promotion) == 0 : p == 0;
        a[p] = large ? 16 : 0.125;
        b[p] = large ? 16 : std::ldexp(1.875, 10 - promised.fraction);
      }
      const double share = share_of_bound(unit, a, b, type);
      EXPECT_LE(share, 1);
      EXPECT_GT(share, 0.5) << "the bound says little of L " << unit.terms << " F " << unit.fraction;
    }
  }
}

TEST(TensorUnitBound, IsTheFormulaOfItsHeader) {
  const TensorUnit hopper = charged_tensor_unit(declared(kHopper), DType::bf16);
  const double cuts = 256 * (17 * 0x1p-25 + 0x1p-23);
  EXPECT_NEAR(hopper.rounding(4096), cuts * (1 + cuts), 1e-12);
  const TensorUnit fp8 = charged_tensor_unit(declared(promoted(kHopperFp8, 128)), DType::e4m3);
  EXPECT_NEAR(fp8.rounding(8192), 4 * 34 * 0x1p-13, 3e-4);
  EXPECT_NEAR(fp8.rounding(100), 4 * 34 * 0x1p-13, 3e-4);
  EXPECT_LT(fp8.rounding(32), fp8.rounding(33));
  EXPECT_GT(charged_tensor_unit(declared(kHopperFp8), DType::e4m3).rounding(8192), 1);  // vacuous, and not infinite
  // A 16-bit product is charged with no unit of fp8.
  EXPECT_EQ(charged_tensor_unit(declared(kHopperFp8), DType::f16).fraction, 23);
  // Products of f32 are not a matrix unit's: the bound is that of f32 (TF32 under such a contract fails).
  const Problem problem(gemm_op(), gemm_case("m=4,n=4,k=64,dtype=f32"));
  const Reference r = problem.oracle()[0];
  EXPECT_EQ(gemm_op().bounds(problem.c, contract_of(kHopper), r).e_alg,
            gemm_op().bounds(problem.c, plain_contract(ASSAY_ACC_F32, 0, 0), r).e_alg);
}

TEST(TensorUnitBound, CapsRefuseWhatIsNoUnit) {
  const auto violation = [](auto change) {
    Contract contract = contract_of(promoted(kHopperFp8, 128));
    change(contract.arithmetic);
    return gemm_op().cap_violation(contract);
  };
  EXPECT_EQ(violation([](auto&) {}), "");
  EXPECT_NE(violation([](auto& a) { a.tensor_terms = 0; }), "");
  EXPECT_NE(violation([](auto& a) { a.tensor_terms = 1; }), "");
  EXPECT_NE(violation([](auto& a) { a.tensor_fraction = 7; }), "");
  EXPECT_NE(violation([](auto& a) { a.tensor_precision = 60; }), "");
  EXPECT_NE(violation([](auto& a) { a.tensor_promotion = -1; }), "");
  EXPECT_NE(violation([](auto& a) { a.accumulator = ASSAY_ACC_F32; }), "");
  EXPECT_NE(testing::registry().named("reduce").cap_violation(contract_of(kHopper)), "");
}

TEST(GemmFp8, AnOutputTypeIsNeededAndOthersHaveNone) {
  EXPECT_EQ(gemm_op().tensors(gemm_case("m=2,n=3,k=4,out=bf16,dtype=e4m3"))[2].dtype, DType::bf16);
  EXPECT_EQ(gemm_op().tensors(gemm_case("m=2,n=3,k=4,out=f32,dtype=e4m3"))[0].dtype, DType::e4m3);
  EXPECT_EQ(gemm_case("m=2,n=3,k=4,dtype=bf16").id(), "gemm:m=2,n=3,k=4,dtype=bf16");
  EXPECT_THROW(gemm_op().tensors(gemm_case("m=2,n=3,k=4,dtype=e4m3")), UsageError);
  EXPECT_THROW(gemm_op().tensors(gemm_case("m=2,n=3,k=4,out=f32,dtype=bf16")), UsageError);
}

}  // namespace
}  // namespace assay
