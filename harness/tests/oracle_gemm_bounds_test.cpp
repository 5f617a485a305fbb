// The gemm bounds: correct implementations in any order never fail; faulty ones fail on a case of the smoke tier; the
// evidence is what the inputs allow.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "gemm_matrices.h"
#include "oracle_suite.h"
#include "reference/gemm/oracle.h"

namespace assay {
namespace {

using namespace testing;

// ---- implementations in the accumulator type T: correct in every order, unless told otherwise ----

enum class Order { sequential, reversed, blocked, pairwise, fused };
enum class Fault {
  none,
  half_sums,
  bfloat_sums,
  drops_last_k,
  reads_c,
  swaps_lda,
  ignores_alpha,
  truncates,
  batch_zero,
  ignores_ta,
  ignores_tb,
};

template <class T>
struct Kernel {
  Order order = Order::sequential;
  bool scales_a = false;  // alpha a first, instead of alpha times the sum
  bool flushes = false;
  Fault fault = Fault::none;

  T settled(double v) const {
    T t = static_cast<T>(v);
    if (fault == Fault::half_sums) t = static_cast<T>(round_to(DType::f16, t));
    if (fault == Fault::bfloat_sums) t = static_cast<T>(round_to(DType::bf16, t));
    return flushes && std::fabs(t) < std::numeric_limits<T>::min() ? T(0) : t;
  }
  T add(T x, T y) const { return settled(x + y); }
  T multiply(T x, T y) const { return settled(static_cast<T>(settled(x) * settled(y))); }

  T sum(const std::vector<T>& terms, size_t begin, size_t end) const {
    if (end - begin <= 2) {
      T s = 0;
      for (size_t i = begin; i < end; ++i) s = add(s, terms[i]);
      return s;
    }
    const size_t middle = (begin + end) / 2;
    return add(sum(terms, begin, middle), sum(terms, middle, end));
  }

  T dot(const std::vector<T>& x, const std::vector<T>& y) const {
    const size_t n = x.size();
    T s = 0;
    if (order == Order::fused) {
      for (size_t p = 0; p < n; ++p) s = settled(std::fma(settled(x[p]), settled(y[p]), s));
      return s;
    }
    std::vector<T> terms(n);
    for (size_t p = 0; p < n; ++p) terms[p] = multiply(x[p], y[p]);
    if (order == Order::pairwise) return sum(terms, 0, n);
    if (order == Order::reversed) {
      for (size_t p = n; p-- > 0;) s = add(s, terms[p]);
      return s;
    }
    if (order == Order::sequential) {
      for (const T term : terms) s = add(s, term);
      return s;
    }
    T lanes[8] = {};
    for (size_t p = 0; p < n; ++p) lanes[p % 8] = add(lanes[p % 8], terms[p]);
    for (const T lane : lanes) s = add(s, lane);
    return s;
  }

