// The gemm oracle and its bounds: MPFR confirms value and E_ref; correct implementations in any order never fail;
// faulty ones fail on a case of the smoke tier.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/error.h"
#include "mpfr_value.h"
#include "oracle_problem.h"
#include "reference/gemm/gemm.h"
#include "reference/gemm/oracle.h"

namespace assay {
namespace {

using testing::Big;
using testing::contract_of;
using testing::Problem;

const OpRegistry& registry() {
  static const OpRegistry kRegistry = make_op_registry();
  return kRegistry;
}
const Op& op() { return registry().named("gemm"); }
Case parse(const std::string& fields) { return registry().parse_case("gemm:" + fields); }

// op(A), op(B) and C by index, whatever the layout.
struct Matrices {
  explicit Matrices(const Problem& p)
      : problem(&p),
        m(p.c.integer("m")),
        n(p.c.integer("n")),
        k(p.c.integer("k")),
        alpha(p.c.real("alpha")),
        beta(p.c.real("beta")),
        ta(p.c.word("ta") == "t"),
        tb(p.c.word("tb") == "t") {}
  double a(int64_t e, int64_t i, int64_t p) const { return ta ? problem->at(0, {e, p, i}) : problem->at(0, {e, i, p}); }
  double b(int64_t e, int64_t p, int64_t j) const { return tb ? problem->at(1, {e, j, p}) : problem->at(1, {e, p, j}); }
  double c(int64_t e, int64_t i, int64_t j) const { return problem->at(2, {e, i, j}); }

  const Problem* problem;
  int64_t m, n, k;
  double alpha, beta;
  bool ta, tb;
};

void expect_exact_value_enclosed(const std::string& fields) {
  SCOPED_TRACE(fields);
  const Problem problem(op(), parse(fields));
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
    const Problem problem(op(), parse("m=20,n=20,k=300,alpha=-0.75,beta=0.5,dtype=" + std::string(dtype)));
    const Reference r = problem.oracle()[0];
    const Bounds bounds = op().bounds(problem.c, contract_of(ASSAY_ACC_F32), r);
    for (size_t i = 0; i < r.size(); ++i) EXPECT_LE(r.e_ref[i], 0x1p-10 * bounds.e_alg[i]) << dtype;
  }
}

TEST(GemmOracle, SameBitsForAnyThreadCountAndInstructionSet) {
  for (const char* dtype : {"f64", "f32", "bf16"}) {
    const Problem problem(op(), parse("m=70,n=150,k=131,tb=t,beta=0.5,dtype=" + std::string(dtype)));
    const Reference one = problem.oracle(1)[0];
    EXPECT_TRUE(testing::same_bits(one, problem.oracle(2)[0]));
    EXPECT_TRUE(testing::same_bits(one, problem.oracle(3)[0]));
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
  const Problem no_products(op(), parse("m=5,n=6,k=7,alpha=0,beta=0.5,dtype=f32"));  // A and B are NaN
  const Problem no_c(op(), parse("m=5,n=6,k=7,dtype=f32"));                          // C is NaN
  const Problem nothing(op(), parse("m=5,n=6,k=7,alpha=0,dtype=f64"));
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
    op().tensors(parse("m=1,n=1,k=1,alpha=0.1,dtype=f32"));
    FAIL() << "accepted";
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("field 'alpha' = 0.1 is not a finite f32 number"), std::string::npos);
  }
  op().tensors(parse("m=1,n=1,k=1,alpha=0.1,dtype=f64"));
}

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
  batch_zero
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
        a = at < t.span_elements() ? load(t.dtype, x.problem->data[0].data(), at) : 0;
      }
      row.push_back(scales_a ? multiply(alpha, static_cast<T>(a)) : static_cast<T>(a));
      column.push_back(static_cast<T>(x.b(from, p, j)));
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
  Contract contract = contract_of(sizeof(T) == 4 ? ASSAY_ACC_F32 : ASSAY_ACC_F64);
  contract.arithmetic.flushes_subnormals = kernel.flushes;
  return problem.judge(reference, contract,
                       [&](int64_t at) { return kernel.element(x, at / (x.m * x.n), at / x.n % x.m, at % x.n); });
}

