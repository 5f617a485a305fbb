// The oracle of triangular systems: MPFR confirms solution and E_ref; substitutions in any order, with divisions or
// reciprocals, never fail; faulty ones fail on a case of the smoke tier.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <random>

#include "mpfr_value.h"
#include "oracle_problem.h"
#include "oracle_suite.h"
#include "reference/blas_trsm/oracle.h"

namespace assay {
namespace {

using namespace testing;

const Op& trsm() { return registry().named("blas_trsm"); }

enum class Fault {
  none,
  other_triangle,
  ignores_unit,
  always_unit,
  no_conjugation,
  ignores_alpha,
  drops_last,
  half_sums,
};

// The triangular systems T x = alpha b of a case, by what it says of storage; a fault reads them otherwise.
struct Systems {
  explicit Systems(const Case& c, Fault which = Fault::none)
      : problem(trsm(), c),
        complex(c.word("domain") == "complex"),
        left(c.word("side") == "l"),
        n(c.integer(left ? "m" : "n")),
        count(c.integer(left ? "n" : "m")),
        fault(which) {}

  using Number = std::complex<double>;
  Number stored(size_t tensor, int64_t i, int64_t j) const {
    const TensorSpec& spec = problem.specs[tensor];
    const bool by_rows = problem.c.word("order") == "row";
    const int64_t parts = complex ? 2 : 1, line = spec.shape[by_rows ? 1 : 0];
    const int64_t leading = line + problem.c.integer(tensor == 0 ? "pad_a" : "pad_b");
    const int64_t at = (by_rows ? i * leading + j : j * leading + i) * parts;
    const std::byte* data = problem.storage[tensor].data();
    return {load(spec.dtype, data, at), complex ? load(spec.dtype, data, at + 1) : 0};
  }
  bool unit() const {
    if (fault == Fault::always_unit) return true;
    return problem.c.word("diag") == "u" && fault != Fault::ignores_unit;
  }
  bool lower() const {
    const bool of_op = (problem.c.word("uplo") == "l") == (problem.c.word("trans") == "n");
    return (of_op == left) != (fault == Fault::other_triangle);
  }
  Number t(int64_t i, int64_t j) const {
    if (!left) std::swap(i, j);
    const std::string& trans = problem.c.word("trans");
    if (i == j && unit()) return 1;
    const Number x = trans == "n" ? stored(0, i, j) : stored(0, j, i);
    return trans == "c" && fault != Fault::no_conjugation ? std::conj(x) : x;
  }
  Number b(int64_t i, int64_t system) const { return left ? stored(1, i, system) : stored(1, system, i); }
  size_t at(int64_t i, int64_t system) const { return static_cast<size_t>(left ? i * count + system : system * n + i); }
  Number alpha() const {
    return fault == Fault::ignores_alpha ? Number(1) : Number(problem.c.real("alpha"), problem.c.real("alpha_im"));
  }