  // The element before its rounding to the output.
  double element(const Matrices& x, int64_t e, int64_t i, int64_t j) const {
    std::vector<T> row, column;
    const int64_t k = x.alpha == 0 ? 0 : x.k - (fault == Fault::drops_last_k && x.k > 0);
    const auto alpha = static_cast<T>(fault == Fault::ignores_alpha ? 1 : x.alpha);
    const auto beta = static_cast<T>(x.beta);
    const int64_t from = fault == Fault::batch_zero ? 0 : e;
    for (int64_t p = 0; p < k; ++p) {
      double a = x.a(from, i, p);
      if (fault == Fault::swaps_lda) {  // walks A by the leading dimension of B
        const auto& t = x.problem->specs[0];
        const int64_t lda = x.problem->specs[1].strides[1];
        const int64_t at = x.ta ? p * lda + i : i * lda + p;
        a = at < t.span_elements() ? load(t.dtype, x.problem->storage[0].data(), at) : 0;
      }
      double b = x.b(from, p, j);
      if (fault == Fault::ignores_ta && x.m == x.k) a = x.problem->at(0, {from, i, p});
      if (fault == Fault::ignores_tb && x.n == x.k) b = x.problem->at(1, {from, p, j});
      row.push_back(scales_a ? multiply(alpha, static_cast<T>(a)) : static_cast<T>(a));
      column.push_back(static_cast<T>(b));
    }
    T result = dot(row, column);
    if (!scales_a && alpha != 1) result = multiply(alpha, result);
    if (x.beta != 0 || fault == Fault::reads_c) {
      result = add(result, multiply(beta, static_cast<T>(x.c(e, i, j))));
    }
    if (fault == Fault::truncates) {  // the epilogue rounds to zero
      const double rounded = round_to(x.problem->specs[2].dtype, result);
      const bool away = std::fabs(rounded) > std::fabs(result);
      return away ? rounded * (1 - unit_roundoff(x.problem->specs[2].dtype)) : rounded;
    }
    return result;
  }
};

template <class T>
ErrorSummary run(const Problem& problem, const Reference& reference, const Kernel<T>& kernel) {
  const Matrices x(problem);
  Contract contract = plain_contract(sizeof(T) == 4 ? ASSAY_ACC_F32 : ASSAY_ACC_F64, 0, 0);
  contract.arithmetic.flushes_subnormals = kernel.flushes;
  return problem.judge(reference, contract,
                       [&](int64_t at) { return kernel.element(x, at / (x.m * x.n), at / x.n % x.m, at % x.n); });
}

template <class T>
void expect_correct_orders_pass(const Case& c, int64_t& elements, int64_t& exact) {
  const Problem problem(gemm_op(), c);
  const Reference reference = problem.oracle()[0];
  for (const Order order : {Order::sequential, Order::reversed, Order::blocked, Order::pairwise, Order::fused}) {
    for (const bool scales_a : {false, true}) {
      for (const bool flushes : {false, true}) {
        if (flushes && (sizeof(T) == 8 || order == Order::fused)) continue;
        const ErrorSummary s = run<T>(problem, reference, {.order = order, .scales_a = scales_a, .flushes = flushes});
        EXPECT_EQ(s.failures, 0) << c.id() << " order " << static_cast<int>(order) << " scales_a " << scales_a
                                 << " flushes " << flushes << ": element " << s.worst_index << " got " << s.worst_got
                                 << ", want " << s.worst_want << " +- " << s.worst_bound;
        elements += s.elements;
        exact += s.exact;
      }
    }
  }
}

TEST(GemmBounds, CorrectKernelsNeverFail) {
  const uint64_t seed = 4711;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::vector<std::string> fills{"normal",       "uniform", "cancelling", "scaled",   "huge",   "subnormal",
                                       "signed_zeros", "special", "nan_one",    "integers", "onehot", "index"};
  const std::vector<std::string> dtypes{"f64", "f32", "f16", "bf16"};
  const std::vector<std::string> alphas{"1", "-0.75", "0", "1.5", "3", "0.001953125"};
  const std::vector<std::string> betas{"0", "1", "0.5", "-3"};
  const auto pick = [&](const auto& from) { return from[random() % from.size()]; };
  int64_t elements = 0, exact = 0;
  for (int i = 0; i < 600; ++i) {
    const std::string dtype = pick(dtypes);
    const Case c = gemm_case("m=" + std::to_string(1 + random() % 5) + ",n=" + std::to_string(1 + random() % 5) +
                             ",k=" + std::to_string(random() % (i % 10 == 0 ? 600 : 40)) + ",alpha=" + pick(alphas) +
                             ",beta=" + pick(betas) + ",dtype=" + dtype + ",fill=" + pick(fills) +
                             ",seed=" + std::to_string(random() % 100000) + (random() % 2 ? ",ta=t" : "") +
                             (random() % 2 ? ",tb=t" : ""));
    if (dtype != "f64") expect_correct_orders_pass<float>(c, elements, exact);
    if (dtype != "f32") expect_correct_orders_pass<double>(c, elements, exact);
  }
  EXPECT_GT(elements, 40000);
  EXPECT_GT(exact, 5000);
}

// Elements judged wrong over the smoke tier, and the first case that shows the fault.
template <class T>
std::pair<int64_t, std::string> smoke_failures(Fault fault) {
  int64_t failures = 0;
  std::string witness;
  for (const Case& c : gemm_op().cases(Tier::smoke)) {
    if ((sizeof(T) == 8) != (c.word("dtype") == "f64")) continue;
    const Problem problem(gemm_op(), c);
    const ErrorSummary s = run<T>(problem, problem.oracle()[0], {.fault = fault});
    if (s.failures > 0 && witness.empty()) witness = c.id();
    failures += s.failures;
  }
  return {failures, witness};
}

TEST(GemmBounds, FaultsFailOnTheSmokeTier) {
  EXPECT_EQ(smoke_failures<float>(Fault::none).first, 0) << smoke_failures<float>(Fault::none).second;
  EXPECT_EQ(smoke_failures<double>(Fault::none).first, 0) << smoke_failures<double>(Fault::none).second;
  for (const Fault fault :
       {Fault::half_sums, Fault::bfloat_sums, Fault::drops_last_k, Fault::reads_c, Fault::swaps_lda,
        Fault::ignores_alpha, Fault::truncates, Fault::batch_zero, Fault::ignores_ta, Fault::ignores_tb}) {
    const auto [failures, witness] = smoke_failures<float>(fault);
    EXPECT_GT(failures, 0) << "fault " << static_cast<int>(fault) << " is not seen";
  }
  for (const Fault fault : {Fault::drops_last_k, Fault::reads_c}) EXPECT_GT(smoke_failures<double>(fault).first, 0);
}

TEST(GemmBounds, EvidenceIsWhatTheInputsAllow) {
  const auto shares = [](const std::string& fields, int32_t accumulator) {
    const Problem problem(gemm_op(), gemm_case(fields));
    const Reference r = problem.oracle()[0];
    const Bounds bounds = gemm_op().bounds(problem.c, plain_contract(accumulator, 0, 0), r);
    std::vector<size_t> counts(4);
    for (const Evidence e : bounds.evidence) ++counts[static_cast<size_t>(e)];
    return counts;  // rigorous, exact, weak, no evidence
  };
  const auto all_exact = std::vector<size_t>{0, 100, 0, 0};
  EXPECT_EQ(shares("m=10,n=10,k=500,fill=integers,dtype=f32", ASSAY_ACC_F32), all_exact);
  EXPECT_EQ(shares("m=10,n=10,k=500,fill=integers,dtype=f32,alpha=-0.75,beta=3", ASSAY_ACC_F32), all_exact);
  EXPECT_EQ(shares("m=10,n=10,k=50,fill=onehot,dtype=f16", ASSAY_ACC_F32), all_exact);
  EXPECT_EQ(shares("m=10,n=10,k=50,fill=identity,dtype=bf16", ASSAY_ACC_F32), all_exact);
  EXPECT_EQ(shares("m=10,n=10,k=50,dtype=f32", ASSAY_ACC_F32), (std::vector<size_t>{100, 0, 0, 0}));
  EXPECT_EQ(shares("m=10,n=10,k=50,dtype=bf16", ASSAY_ACC_F64)[1], 100u);  // 16-bit products in fp64
  // Multiples of 2^-13 up to about 9000 need 26 bits.
  EXPECT_EQ(shares("m=10,n=10,k=500,fill=integers,dtype=f32,alpha=1.0001220703125", ASSAY_ACC_F32)[1], 0u);
  EXPECT_GT(shares("m=10,n=10,k=1,fill=huge,dtype=f32", ASSAY_ACC_F32)[3], 0u);
  EXPECT_EQ(shares("m=10,n=10,k=50,fill=special,dtype=f32", ASSAY_ACC_F32)[3], 0u);
}

TEST(GemmBounds, DeclaredArithmeticWidensTheBound) {
  const Problem problem(gemm_op(), gemm_case("m=4,n=4,k=64,dtype=bf16,alpha=1.5"));
  const Reference r = problem.oracle()[0];
  const auto bound = [&](auto change) {
    Contract contract = plain_contract(ASSAY_ACC_F32, 0, 0);
    change(contract.arithmetic);
    return gemm_op().bounds(problem.c, contract, r).e_alg[5];
  };
  const double base = bound([](assay_arithmetic&) {});
  const double terms = r.conditions[gemm::kTerms][5];
  EXPECT_NEAR(base / terms, 66 * 0x1p-24, 0x1p-24);
  EXPECT_NEAR(bound([](auto& a) { a.intermediate = ASSAY_ACC_BF16; }), base + 0x1p-8 * (std::fabs(r.hi[5]) + base),
              0x1p-40);
  EXPECT_NEAR(bound([](auto& a) {
                a.split_k = 4;
                a.partial_type = ASSAY_ACC_F16;
              }) / terms,
              5 * 0x1p-11, 0x1p-15);
  EXPECT_EQ(bound([](auto& a) {
              a.split_k = 4;
              a.partial_type = ASSAY_ACC_F32;
            }),
            base);
  EXPECT_LT(bound([](auto& a) { a.accumulator = ASSAY_ACC_F64; }), base);
  const Problem tiny(gemm_op(), gemm_case("m=4,n=4,k=64,dtype=f32,fill=subnormal"));
  Contract flushing = plain_contract(ASSAY_ACC_F32, 0, 0);
  flushing.arithmetic.flushes_subnormals = 1;
  const Reference products = tiny.oracle()[0];
  EXPECT_LT(gemm_op().bounds(tiny.c, plain_contract(ASSAY_ACC_F32, 0, 0), products).e_alg[5], 0x1p-138);
  EXPECT_GT(gemm_op().bounds(tiny.c, flushing, products).e_alg[5], 0x1p-120);
  // A product that is normal, of a factor that is not: exact but for a kernel that takes that for zero.
  Case c = gemm_case("m=300,n=257,k=1,dtype=bf16,fill=subnormal");
  int64_t lost = 0;
  for (int64_t seed = 1; seed <= 12; ++seed) {
    const Problem one(gemm_op(), c.with({{"seed", std::to_string(seed)}}));
    const Reference products_of_one = one.oracle()[0];
    EXPECT_EQ(run<float>(one, products_of_one, {.flushes = true}).failures, 0) << one.c.id();
    const Bounds bounds = gemm_op().bounds(one.c, flushing, products_of_one);
    for (size_t i = 0; i < products_of_one.hi.size(); ++i) {
      const double hi = std::fabs(products_of_one.hi[i]);
      lost += hi >= 0x1p-126 && hi < 0x1p-120 && bounds.e_alg[i] > hi;
    }
  }
  EXPECT_GT(lost, 0);
  const Problem wide(gemm_op(), gemm_case("m=4,n=4,k=64,dtype=f64"));
  const Reference doubles = wide.oracle()[0];
  const double f64_bound = gemm_op().bounds(wide.c, plain_contract(ASSAY_ACC_F64, 0, 0), doubles).e_alg[5];
  Contract narrow = plain_contract(ASSAY_ACC_F32, 0, 0);
  narrow.arithmetic.intermediate = ASSAY_ACC_F32;
  EXPECT_EQ(gemm_op().bounds(wide.c, narrow, doubles).e_alg[5], f64_bound);
  // A contract that declares less than the op allows is charged as if it declared what the op allows.
  EXPECT_EQ(bound([](auto& a) { a.accumulator = ASSAY_ACC_F16; }), base);
}

Contract in_parts(int32_t parts, int32_t type) {
  Contract contract = plain_contract(ASSAY_ACC_F32, 0, 0);
  contract.arithmetic.split_k = parts;
  contract.arithmetic.partial_type = type;
  return contract;
}

TEST(GemmBounds, PartsAreNoMoreThanTheProducts) {
  const Problem problem(gemm_op(), gemm_case("m=4,n=4,k=2,alpha=1.0001220703125,dtype=bf16"));
  const Reference r = problem.oracle()[0];
  const double terms = r.conditions[gemm::kTerms][5];
  EXPECT_NEAR(gemm_op().bounds(problem.c, in_parts(7, ASSAY_ACC_BF16), r).e_alg[5] / terms, 3 * 0x1p-8, 0x1p-20);
  // In a matrix unit parts that are added in f32 cost their additions alone.
  Contract unit = in_parts(1024, ASSAY_ACC_F32);
  unit.arithmetic.accumulator = ASSAY_ACC_TENSOR;
  unit.arithmetic.tensor_terms = 64;
  unit.arithmetic.tensor_fraction = unit.arithmetic.tensor_precision = 23;
  EXPECT_NEAR(gemm_op().bounds(problem.c, unit, r).e_alg[5] / terms, 4 * 0x1p-23 + 4 * 0x1p-24, 0x1p-40);
}

// As many parts as the op allows do not let factors pass that were cut to the four bits of e4m3.
TEST(GemmBounds, CutFactorsFailUnderTheMostParts) {
  for (const char* fields : {"m=8,n=8,k=7,dtype=bf16,fill=uniform", "m=8,n=8,k=300,dtype=bf16,fill=uniform"}) {
    const Problem problem(gemm_op(), gemm_case(fields));
    const Matrices x(problem);
    const Reference r = problem.oracle()[0];
    const auto product = [&](bool cuts) {
      return [&, cuts](int64_t at) {
        double sum = 0;
        for (int64_t p = 0; p < x.k; ++p) {
          const uint64_t bits = encode(DType::bf16, x.a(0, at / x.n, p));
          sum += decode(DType::bf16, cuts ? bits & 0xfff0 : bits) * x.b(0, p, at % x.n);
        }
        return sum;
      };
    };
    const Contract most = in_parts(7, ASSAY_ACC_BF16);
    ASSERT_EQ(gemm_op().cap_violation(most), "");
    EXPECT_EQ(problem.judge(r, most, product(false)).failures, 0);
    EXPECT_GT(problem.judge(r, most, product(true)).failures, 0) << fields;
  }
  EXPECT_NE(gemm_op().cap_violation(in_parts(8, ASSAY_ACC_BF16)).find("at most 7"), std::string::npos);
  EXPECT_EQ(gemm_op().cap_violation(in_parts(63, ASSAY_ACC_F16)), "");
  EXPECT_NE(gemm_op().cap_violation(in_parts(64, ASSAY_ACC_F16)), "");
  EXPECT_EQ(gemm_op().cap_violation(in_parts(1024, ASSAY_ACC_F32)), "");
}

TEST(GemmBounds, SpecialValuesAmongLargeOnesAreThemselves) {
  const auto failures = [](double special, double got) {
    Problem problem(gemm_op(), gemm_case("m=1,n=1,k=4,dtype=f32,fill=ones"));
    for (int64_t i = 0; i < 3; ++i) problem.put(0, i, -3e38);  // whose sum overflows f32
    problem.put(0, 3, special);
    return problem.judge(problem.oracle()[0], plain_contract(ASSAY_ACC_F32, 0, 0), [=](int64_t) { return got; })
        .failures;
  };
  expect_specials_among_large_ones(failures);
  EXPECT_EQ(failures(1, -INFINITY), 0);
}

TEST(GemmBounds, CapsRefuseTooMuch) {
  const auto violation = [](auto change) {
    Contract contract = plain_contract(ASSAY_ACC_F32, 0, 0);
    change(contract);
    return gemm_op().cap_violation(contract);
  };
  EXPECT_EQ(violation([](Contract&) {}), "");
  EXPECT_NE(violation([](Contract& c) { c.arithmetic.accumulator = ASSAY_ACC_F16; }), "");
  EXPECT_NE(violation([](Contract& c) { c.arithmetic.accumulator = ASSAY_ACC_NONE; }), "");
  EXPECT_NE(violation([](Contract& c) { c.arithmetic.split_k = 4; }), "");
  EXPECT_NE(violation([](Contract& c) { c.arithmetic.split_k = 1 << 20; }), "");
  EXPECT_NE(violation([](Contract& c) { c.arithmetic.intermediate = ASSAY_ACC_I32; }), "");
  EXPECT_NE(violation([](Contract& c) { c.owner = ""; }), "");
}

}  // namespace
}  // namespace assay
