// The oracles of the BLAS ops that are sums of products of matrices and vectors: MPFR confirms value, E_ref and
// conditions; correct implementations never fail, whatever their order; faulty ones fail on a case of the smoke tier.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "blas_sums.h"
#include "core/error.h"
#include "mpfr_value.h"
#include "oracle_suite.h"
#include "reference/gemm/oracle.h"

namespace assay {
namespace {

using namespace testing;

const std::vector<std::string> kOps{"blas_gemm", "blas_gemv", "blas_ger", "blas_syrk", "blas_trmv"};

template <class Choices>
const auto& pick(std::mt19937_64& random, const Choices& from) {
  return from[random() % from.size()];
}

// A small case of any kind, of at most so many products.
Case random_case(std::mt19937_64& random, const std::string& op, bool finite) {
  const std::vector<std::string> fills{"normal",  "uniform",   "cancelling", "scaled",       "huge",
                                       "ones",    "integers",  "onehot",     "signed_zeros", "subnormal",
                                       "special", "special_b", "special_c",  "nan_one"};
  std::vector<std::pair<std::string, std::string>> given;
  const bool complex = random() % 2 == 0;
  const std::string dtype = random() % 2 == 0 ? "f32" : "f64";
  for (const FieldSpec& field : registry().named(op).fields()) {
    const std::string& name = field.name;
    if (name == "m" || name == "n") {
      given.emplace_back(name, std::to_string(random() % 8));
    } else if (name == "k") {
      given.emplace_back(name, std::to_string(random() % (random() % 8 == 0 ? 200 : 24)));
    } else if (name == "domain") {
      given.emplace_back(name, complex ? "complex" : "real");
    } else if (name == "dtype") {
      given.emplace_back(name, dtype);
    } else if (name == "alpha" || name == "beta") {
      const std::vector<std::string> factors{"0", "1", "1", "-1", "0.30000001192092896", "-0.75", "3"};
      given.emplace_back(name, pick(random, factors));
    } else if (name == "alpha_im" || name == "beta_im") {
      const std::vector<std::string> factors{"0", "0", "1", "-0.30000001192092896"};
      given.emplace_back(name, complex ? pick(random, factors) : "0");
    } else if (name.starts_with("pad")) {
      given.emplace_back(name, std::to_string(random() % 3));
    } else if (name.starts_with("inc")) {
      const std::vector<std::string> increments{"1", "2", "-1", "-3"};
      given.emplace_back(name, pick(random, increments));
    } else if (name == "conj") {
      given.emplace_back(name, complex && random() % 2 == 0 ? "y" : "n");
    } else {
      given.emplace_back(name, pick(random, field.choices));
    }
  }
  given.emplace_back("fill", fills[random() % (finite ? fills.size() - 4 : fills.size())]);
  given.emplace_back("seed", std::to_string(1 + random() % 100000));
  return registry().named(op).make(given);
}

Contract contract_of(const Case& c) {
  return plain_contract(c.word("dtype") == "f32" ? ASSAY_ACC_F32 : ASSAY_ACC_F64, 0, 0);
}

TEST(BlasOracle, MpfrConfirmsValueBoundAndConditions) {
  const uint64_t seed = 4713;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  int64_t elements = 0, exact_ones = 0;
  for (int i = 0; i < 800; ++i) {
    const Case c = random_case(random, kOps[static_cast<size_t>(i) % kOps.size()], true);
    const BlasProblem blas(c);
    const Reference r = blas.problem.oracle()[0];
    const size_t parts = blas.complex ? 2 : 1;
    for (int64_t at = 0; at < blas.numbers(); ++at) {
      const BlasSum s = blas.sum(at);
      if (s.untouched) continue;
      // Each part is a sum of real products: of factors[0] factors[1] factors[2].
      std::vector<std::vector<Big>> terms(2);
      const auto add = [&](Pair x, Pair y, Pair z) {
        const auto term = [&](size_t part, double a, double b, double d) {
          terms[part].push_back(Big(a) * Big(b) * Big(d));
        };
        term(0, x.re, y.re, z.re), term(0, -x.re, y.im, z.im), term(0, -x.im, y.re, z.im), term(0, -x.im, y.im, z.re);
        term(1, x.re, y.re, z.im), term(1, x.re, y.im, z.re), term(1, x.im, y.re, z.re), term(1, -x.im, y.im, z.im);
      };
      for (const auto& [a, b] : s.products) add(s.alpha, a, b);
      if (s.beta.re != 0 || s.beta.im != 0) add(s.beta, s.old, {1, 0});
      for (size_t part = 0; part < parts; ++part) {
        const size_t element = static_cast<size_t>(at) * parts + part;
        if (!std::isfinite(r.e_ref[element])) continue;
        Big sum, magnitude;
        const Big unit = Big::combine(mpfr_pow, 2.0, r.conditions[gemm::kQuantum][element]);
        for (const Big& term : terms[part]) {
          sum = sum + term;
          magnitude = magnitude + term.abs();
          EXPECT_TRUE((term / unit).is_integer()) << c.id() << " " << element;
        }
        const Big off = (sum - Big(DoubleDouble(r.hi[element], r.lo[element]))).abs();
        ASSERT_FALSE(Big(r.e_ref[element]) < off)
            << c.id() << " element " << element << " off by " << off.value() << ", E_ref " << r.e_ref[element];
        EXPECT_FALSE(Big(r.conditions[gemm::kTerms][element]) < magnitude) << c.id() << " " << element;
        EXPECT_FALSE(Big(r.conditions[gemm::kLargest][element]).abs() < magnitude) << c.id() << " " << element;
        ++elements;
        exact_ones += r.e_ref[element] == 0;
      }
    }
  }
  EXPECT_GT(elements, 8000);
  EXPECT_GT(exact_ones, 500);
}

TEST(BlasOracle, OwnErrorIsSmallAgainstTheKernels) {
  for (const std::string& op : kOps) {
    for (const Case& c : registry().named(op).cases(Tier::smoke)) {
      if (c.word("dtype") != "f64" || c.word("fill") != "normal") continue;
      const Problem problem(registry().named(op), c);
      const Reference r = problem.oracle()[0];
      const Bounds bounds = registry().named(op).bounds(c, contract_of(c), r);
      for (size_t i = 0; i < r.size(); ++i) EXPECT_LE(r.e_ref[i], 0x1p-10 * bounds.e_alg[i]) << c.id();
    }
  }
}

TEST(BlasOracle, SameBitsForAnyThreadCount) {
  for (const char* id : {"blas_gemm:m=70,n=41,k=65,order=col,transa=c,beta=0.5,domain=complex,dtype=f64",
                         "blas_gemv:m=300,n=301,trans=t,incy=-1,dtype=f32", "blas_syrk:n=65,k=40,uplo=l,dtype=f64",
                         "blas_trmv:n=400,domain=complex,dtype=f32", "blas_ger:m=257,n=300,dtype=f64"}) {
    const Case c = registry().parse_case(id);
    const Problem problem(registry().named(c.op()), c);
    EXPECT_TRUE(testing::same_bits(problem.oracle(1), problem.oracle(3))) << id;
  }
}

template <class T>
ErrorSummary run(const BlasProblem& blas, const Reference& reference, const BlasManner& manner) {
  const Problem& p = blas.problem;
  return judge_output(*p.op, p.c, p.output(reference), reference, contract_of(p.c),
                      BlasInType<T>(blas, manner).outputs());
}
ErrorSummary run(const BlasProblem& blas, const Reference& reference, const BlasManner& manner) {
  return blas.problem.c.word("dtype") == "f32" ? run<float>(blas, reference, manner)
                                               : run<double>(blas, reference, manner);
}

TEST(BlasBounds, CorrectImplementationsNeverFail) {
  const uint64_t seed = 4714;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  int64_t elements = 0, exact = 0, unclear = 0;
  double max_q = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string& op = kOps[static_cast<size_t>(i) % kOps.size()];
    const Case c = random_case(random, op, false);
    const BlasProblem blas(c);
    const Reference reference = blas.problem.oracle()[0];
    for (const auto order :
         {BlasManner::sequential, BlasManner::reversed, BlasManner::pairwise, BlasManner::lanes, BlasManner::fused}) {
      const BlasManner manner{.order = order,
                              .scales_factor = random() % 2 == 0,
                              .scales_old = random() % 2 == 0,
                              .skips_zeros = op != "blas_gemm" && op != "blas_gemv" && random() % 2 == 0,
                              .real_scalars = random() % 2 == 0,
                              .annex_g = random() % 2 == 0};
      const ErrorSummary s = run(blas, reference, manner);
      ASSERT_EQ(s.failures, 0) << c.id() << " order " << order << " scales_factor " << manner.scales_factor
                               << " scales_old " << manner.scales_old << " skips_zeros " << manner.skips_zeros
                               << " real_scalars " << manner.real_scalars << " annex_g " << manner.annex_g
                               << ": element " << s.worst_index << " got " << s.worst_got << ", want " << s.worst_want
                               << " +- " << s.worst_bound;
      elements += s.elements;
      exact += s.exact;
      unclear += s.no_evidence;
      if (c.word("fill") == "normal" && c.word("dtype") == "f32") max_q = std::max(max_q, s.max_q);
    }
  }
  std::printf("  %lld elements, %lld exact, %lld no evidence, largest |error| / bound %.3f\n",
              static_cast<long long>(elements), static_cast<long long>(exact), static_cast<long long>(unclear), max_q);
  EXPECT_GT(elements, 200000);
  EXPECT_GT(exact, 20000);
  EXPECT_LT(4 * unclear, elements);
  EXPECT_GT(max_q, 0.2) << "a bound this loose finds little";
}

TEST(BlasBounds, FaultsFailOnTheSmokeTier) {
  const std::map<BlasFault, std::vector<std::string>> faults{
      {BlasFault::drops_last, kOps},
      {BlasFault::ignores_alpha, {"blas_gemm", "blas_gemv", "blas_ger", "blas_syrk"}},
      {BlasFault::ignores_beta, {"blas_gemm", "blas_gemv", "blas_syrk"}},
      {BlasFault::no_conjugation, {"blas_gemm", "blas_gemv", "blas_ger", "blas_trmv"}},
      {BlasFault::conjugates_other, {"blas_syrk"}},
      {BlasFault::ignores_increment_sign, {"blas_gemv", "blas_ger", "blas_trmv"}},
      {BlasFault::reads_other_triangle, {"blas_trmv"}},
      {BlasFault::multiplies_unit_diagonal, {"blas_trmv"}},
      {BlasFault::swaps_order, {"blas_gemm", "blas_gemv", "blas_syrk", "blas_trmv"}},
      {BlasFault::writes_other_triangle, {"blas_syrk"}},
      {BlasFault::three_products, {"blas_gemm"}},
      {BlasFault::half_sums, {"blas_gemm", "blas_gemv", "blas_syrk", "blas_trmv"}}};
  for (const std::string& op : kOps) {
    std::map<BlasFault, int64_t> seen;
    for (const Case& c : registry().named(op).cases(Tier::smoke)) {
      const BlasProblem blas(c);
      const Reference reference = blas.problem.oracle()[0];
      EXPECT_EQ(run(blas, reference, {}).failures, 0) << c.id();
      for (const auto& [fault, ops] : faults) seen[fault] += run(blas, reference, {.fault = fault}).failures;
    }
    for (const auto& [fault, ops] : faults) {
      if (std::count(ops.begin(), ops.end(), op) == 0) continue;
      EXPECT_GT(seen[fault], 0) << op << " fault " << static_cast<int>(fault) << " is not seen";
    }
  }
}

TEST(BlasOracle, WhatBlasDoesNotReadDoesNotCount) {
  const auto outputs = [](const char* id) {
    const Case c = registry().parse_case(id);
    return Problem(registry().named(c.op()), c).oracle()[0];
  };
  for (const double hi : outputs("blas_gemv:m=5,n=6,alpha=0,dtype=f32").hi) EXPECT_EQ(hi, 0);
  for (const double hi : outputs("blas_gemm:m=5,n=6,k=0,domain=complex,dtype=f64").hi) EXPECT_EQ(hi, 0);
  const Reference triangle = outputs("blas_syrk:n=5,k=3,uplo=l,dtype=f32");  // C is NaN before
  for (size_t i = 0; i < 25; ++i) EXPECT_EQ(std::isnan(triangle.hi[i]), i / 5 < i % 5) << i;
  for (const double hi : outputs("blas_trmv:n=29,order=col,uplo=l,trans=t,dtype=f32,fill=triangle").hi) {
    EXPECT_TRUE(std::isfinite(hi));
  }
  // Without rows or columns y stays, although beta is 0.
  const Case empty = registry().parse_case("blas_gemv:m=5,n=0,dtype=f64");
  const Problem problem(registry().named("blas_gemv"), empty);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(problem.oracle()[0].hi[i], problem.at(2, static_cast<int64_t>(i)));
}

TEST(BlasCases, FieldsThatDoNotGoTogetherAreRefusedWithARemedy) {
  const auto refusal = [](const char* id) -> std::string {
    const Case c = registry().parse_case(id);
    try {
      registry().named(c.op()).tensors(c);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_NE(refusal("blas_gemv:m=2,n=2,incx=0,dtype=f32").find("'incx' is 0"), std::string::npos);
  EXPECT_NE(refusal("blas_ger:m=2,n=2,conj=y,dtype=f32").find("domain=complex"), std::string::npos);
  EXPECT_NE(refusal("blas_gemm:m=2,n=2,k=2,alpha=0.1,dtype=f32").find("not a finite f32 number"), std::string::npos);
  EXPECT_NE(refusal("blas_gemm:m=2,n=2,k=2,alpha=inf,dtype=f64").find("not a finite f64 number"), std::string::npos);
  EXPECT_EQ(refusal("blas_gemm:m=2,n=2,k=2,alpha=0.1,dtype=f64"), "accepted");
}

TEST(BlasCases, TiersNestAndProveSomething) {
  for (const std::string& name : kOps) {
    const Op& op = registry().named(name);
    const auto smoke = op.cases(Tier::smoke), ci = op.cases(Tier::ci), nightly = op.cases(Tier::nightly);
    EXPECT_GE(smoke.size(), 8u) << name;
    EXPECT_GE(ci.size(), 60u) << name;
    EXPECT_GE(nightly.size(), 2 * ci.size()) << name;
    for (const Case& c : smoke) EXPECT_EQ(std::count(ci.begin(), ci.end(), c), 1) << c.id();
    for (const Case& c : ci) EXPECT_EQ(std::count(nightly.begin(), nightly.end(), c), 1) << c.id();
    EXPECT_EQ(testing::mistrusted(op, nightly), std::vector<std::string>{});
  }
}

}  // namespace
}  // namespace assay