template <class T>
void expect_correct_orders_pass(const Case& c, int64_t& elements, int64_t& exact) {
  const Problem problem(op(), c);
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
    const Case c = parse("m=" + std::to_string(1 + random() % 5) + ",n=" + std::to_string(1 + random() % 5) +
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
  for (const Case& c : op().cases(Tier::smoke)) {
    if ((sizeof(T) == 8) != (c.word("dtype") == "f64")) continue;
    const Problem problem(op(), c);
    const ErrorSummary s = run<T>(problem, problem.oracle()[0], {.fault = fault});
    if (s.failures > 0 && witness.empty()) witness = c.id();
    failures += s.failures;
  }
  return {failures, witness};
}

TEST(GemmBounds, FaultsFailOnTheSmokeTier) {
  EXPECT_EQ(smoke_failures<float>(Fault::none).first, 0) << smoke_failures<float>(Fault::none).second;
  EXPECT_EQ(smoke_failures<double>(Fault::none).first, 0) << smoke_failures<double>(Fault::none).second;
  for (const Fault fault : {Fault::half_sums, Fault::bfloat_sums, Fault::drops_last_k, Fault::reads_c, Fault::swaps_lda,
                            Fault::ignores_alpha, Fault::truncates, Fault::batch_zero}) {
    const auto [failures, witness] = smoke_failures<float>(fault);
    EXPECT_GT(failures, 0) << "fault " << static_cast<int>(fault) << " is not seen";
  }
  for (const Fault fault : {Fault::drops_last_k, Fault::reads_c}) EXPECT_GT(smoke_failures<double>(fault).first, 0);
}

TEST(GemmBounds, EvidenceIsWhatTheInputsAllow) {
  const auto shares = [](const std::string& fields, int32_t accumulator) {
    const Problem problem(op(), parse(fields));
    const Reference r = problem.oracle()[0];
    const Bounds bounds = op().bounds(problem.c, contract_of(accumulator), r);
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
  const Problem problem(op(), parse("m=4,n=4,k=64,dtype=bf16,alpha=1.5"));
  const Reference r = problem.oracle()[0];
  const auto bound = [&](auto change) {
    Contract contract = contract_of(ASSAY_ACC_F32);
    change(contract.arithmetic);
    return op().bounds(problem.c, contract, r).e_alg[5];
  };
  const double base = bound([](assay_arithmetic&) {});
  const double terms = r.conditions[gemm::kTerms][5];
  EXPECT_NEAR(base / terms, 66 * 0x1p-24, 0x1p-24);
  EXPECT_NEAR(bound([](auto& a) { a.intermediate = ASSAY_ACC_BF16; }) / terms, 0x1p-8, 0x1p-15);
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
  const Problem tiny(op(), parse("m=4,n=4,k=64,dtype=f32,fill=subnormal"));
  Contract flushing = contract_of(ASSAY_ACC_F32);
  flushing.arithmetic.flushes_subnormals = 1;
  const Reference products = tiny.oracle()[0];
  EXPECT_LT(op().bounds(tiny.c, contract_of(ASSAY_ACC_F32), products).e_alg[5], 0x1p-138);
  EXPECT_GT(op().bounds(tiny.c, flushing, products).e_alg[5], 0x1p-120);
  // A contract that declares less than the op allows is charged as if it declared what the op allows.
  EXPECT_EQ(bound([](auto& a) { a.accumulator = ASSAY_ACC_F16; }), base);
}

TEST(GemmBounds, CapsRefuseTooMuch) {
  const auto violation = [](auto change) {
    Contract contract = contract_of(ASSAY_ACC_F32);
    change(contract);
    return op().cap_violation(contract);
  };
  EXPECT_EQ(violation([](Contract&) {}), "");
  EXPECT_NE(violation([](Contract& c) { c.arithmetic.accumulator = ASSAY_ACC_F16; }), "");
  EXPECT_NE(violation([](Contract& c) { c.arithmetic.accumulator = ASSAY_ACC_NONE; }), "");
  EXPECT_NE(violation([](Contract& c) { c.domain = "dtype in f64 f32"; }).find("claims dtype f64"), std::string::npos);
  EXPECT_EQ(violation([](Contract& c) {
              c.domain = "dtype in f64";
              c.arithmetic.accumulator = ASSAY_ACC_F64;
            }),
            "");
  EXPECT_NE(violation([](Contract& c) { c.arithmetic.split_k = 4; }), "");
  EXPECT_NE(violation([](Contract& c) { c.arithmetic.split_k = 1 << 20; }), "");
  EXPECT_NE(violation([](Contract& c) { c.arithmetic.intermediate = ASSAY_ACC_BF16; }).find("claims dtype f32"),
            std::string::npos);
  EXPECT_NE(violation([](Contract& c) { c.owner = ""; }), "");
}

TEST(GemmCases, TiersNestAndAreLargeEnough) {
  const auto ids = [](Tier tier) {
    std::vector<std::string> all;
    for (const Case& c : op().cases(tier)) all.push_back(c.id());
    return all;
  };
  const auto smoke = ids(Tier::smoke), ci = ids(Tier::ci), nightly = ids(Tier::nightly);
  EXPECT_GE(smoke.size(), 25u);
  EXPECT_GE(ci.size(), 250u);
  EXPECT_GE(nightly.size(), 2 * ci.size());
  for (const std::string& id : smoke) EXPECT_EQ(std::count(ci.begin(), ci.end(), id), 1) << id;
  for (const std::string& id : ci) EXPECT_EQ(std::count(nightly.begin(), nightly.end(), id), 1) << id;
  for (const std::string& id : nightly) {
    EXPECT_EQ(registry().parse_case(id).id(), id);
    EXPECT_EQ(op().tensors(registry().parse_case(id)).size(), 3u);
  }
}

// The relations an op declares hold for its own oracle: they are laws, not habits of a kernel.
TEST(GemmCases, DeclaredSensitivitiesChangeTheRoundedResult) {
  int tried = 0;
  for (const Case& c : op().cases(Tier::ci)) {
    if (c.integer("m") * c.integer("n") * c.integer("k") > 50000) continue;
    const Problem base(op(), c);
    const Reference before = base.oracle()[0];
    for (const Sensitivity& s : op().sensitivities(c)) {
      Problem other(op(), s.changed ? *s.changed : c);
      for (size_t t = 0; t < other.specs.size(); ++t) {
        if (other.specs[t].name == s.tensor) fill_tensor(other.specs[t], 991, other.data[t].data());
      }
      const Reference after = other.oracle()[0];
      int64_t differ = 0;
      for (size_t i = 0; i < before.size(); ++i) {
        differ += round_to(before.dtype, before.hi[i]) != round_to(before.dtype, after.hi[i]);
      }
      EXPECT_GT(differ, 0) << c.id() << " " << s.what;
      ++tried;
    }
  }
  EXPECT_GT(tried, 200);
}

TEST(GemmCases, DeclaredRowsAndScalesHoldForTheOracle) {
  for (const char* fields : {"batch=2,m=5,n=6,k=7,ta=t,dtype=f32", "batch=2,m=5,n=6,k=7,tb=t,pad_b=2,dtype=bf16"}) {
    const Case c = parse(fields);
    const Problem base(op(), c);
    const Reference before = base.oracle()[0];
    for (const RowIndependence& law : op().row_independence(c)) {
      Problem other(op(), c);
      const size_t t = law.input == "a" ? 0 : 1;
      const std::vector<int64_t>& shape = other.specs[t].shape;
      for (int64_t i = 0; i < other.specs[t].elements(); ++i) {  // slice 1 of the input turns to NaN
        const int64_t index[3] = {i / (shape[1] * shape[2]), i / shape[2] % shape[1], i % shape[2]};
        if (index[law.input_axis] != 1) continue;
        store_bits(other.specs[t].dtype, other.data[t].data(), offset_of(other.specs[t], i),
                   encode(other.specs[t].dtype, NAN));
      }
      const Reference after = other.oracle()[0];
      for (size_t i = 0; i < before.size(); ++i) {
        const size_t index[3] = {i / 30, i / 6 % 5, i % 6};
        EXPECT_EQ(std::isnan(after.hi[i]), index[law.output_axis] == 1) << fields << " " << law.input << " " << i;
      }
    }
    for (const ScaleRelation& law : op().scale_relations(c)) {
      Problem other(op(), c);
      const size_t t = law.input == "a" ? 0 : 1;
      other.specs[t].fill.scale = 8;
      fill_tensor(other.specs[t], 1, other.data[t].data());
      const Reference after = other.oracle()[0];
      for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after.hi[i], 8 * before.hi[i]);
    }
  }
}

}  // namespace
}  // namespace assay
