// The gemm oracle: MPFR confirms value, E_ref and conditions; threads and instruction sets change nothing; the tiers
// and the laws that the op declares hold.
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "gemm_matrices.h"
#include "mpfr_value.h"
#include "oracle_suite.h"
#include "reference/gemm/gemm.h"
#include "reference/gemm/oracle.h"

namespace assay {
namespace {

using namespace testing;

void expect_exact_value_enclosed(const std::string& fields) {
  SCOPED_TRACE(fields);
  const Problem problem(gemm_op(), gemm_case(fields));
  const Reference r = problem.oracle()[0];
  const Matrices x(problem);
  int64_t at = 0, finite = 0;
  for (int64_t e = 0; e < problem.c.integer("batch"); ++e) {
    for (int64_t i = 0; i < x.m; ++i) {
      for (int64_t j = 0; j < x.n; ++j, ++at) {
        const auto element = static_cast<size_t>(at);
        if (!std::isfinite(r.hi[element]) || !std::isfinite(r.e_ref[element])) continue;
        ++finite;
        Big sum, magnitude;
        const Big unit = Big::combine(mpfr_pow, 2.0, r.conditions[gemm::kQuantum][element]);
        const auto is_multiple = [&](const Big& v) { return (v / unit).is_integer(); };
        for (int64_t p = 0; p < x.k && x.alpha != 0; ++p) {
          const Big product = Big(x.a(e, i, p)) * Big(x.b(e, p, j));
          EXPECT_TRUE(is_multiple(product) && is_multiple(product * x.alpha)) << at;
          sum = sum + product;
          magnitude = magnitude + product.abs();
        }
        const Big added = x.beta == 0 ? Big(0.0) : Big(x.c(e, i, j)) * x.beta;
        EXPECT_TRUE(is_multiple(added)) << at;
        const Big exact = sum * x.alpha + added;
        const Big terms = magnitude * std::fabs(x.alpha) + added.abs();
        const Big difference = (exact - Big(DoubleDouble(r.hi[element], r.lo[element]))).abs();
        EXPECT_FALSE(Big(r.e_ref[element]) < difference)
            << at << ": off by " << difference.value() << ", E_ref " << r.e_ref[element];
        EXPECT_FALSE(Big(r.conditions[gemm::kTerms][element]) < terms) << at;
        EXPECT_FALSE(Big(r.conditions[gemm::kLargest][element]) < terms) << at;
        EXPECT_FALSE(x.alpha != 0 && Big(r.conditions[gemm::kLargest][element]) < magnitude) << at;
      }
    }
  }
  EXPECT_GT(2 * finite, at);
}

TEST(GemmOracle, MpfrConfirmsValueAndBound) {
  for (const char* dtype : {"f64", "f32", "f16", "bf16"}) {
    for (const char* fill : {"normal", "uniform", "cancelling", "scaled", "huge", "subnormal", "signed_zeros",
                             "special", "integers", "ones", "onehot", "identity"}) {
      for (const char* rest : {"", ",tb=t,alpha=-0.75,beta=0.5,pad_a=3,pad_b=1,pad_c=5", ",ta=t,beta=1,batch=2"}) {
        expect_exact_value_enclosed("m=7,n=9,k=23,dtype=" + std::string(dtype) + ",fill=" + fill + rest);
      }
    }
  }
  expect_exact_value_enclosed("m=2,n=67,k=1500,dtype=f64,fill=uniform");
  expect_exact_value_enclosed("m=2,n=67,k=1500,dtype=f32,fill=scaled");
  expect_exact_value_enclosed("m=3,n=3,k=0,beta=0.5,dtype=f64");
  expect_exact_value_enclosed("m=3,n=3,k=5,alpha=0,beta=0.5,dtype=f32");
}

TEST(GemmOracle, OwnErrorIsSmallAgainstTheKernels) {
  for (const char* dtype : {"f64", "f32", "f16", "bf16"}) {
    const Problem problem(gemm_op(), gemm_case("m=20,n=20,k=300,alpha=-0.75,beta=0.5,dtype=" + std::string(dtype)));
    const Reference r = problem.oracle()[0];
    const Bounds bounds = gemm_op().bounds(problem.c, plain_contract(ASSAY_ACC_F32, 0, 0), r);
    for (size_t i = 0; i < r.size(); ++i) EXPECT_LE(r.e_ref[i], 0x1p-10 * bounds.e_alg[i]) << dtype;
  }
}

TEST(GemmOracle, SameBitsForAnyThreadCountAndInstructionSet) {
  for (const char* dtype : {"f64", "f32", "bf16"}) {
    const Problem problem(gemm_op(), gemm_case("m=70,n=150,k=131,tb=t,beta=0.5,dtype=" + std::string(dtype)));
    const std::vector<Reference> all = problem.oracle(1);
    const Reference& one = all[0];
    EXPECT_TRUE(testing::same_bits(all, problem.oracle(2)));
    EXPECT_TRUE(testing::same_bits(all, problem.oracle(3)));
    // This file is compiled for the baseline instruction set; the loops of the library run on the machine's own.
    const Matrices x(problem);
    for (int64_t at = 0; at < x.m * x.n; ++at) {
      double high = 0, low = 0, magnitude = 0;
      for (int64_t p = 0; p < x.k; ++p) {
        const double a = x.a(0, at / x.n, p), b = x.b(0, p, at % x.n);
        if (problem.specs[0].dtype == DType::f64) {
          gemm::add_product_exactly(a, b, high, low, magnitude);
        } else {
          gemm::add_product(a, b, high, magnitude);
        }
      }
      const auto element = static_cast<size_t>(at);
      const DoubleDouble sum = two_sum(high, 0.5 * x.c(0, at / x.n, at % x.n));
      const DoubleDouble result = two_sum(sum.hi, sum.lo + low);
      ASSERT_EQ(one.hi[element], result.hi) << dtype << " " << at;
      ASSERT_EQ(one.lo[element], result.lo) << dtype << " " << at;
    }
  }
}

TEST(GemmOracle, UnreadTensorsDoNotCount) {
  const Problem no_products(gemm_op(), gemm_case("m=5,n=6,k=7,alpha=0,beta=0.5,dtype=f32"));  // A and B are NaN
  const Problem no_c(gemm_op(), gemm_case("m=5,n=6,k=7,dtype=f32"));                          // C is NaN
  const Problem nothing(gemm_op(), gemm_case("m=5,n=6,k=7,alpha=0,dtype=f64"));
  const Matrices x(no_products);
  for (int64_t i = 0; i < 30; ++i) {
    const auto at = static_cast<size_t>(i);
    EXPECT_EQ(no_products.oracle()[0].hi[at], 0.5 * x.c(0, i / 6, i % 6));
    EXPECT_TRUE(std::isfinite(no_c.oracle()[0].hi[at]));
    EXPECT_EQ(nothing.oracle()[0].hi[at], 0);
  }
}

TEST(GemmOracle, ScalarsOutsideTheTypeAreRefusedWithARemedy) {
  try {
    gemm_op().tensors(gemm_case("m=1,n=1,k=1,alpha=0.1,dtype=f32"));
    FAIL() << "accepted";
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("field 'alpha' = 0.1 is not a finite f32 number"), std::string::npos);
  }
  gemm_op().tensors(gemm_case("m=1,n=1,k=1,alpha=0.1,dtype=f64"));
  for (const char* fields : {"m=1,n=1,k=1,alpha=inf,dtype=f32", "m=1,n=1,k=1,beta=-inf,dtype=f64"}) {
    EXPECT_THROW(gemm_op().tensors(gemm_case(fields)), UsageError) << fields;
  }
}

TEST(GemmCases, TiersNestAndAreLargeEnough) { testing::expect_tiers_nest(gemm_op(), 250, 3); }

TEST(GemmCases, OutputsProveSomething) {
  EXPECT_EQ(testing::mistrusted(gemm_op(), gemm_op().cases(Tier::ci)), std::vector<std::string>{});
}

}  // namespace
}  // namespace assay