  Problem problem;
  bool complex, left;
  int64_t n, count;
  Fault fault;
};

// A complex number in many bits.
struct BigNumber {
  Big re, im;
  friend BigNumber operator-(const BigNumber& a, const BigNumber& b) { return {a.re - b.re, a.im - b.im}; }
  friend BigNumber operator*(const BigNumber& a, const BigNumber& b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  friend BigNumber operator/(const BigNumber& a, const BigNumber& b) {
    const Big square = b.re * b.re + b.im * b.im;
    return {(a.re * b.re + a.im * b.im) / square, (a.im * b.re - a.re * b.im) / square};
  }
};
BigNumber big(std::complex<double> x) { return {Big(x.real()), Big(x.imag())}; }

Case random_case(std::mt19937_64& random, bool finite) {
  std::vector<std::pair<std::string, std::string>> given;
  const bool complex = random() % 2 == 0;
  const std::vector<std::string> fills{"normal",    "uniform",  "scaled",  "huge",    "signed_zeros",
                                       "subnormal", "integers", "special", "nan_one", "triangle"};
  const std::vector<std::string> factors{"1", "1", "-1", "0.30000001192092896", "-0.75", "3", "0"};
  const std::vector<std::string> imaginary{"0", "0", "1", "-0.30000001192092896"};
  for (const FieldSpec& field : trsm().fields()) {
    std::string value;
    if (field.name == "m" || field.name == "n") {
      value = std::to_string(random() % (random() % 5 == 0 ? 40 : 9));
    } else if (field.name == "domain") {
      value = complex ? "complex" : "real";
    } else if (field.name == "alpha") {
      value = factors[random() % factors.size()];
    } else if (field.name == "alpha_im") {
      value = complex ? imaginary[random() % imaginary.size()] : "0";
    } else if (field.name.starts_with("pad")) {
      value = std::to_string(random() % 3);
    } else {
      value = field.choices[random() % field.choices.size()];
    }
    given.emplace_back(field.name, value);
  }
  given.emplace_back("fill", fills[random() % (finite ? fills.size() - 3 : fills.size())]);
  given.emplace_back("seed", std::to_string(1 + random() % 100000));
  return trsm().make(given);
}

TEST(BlasTrsmOracle, MpfrConfirmsSolutionAndBound) {
  const uint64_t seed = 4715;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  int64_t elements = 0;
  for (int trial = 0; trial < 250; ++trial) {
    const Case c = random_case(random, true);
    const Systems systems(c);
    if (systems.alpha() == 0.0) continue;
    const Reference r = systems.problem.oracle()[0];
    const size_t parts = systems.complex ? 2 : 1;
    for (int64_t system = 0; system < systems.count; ++system) {
      std::vector<BigNumber> x(static_cast<size_t>(systems.n));
      for (int64_t step = 0; step < systems.n; ++step) {
        const int64_t i = systems.lower() ? step : systems.n - 1 - step;
        BigNumber rest = big(systems.alpha()) * big(systems.b(i, system));
        for (int64_t k = 0; k < step; ++k) {
          const int64_t j = systems.lower() ? k : systems.n - 1 - k;
          rest = rest - big(systems.t(i, j)) * x[static_cast<size_t>(j)];
        }
        BigNumber& own = x[static_cast<size_t>(i)];
        own = rest / big(systems.t(i, i));
        for (size_t part = 0; part < parts; ++part) {
          const size_t at = systems.at(i, system) * parts + part;
          if (!std::isfinite(r.e_ref[at])) continue;
          const Big off = ((part == 0 ? own.re : own.im) - Big(DoubleDouble(r.hi[at], r.lo[at]))).abs();
          ASSERT_FALSE(Big(r.e_ref[at]) < off)
              << c.id() << " element " << at << " off by " << off.value() << ", E_ref " << r.e_ref[at];
          ++elements;
        }
      }
    }
  }
  EXPECT_GT(elements, 10000);
}

Contract contract_of(const Case& c) {
  return plain_contract(c.word("dtype") == "f32" ? ASSAY_ACC_F32 : ASSAY_ACC_F64, 0, 0);
}

TEST(BlasTrsmOracle, OwnErrorIsSmallAgainstTheKernels) {
  for (const char* id : {"blas_trsm:m=40,n=20,dtype=f64", "blas_trsm:m=20,n=40,side=r,domain=complex,dtype=f64"}) {
    const Problem problem(trsm(), registry().parse_case(id));
    const Reference r = problem.oracle()[0];
    const Bounds bounds = trsm().bounds(problem.c, contract_of(problem.c), r);
    for (size_t i = 0; i < r.size(); ++i) EXPECT_LE(r.e_ref[i], 0x1p-10 * bounds.e_alg[i]) << id;
    EXPECT_TRUE(testing::same_bits(problem.oracle(1), problem.oracle(3))) << id;
  }
}

// ---- substitution in the type T ----

struct Manner {
  enum Order { forward, backward, by_columns } order = forward;
  enum Division { plain, reciprocal } division = plain;
  bool real_alpha = false;   // an imaginary part of 0 is not multiplied
  bool skips_zeros = false;  // as the reference BLAS does
  bool fused = false;
  bool annex_g = false;
};

template <class T>
struct Substitution {
  using Number = std::complex<T>;
  const Systems& systems;
  Manner manner;

