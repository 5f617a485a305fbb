// The reduce oracle and its bounds: MPFR confirms value and E_ref; correct trees of the declared depth never fail;
// faulty kernels fail on a case of the smoke tier.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "mpfr_value.h"
#include "oracle_problem.h"
#include "oracle_suite.h"
#include "reference/reduce/oracle.h"

namespace assay {
namespace {

using testing::Big;
using testing::plain_contract;
using testing::Problem;

const Op& op() { return testing::registry().named("reduce"); }
Case parse(const std::string& fields) { return testing::registry().parse_case("reduce:" + fields); }

std::vector<double> terms_of(const Problem& p, int64_t at) {
  const int64_t inner = p.c.integer("inner");
  std::vector<double> terms;
  for (int64_t i = 0; i < p.c.integer("n"); ++i) terms.push_back(p.at(0, {at / inner, i, at % inner}));
  return terms;
}

TEST(ReduceOracle, MpfrConfirmsValueAndBound) {
  int64_t exact = 0, rounded = 0;
  for (const char* dtype : {"f64", "f32", "f16", "bf16"}) {
    for (const char* fill : {"normal", "uniform", "cancelling", "scaled", "huge", "subnormal", "signed_zeros",
                             "integers", "ones", "shifted", "special"}) {
      for (const char* shape : {"outer=9,n=101", "outer=3,n=37,inner=5,pad=2", "outer=2,n=1,inner=3", "n=5000"}) {
        const Problem problem(op(), parse("kind=sum," + std::string(shape) + ",dtype=" + dtype + ",fill=" + fill));
        const Reference r = problem.oracle()[0];
        for (size_t at = 0; at < r.size(); ++at) {
          if (!std::isfinite(r.hi[at]) || !std::isfinite(r.e_ref[at])) continue;
          Big sum, magnitude;
          for (const double x : terms_of(problem, static_cast<int64_t>(at))) {
            sum = sum + Big(x);
            magnitude = magnitude + Big(std::fabs(x));
          }
          const Big difference = (sum - Big(DoubleDouble(r.hi[at], r.lo[at]))).abs();
          EXPECT_FALSE(Big(r.e_ref[at]) < difference) << problem.c.id() << " " << at;
          EXPECT_FALSE(Big(r.conditions[reduce::kTerms][at]) < magnitude) << problem.c.id() << " " << at;
          (r.e_ref[at] == 0 ? exact : rounded) += 1;
        }
      }
    }
  }
  EXPECT_GT(exact, 300);
  EXPECT_GT(rounded, 100);
}

TEST(ReduceOracle, SpecialValuesAndEmptySums) {
  const auto value = [](const std::string& fields, auto change) {
    Problem problem(op(), parse(fields));
    change(problem);
    return problem.oracle()[0].hi;
  };
  const auto put = [](Problem& p, int64_t i, double v) { p.put(0, i, v); };
  const auto nothing = [](Problem&) {};
  EXPECT_EQ(value("kind=sum,outer=2,n=0,dtype=f32", nothing), (std::vector<double>{0, 0}));
  EXPECT_EQ(value("kind=max,outer=2,n=0,dtype=f32", nothing), (std::vector<double>{-INFINITY, -INFINITY}));
  EXPECT_EQ(value("kind=max,n=4,dtype=f32,fill=negative", [&](Problem& p) { put(p, 2, -INFINITY); })[0] < 0, true);
  EXPECT_EQ(value("kind=sum,n=4,dtype=f32", [&](Problem& p) { put(p, 1, INFINITY); })[0], INFINITY);
  for (int64_t i = 0; i < 5; ++i) {  // wherever it is
    EXPECT_TRUE(std::isnan(value("kind=max,n=5,dtype=f32", [&](Problem& p) { put(p, i, NAN); })[0])) << i;
    EXPECT_TRUE(std::isnan(value("kind=sum,n=5,dtype=f32", [&](Problem& p) { put(p, i, NAN); })[0])) << i;
  }
  EXPECT_TRUE(std::isnan(value("kind=sum,n=5,dtype=f32", [&](Problem& p) {
    put(p, 0, INFINITY);
    put(p, 4, -INFINITY);
  })[0]));
}

TEST(ReduceOracle, SameBitsForAnyThreadCount) {
  for (const char* fields : {"kind=sum,outer=300,n=1000,dtype=f32", "kind=sum,n=3000,inner=101,pad=3,dtype=f64",
                             "kind=max,outer=30,n=100,inner=101,dtype=bf16"}) {
    const Problem problem(op(), parse(fields));
    const std::vector<Reference> all = problem.oracle(1);
    EXPECT_TRUE(testing::same_bits(all, problem.oracle(2)));
    EXPECT_TRUE(testing::same_bits(all, problem.oracle(3)));
  }
}

// ---- implementations ----

enum class Fault {
  none,
  half_sums,
  bfloat_sums,
  drops_last,
  ignores_pad,
  starts_at_zero,   // a maximum
  swallows_nan,     // std::fmax
  means,            // divides by n
  initial_is_first  // counts the first element twice
};

template <class T>
T tree(const std::vector<T>& terms, size_t begin, size_t end, int& depth) {
  if (end - begin <= 1) {
    depth = 0;
    return begin < end ? terms[begin] : T(0);
  }
  int left = 0, right = 0;
  const size_t middle = (begin + end) / 2;
  const T sum = tree(terms, begin, middle, left) + tree(terms, middle, end, right);
  depth = std::max(left, right) + 1;
  return sum;
}

template <class T>
T settled(T v, Fault fault) {
  if (fault == Fault::half_sums) return static_cast<T>(round_to(DType::f16, v));
  if (fault == Fault::bfloat_sums) return static_cast<T>(round_to(DType::bf16, v));
  return v;
}

template <class T>
double reduced(const Problem& p, int64_t at, Fault fault) {
  std::vector<double> x = terms_of(p, at);
  if (fault == Fault::ignores_pad) {
    const int64_t n = p.c.integer("n"), inner = p.c.integer("inner");
    const TensorSpec& spec = p.specs[0];
    for (int64_t i = 0; i < n; ++i) {
      x[static_cast<size_t>(i)] = load(spec.dtype, p.storage[0].data(), ((at / inner) * n + i) * inner + at % inner);
    }
  }
  if (fault == Fault::drops_last && !x.empty()) x.pop_back();
  if (p.c.word("kind") == "max") {
    double largest = fault == Fault::starts_at_zero ? 0 : -INFINITY;
    for (const double v : x) {
      largest = fault == Fault::swallows_nan ? std::fmax(largest, v) : reduce::larger_of(largest, v);
    }
    return largest;
  }
  T lanes[32] = {};
  for (size_t i = 0; i < x.size(); ++i) lanes[i % 32] = settled(lanes[i % 32] + static_cast<T>(x[i]), fault);
  T sum = fault == Fault::initial_is_first && !x.empty() ? static_cast<T>(x[0]) : T(0);
  for (const T lane : lanes) sum = settled(sum + lane, fault);
  return fault == Fault::means ? sum / static_cast<T>(x.size()) : sum;
}

TEST(ReduceBounds, CorrectTreesOfTheDeclaredDepthNeverFail) {
  const uint64_t seed = 1729;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::vector<std::string> fills{"normal",  "uniform", "cancelling", "scaled",   "huge",    "subnormal",
                                       "shifted", "special", "integers",   "negative", "nan_one", "signed_zeros"};
  int64_t elements = 0, exact = 0;
  for (int i = 0; i < 800; ++i) {
    const std::string dtype = std::vector<std::string>{"f64", "f32", "f16", "bf16"}[random() % 4];
    const Case c = parse("kind=sum,outer=" + std::to_string(1 + random() % 4) +
                         ",n=" + std::to_string(random() % (i % 8 == 0 ? 5000 : 90)) +
                         ",inner=" + std::to_string(1 + random() % 4) + ",dtype=" + dtype +
                         ",fill=" + fills[random() % fills.size()] + ",seed=" + std::to_string(random() % 10000));
    const Problem problem(op(), c);
    const Reference reference = problem.oracle()[0];
    const auto n = static_cast<int32_t>(c.integer("n"));
    int tree_depth = 0;
    tree(std::vector<double>(static_cast<size_t>(n)), 0, static_cast<size_t>(n), tree_depth);
    const auto expect_right = [&](const char* order, const Contract& contract, auto value) {
      const ErrorSummary s = problem.judge(reference, contract, value);
      EXPECT_EQ(s.failures, 0) << c.id() << " " << order << ": element " << s.worst_index << " got " << s.worst_got
                               << ", want " << s.worst_want << " +- " << s.worst_bound;
      elements += s.elements;
      exact += s.exact;
    };
    const auto orders = [&](auto zero, int32_t accumulator) {
      using T = decltype(zero);
      const auto terms = [&](int64_t at) {
        const std::vector<double> x = terms_of(problem, at);
        return std::vector<T>(x.begin(), x.end());
      };
      // Sequential: depth n - 1, declared as 1 n + 0, and as unknown.
      for (const int32_t divisor : {1, 0}) {
        expect_right("sequential", plain_contract(accumulator, divisor, 0), [&](int64_t at) {
          T sum = 0;
          for (const T v : terms(at)) sum += v;
          return static_cast<double>(sum);
        });
      }
      expect_right("reversed", plain_contract(accumulator, 1, 0), [&](int64_t at) {
        const std::vector<T> x = terms(at);
        T sum = 0;
        for (size_t j = x.size(); j-- > 0;) sum += x[j];
        return static_cast<double>(sum);
      });
      expect_right("pairwise", plain_contract(accumulator, 1 << 30, tree_depth), [&](int64_t at) {
        int depth = 0;
        const std::vector<T> x = terms(at);
        return static_cast<double>(tree(x, 0, x.size(), depth));
      });
      expect_right("32 lanes", plain_contract(accumulator, 32, 32),
                   [&](int64_t at) { return reduced<T>(problem, at, Fault::none); });
    };
    if (dtype != "f64") orders(0.0f, ASSAY_ACC_F32);
    orders(0.0, ASSAY_ACC_F64);
  }
  EXPECT_GT(elements, 30000);
  EXPECT_GT(exact, 5000);
}

// A chain of n additions of a kernel that declares a shallow tree: all terms just below half of the last place that a
// growing sum keeps, so that each is lost.
TEST(ReduceBounds, ADeeperTreeThanDeclaredFails) {
  Problem problem(op(), parse("kind=sum,n=4097,dtype=f32,fill=ones"));
  for (int64_t i = 1; i < 4097; ++i) problem.put(0, i, 0x1.fp-25);
  const Reference r = problem.oracle()[0];
  const auto sequential = [&](int64_t at) {
    float sum = 0;
    for (const double v : terms_of(problem, at)) sum += static_cast<float>(v);
    return static_cast<double>(sum);
  };
  EXPECT_EQ(problem.judge(r, plain_contract(ASSAY_ACC_F32, 1, 0), sequential).failures, 0);
  EXPECT_EQ(problem.judge(r, plain_contract(ASSAY_ACC_F32, 32, 16), sequential).failures, 1);
}

TEST(ReduceBounds, FaultsFailOnTheSmokeTier) {
  const auto failures = [](Fault fault) {
    int64_t sum = 0;
    for (const Case& c : op().cases(Tier::smoke)) {
      const Problem problem(op(), c);
      const Reference r = problem.oracle()[0];
      const bool wide = c.word("dtype") == "f64";
      const Contract contract = plain_contract(wide ? ASSAY_ACC_F64 : ASSAY_ACC_F32, 32, 32);
      sum += problem
                 .judge(r, contract,
                        [&](int64_t at) {
                          return wide ? reduced<double>(problem, at, fault) : reduced<float>(problem, at, fault);
                        })
                 .failures;
    }
    return sum;
  };
  EXPECT_EQ(failures(Fault::none), 0);
  for (const Fault fault : {Fault::half_sums, Fault::bfloat_sums, Fault::drops_last, Fault::ignores_pad,
                            Fault::starts_at_zero, Fault::swallows_nan, Fault::means, Fault::initial_is_first}) {
    EXPECT_GT(failures(fault), 0) << "fault " << static_cast<int>(fault) << " is not seen";
  }
}

TEST(ReduceBounds, EvidenceIsWhatTheContractAllows) {
  const auto evidence = [](const std::string& fields, const Contract& contract) {
    const Problem problem(op(), parse(fields));
    const Reference r = problem.oracle()[0];
    const Bounds bounds = op().bounds(problem.c, contract, r);
    return bounds.evidence[0];
  };
  const Contract shallow = plain_contract(ASSAY_ACC_F32, 32, 16);
  EXPECT_EQ(evidence("kind=sum,n=1000,dtype=f32", shallow), Evidence::rigorous);
  EXPECT_EQ(evidence("kind=sum,n=1000,dtype=f32", plain_contract(ASSAY_ACC_F32, 0, 0)), Evidence::weak);
  EXPECT_EQ(evidence("kind=sum,n=1000,dtype=f32,fill=integers", plain_contract(ASSAY_ACC_F32, 0, 0)), Evidence::exact);
  EXPECT_EQ(evidence("kind=max,n=1000,dtype=f32", plain_contract(ASSAY_ACC_F32, 0, 0)), Evidence::exact);
  // A sum that is exact in f64 and passes through f32 on its way to bf16 is rounded twice.
  Contract twice = plain_contract(ASSAY_ACC_F64, 32, 16);
  EXPECT_EQ(evidence("kind=sum,n=1000,dtype=bf16", twice), Evidence::exact);
  twice.arithmetic.intermediate = ASSAY_ACC_F32;
  EXPECT_EQ(evidence("kind=sum,n=1000,dtype=bf16", twice), Evidence::rigorous);
  EXPECT_EQ(evidence("kind=sum,n=1000,dtype=bf16,fill=integers", twice), Evidence::exact);
  Problem large(op(), parse("kind=sum,n=4,dtype=f32"));
  for (int64_t i = 0; i < 4; ++i) large.put(0, i, i % 2 ? -3e38 : 3e38);
  EXPECT_EQ(op().bounds(large.c, shallow, large.oracle()[0]).evidence[0], Evidence::no_evidence);
}

TEST(ReduceBounds, SpecialValuesAmongLargeOnesAreThemselves) {
  const auto failures = [](double special, double got) {
    Problem problem(op(), parse("kind=sum,n=4,dtype=f32"));
    for (int64_t i = 0; i < 4; ++i) problem.put(0, i, -3e38);  // whose sum overflows f32
    problem.put(0, 3, special);
    return problem.judge(problem.oracle()[0], plain_contract(ASSAY_ACC_F32, 32, 16), [=](int64_t) { return got; })
        .failures;
  };
  testing::expect_specials_among_large_ones(failures);
}

TEST(ReduceBounds, CapsRefuseTooMuch) {
  EXPECT_EQ(op().cap_violation(plain_contract(ASSAY_ACC_F32, 32, 16)), "");
  EXPECT_EQ(op().cap_violation(plain_contract(ASSAY_ACC_F32, 0, 0)), "");
  EXPECT_NE(op().cap_violation(plain_contract(ASSAY_ACC_F32, 1, 0)), "");
  EXPECT_NE(op().cap_violation(plain_contract(ASSAY_ACC_F32, 32, 5000)), "");
  EXPECT_NE(op().cap_violation(plain_contract(ASSAY_ACC_F16, 32, 16)), "");
}

TEST(ReduceCases, TiersNestAndAreLargeEnough) { testing::expect_tiers_nest(op(), 190, 2); }

TEST(ReduceCases, OutputsProveSomething) {
  EXPECT_EQ(testing::mistrusted(op(), op().cases(Tier::ci)), std::vector<std::string>{});
}

}  // namespace
}  // namespace assay