  static Number of(std::complex<double> x) { return {static_cast<T>(x.real()), static_cast<T>(x.imag())}; }
  Number product(Number a, Number b) const {
    if (!systems.complex) return {a.real() * b.real(), 0};
    if (manner.annex_g) return a * b;
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
  Number less(Number s, Number a, Number b) const {
    if (!manner.fused) return s - product(a, b);
    T re = std::fma(-a.real(), b.real(), s.real());
    if (!systems.complex) return {re, 0};
    re = std::fma(a.imag(), b.imag(), re);
    return {re, std::fma(-a.imag(), b.real(), std::fma(-a.real(), b.imag(), s.imag()))};
  }
  Number reciprocal_of(Number t) const {  // Smith, "Algorithm 116: Complex division", CACM 5(8), 1962
    if (!systems.complex) return {1 / t.real(), 0};
    if (std::fabs(t.real()) >= std::fabs(t.imag())) {
      const T ratio = t.imag() / t.real(), inverse = 1 / (t.real() * (1 + ratio * ratio));
      return {inverse, -ratio * inverse};
    }
    const T ratio = t.real() / t.imag(), inverse = 1 / (t.imag() * (1 + ratio * ratio));
    return {ratio * inverse, -inverse};
  }
  Number quotient(Number s, Number t) const {
    if (systems.unit()) return s;
    if (!systems.complex && manner.division == Manner::plain) return {s.real() / t.real(), 0};
    if (manner.division == Manner::plain) {
      const T square = t.real() * t.real() + t.imag() * t.imag();
      return {(s.real() * t.real() + s.imag() * t.imag()) / square,
              (s.imag() * t.real() - s.real() * t.imag()) / square};
    }
    return product(s, reciprocal_of(t));
  }
  Number scaled(Number b) const {
    const Number alpha = of(systems.alpha());
    if (alpha == Number(0)) return 0;
    if (manner.real_alpha && alpha == Number(1)) return b;
    if (manner.real_alpha && alpha.imag() == 0) return {alpha.real() * b.real(), alpha.real() * b.imag()};
    return product(alpha, b);
  }
  Number narrowed(Number x) const {
    if (systems.fault != Fault::half_sums) return x;
    return {static_cast<T>(round_to(DType::bf16, x.real())), static_cast<T>(round_to(DType::bf16, x.imag()))};
  }

  std::vector<double> outputs() const {
    const int64_t n = systems.n;
    const size_t parts = systems.complex ? 2 : 1;
    std::vector<double> all(static_cast<size_t>(n * systems.count) * parts);
    const bool lower = systems.lower();
    const bool drops = systems.fault == Fault::drops_last;
    for (int64_t system = 0; system < systems.count; ++system) {
      std::vector<Number> x(static_cast<size_t>(n));
      const auto row = [&](int64_t step) { return static_cast<size_t>(lower ? step : n - 1 - step); };
      for (int64_t i = 0; i < n; ++i) x[static_cast<size_t>(i)] = scaled(of(systems.b(i, system)));
      const auto t = [&](size_t i, size_t j) {
        return of(systems.t(static_cast<int64_t>(i), static_cast<int64_t>(j)));
      };
      for (int64_t step = 0; step < n && of(systems.alpha()) != Number(0); ++step) {
        const size_t i = row(step);
        const int64_t terms = step - (drops && step > 0);
        if (manner.order != Manner::by_columns) {
          for (int64_t k = 0; k < terms; ++k) {
            const size_t j = row(manner.order == Manner::forward ? k : terms - 1 - k);
            if (manner.skips_zeros && x[j] == Number(0)) continue;
            x[i] = narrowed(less(x[i], t(i, j), x[j]));
          }
        }
        if (!manner.skips_zeros || x[i] != Number(0)) x[i] = quotient(x[i], t(i, i));
        if (manner.order == Manner::by_columns && (!manner.skips_zeros || x[i] != Number(0))) {
          for (int64_t k = step + 1; k < n - drops; ++k) x[row(k)] = narrowed(less(x[row(k)], t(row(k), i), x[i]));
        }
      }
      for (int64_t i = 0; i < n; ++i) {
        const size_t at = systems.at(i, system) * parts;
        all[at] = x[static_cast<size_t>(i)].real();
        if (systems.complex) all[at + 1] = x[static_cast<size_t>(i)].imag();
      }
    }
    return all;
  }
};

ErrorSummary run(const Systems& systems, const Reference& reference, const Manner& manner) {
  const Problem& p = systems.problem;
  const std::vector<double> got = p.c.word("dtype") == "f32" ? Substitution<float>{systems, manner}.outputs()
                                                             : Substitution<double>{systems, manner}.outputs();
  return judge_output(trsm(), p.c, p.output(reference), reference, contract_of(p.c), got);
}

TEST(BlasTrsmBounds, CorrectSubstitutionsNeverFail) {
  const uint64_t seed = 4716;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  int64_t elements = 0, unclear = 0, vacuous = 0;
  double max_q = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    const Case c = random_case(random, false);
    const Systems systems(c);
    const Reference reference = systems.problem.oracle()[0];
    for (const auto order : {Manner::forward, Manner::backward, Manner::by_columns}) {
      for (const auto division : {Manner::plain, Manner::reciprocal}) {
        const Manner manner{.order = order,
                            .division = division,
                            .real_alpha = random() % 2 == 0,
                            .skips_zeros = random() % 2 == 0,
                            .fused = random() % 2 == 0,
                            .annex_g = random() % 2 == 0};
        const ErrorSummary s = run(systems, reference, manner);
        ASSERT_EQ(s.failures, 0) << c.id() << " order " << order << " division " << division << " real_alpha "
                                 << manner.real_alpha << " skips_zeros " << manner.skips_zeros << " fused "
                                 << manner.fused << ": element " << s.worst_index << " got " << s.worst_got << ", want "
                                 << s.worst_want << " +- " << s.worst_bound;
        elements += s.elements;
        unclear += s.no_evidence;
        vacuous += s.vacuous;
        if (c.word("fill") == "normal") max_q = std::max(max_q, s.max_q);
      }
    }
  }
  std::printf("  %lld elements, %lld no evidence, %lld vacuous, largest |error| / bound %.3f\n",
              static_cast<long long>(elements), static_cast<long long>(unclear), static_cast<long long>(vacuous),
              max_q);
  EXPECT_GT(elements, 200000);
  EXPECT_LT(8 * unclear, elements);
  EXPECT_GT(max_q, 0.1) << "a bound this loose finds little";
}

TEST(BlasTrsmBounds, FaultsFailOnTheSmokeTier) {
  for (const Fault fault : {Fault::none, Fault::other_triangle, Fault::ignores_unit, Fault::always_unit,
                            Fault::no_conjugation, Fault::ignores_alpha, Fault::drops_last, Fault::half_sums}) {
    int64_t failures = 0;
    for (const Case& c : trsm().cases(Tier::smoke)) {
      const Systems systems(c, fault);
      failures += run(systems, systems.problem.oracle()[0], {}).failures;
    }
    EXPECT_EQ(failures > 0, fault != Fault::none) << "fault " << static_cast<int>(fault);
  }
}

TEST(BlasTrsmCases, TiersNestAndProveSomething) {
  const auto smoke = trsm().cases(Tier::smoke), ci = trsm().cases(Tier::ci), nightly = trsm().cases(Tier::nightly);
  EXPECT_GE(smoke.size(), 8u);
  EXPECT_GE(ci.size(), 60u);
  EXPECT_GE(nightly.size(), 2 * ci.size());
  for (const Case& c : smoke) EXPECT_EQ(std::count(ci.begin(), ci.end(), c), 1) << c.id();
  for (const Case& c : ci) EXPECT_EQ(std::count(nightly.begin(), nightly.end(), c), 1) << c.id();
  EXPECT_EQ(testing::mistrusted(trsm(), nightly), std::vector<std::string>{});
}

// From orders on at which no factor bounds the error any more, what nothing is charged for is still exact.
TEST(BlasTrsmOracle, NothingIsChargedForNothing) {
  blas_trsm::Rule rule;
  rule.rounding = std::numeric_limits<double>::infinity();
  std::array<double, blas_trsm::kConditions> k{};
  EXPECT_EQ(rule({}, 0, 0, k.data()).e_alg, 0);
  k[blas_trsm::kWeight] = 1;
  EXPECT_EQ(rule({}, 0, 0, k.data()).e_alg, rule.rounding);
}

}  // namespace
}  // namespace assay
