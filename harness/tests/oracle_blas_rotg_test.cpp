// The oracle and bounds of rotg: MPFR confirms values and E_ref; the classic way and the one that scales safely, as
// netlib has had and has them, never fail; faulty ones fail on a case of the smoke tier.
#include <gtest/gtest.h>

#include <complex>
#include <iostream>
#include <random>

#include "mpfr_value.h"
#include "oracle_problem.h"
#include "oracle_suite.h"
#include "reference/blas_rotg/oracle.h"

namespace assay {
namespace {

using testing::Big;
using testing::Problem;

const Op& op() { return testing::registry().named("blas_rotg"); }

enum class Way { classic, safe, in_f64 };
enum class Fault { none, unscaled, positive, z_is_one, c_and_s_swapped, not_conjugated };

template <class T>
struct Rotated {
  T r, z, c, s;
};

// drotg.f of LAPACK 3.9 and drotg.f90 of 3.12.
template <class T>
Rotated<T> rotg(T a, T b, Way way, Fault fault) {
  const T size_a = std::fabs(a), size_b = std::fabs(b);
  const T sign = fault == Fault::positive ? T(1) : std::copysign(T(1), size_a > size_b ? a : b);
  Rotated<T> of{};
  if (way == Way::safe) {
    if (b == 0) return {a, 0, 1, 0};
    if (a == 0) return {b, 1, 0, 1};
    const T least = std::numeric_limits<T>::min(), most = 1 / least;
    const T scale = std::min(most, std::max({least, size_a, size_b}));
    of.r = sign * (scale * std::sqrt((a / scale) * (a / scale) + (b / scale) * (b / scale)));
  } else {
    if (size_a + size_b == 0) return {0, 0, 1, 0};
    if (fault == Fault::unscaled) {
      of.r = sign * std::sqrt(a * a + b * b);
    } else {
      const T scale = size_a + size_b;
      of.r = sign * scale * std::sqrt((a / scale) * (a / scale) + (b / scale) * (b / scale));
    }
  }
  of.c = a / of.r;
  of.s = b / of.r;
  if (fault == Fault::c_and_s_swapped) std::swap(of.c, of.s);
  of.z = size_a > size_b ? of.s : of.c != 0 && fault != Fault::z_is_one ? 1 / of.c : 1;
  return of;
}

template <class T>
struct ComplexRotated {
  std::complex<T> r;
  T c;
  std::complex<T> s;
};

template <class T>
std::complex<T> times(std::complex<T> a, T b) {
  return {a.real() * b, a.imag() * b};
}

// crotg.f of LAPACK 3.9 and crotg.f90 of 3.12, of numbers that need no scaling.
template <class T>
ComplexRotated<T> rotg(std::complex<T> a, std::complex<T> b, Way way, Fault fault) {
  const auto square = [](std::complex<T> v) { return v.real() * v.real() + v.imag() * v.imag(); };
  const std::complex<T> zero;
  const std::complex<T> conjugate = fault == Fault::not_conjugated ? b : std::conj(b);
  if (way == Way::classic) {
    if (std::abs(a) == 0) return {b, 0, {1, 0}};
    const T scale = std::abs(a) + std::abs(b);
    const T norm = scale * std::sqrt(std::pow(std::abs(times(a, 1 / scale)), T(2)) +
                                     std::pow(std::abs(times(b, 1 / scale)), T(2)));
    const std::complex<T> unit = times(a, 1 / std::abs(a));
    return {times(unit, norm), std::abs(a) / norm, times(unit * conjugate, 1 / norm)};
  }
  if (b == zero) return {a, 1, zero};
  if (a == zero) {
    const T size = std::sqrt(square(b));
    return {{size, 0}, 0, times(conjugate, 1 / size)};
  }
  const T f = square(a), h = f + square(b);
  const T c = std::sqrt(f / h);
  const std::complex<T> s = conjugate * times(a, 1 / std::sqrt(f * h));
  return {{a.real() / c, a.imag() / c}, c, s};
}

// Outputs in the order of the op's references.
template <class T>
std::vector<std::vector<double>> outputs(const Problem& p, Way way, Fault fault) {
  std::vector<std::vector<double>> all(4);
  const int64_t n = p.c.integer("n");
  for (int64_t i = 0; i < n; ++i) {
    if (p.c.word("domain") == "complex") {
      const std::complex<T> a(static_cast<T>(p.at(0, 2 * i)), static_cast<T>(p.at(0, 2 * i + 1)));
      const std::complex<T> b(static_cast<T>(p.at(1, 2 * i)), static_cast<T>(p.at(1, 2 * i + 1)));
      const ComplexRotated<T> of = rotg(a, b, way, fault);
      for (const double part : {of.r.real(), of.r.imag()}) all[0].push_back(part);
      all[1].push_back(of.c);
      for (const double part : {of.s.real(), of.s.imag()}) all[2].push_back(part);
    } else {
      const Rotated<T> of = rotg(static_cast<T>(p.at(0, i)), static_cast<T>(p.at(1, i)), way, fault);
      all[0].push_back(of.r);
      all[1].push_back(of.z);
      all[2].push_back(of.c);
      all[3].push_back(of.s);
    }
  }
  return all;
}

int64_t failures_of(const Problem& p, Way way, Fault fault, std::string* first = nullptr) {
  const bool single = p.c.word("dtype") == "f32";
  const Contract contract = testing::plain_contract(single ? ASSAY_ACC_F32 : ASSAY_ACC_F64, 0, 0);
  const auto got = single && way != Way::in_f64 ? outputs<float>(p, way, fault) : outputs<double>(p, way, fault);
  int64_t failures = 0;
  size_t k = 0;
  for (const Reference& r : p.oracle()) {
    const ErrorSummary s = testing::judge_output(op(), p.c, p.output(r), r, contract, got[k++]);
    failures += s.failures;
    if (s.failures > 0 && first != nullptr && first->empty()) {
      *first = s.tensor + "[" + std::to_string(s.worst_index) + "] got " + print_number(s.worst_got) + ", want " +
               print_number(s.worst_want) + " +- " + print_number(s.worst_bound);
    }
  }
  return failures;
}

TEST(RotgOracle, MpfrConfirmsRealRotations) {
  int64_t compared = 0;
  for (const Case& c : op().cases(Tier::nightly)) {
    if (c.word("domain") == "complex") continue;
    const Problem problem(op(), c);
    const std::vector<Reference> all = problem.oracle();
    for (int64_t i = 0; i < c.integer("n"); ++i) {
      const double a = problem.at(0, i), b = problem.at(1, i);
      if (!std::isfinite(a) || !std::isfinite(b) || a == 0 || b == 0) continue;
      Big h = (Big(a) * Big(a) + Big(b) * Big(b)).sqrt();
      if (std::signbit(std::fabs(a) > std::fabs(b) ? a : b)) h = Big() - h;
      const Big want[4] = {h, std::fabs(a) > std::fabs(b) ? Big(b) / h : h / Big(a), Big(a) / h, Big(b) / h};
      for (size_t k = 0; k < 4; ++k) {
        const auto at = static_cast<size_t>(i);
        if (!std::isfinite(all[k].e_ref[at])) continue;
        const Big difference = (want[k] - Big(DoubleDouble(all[k].hi[at], all[k].lo[at]))).abs();
        ASSERT_FALSE(Big(all[k].e_ref[at]) < difference) << c.id() << " " << all[k].tensor << " " << i;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 20000);
}

TEST(RotgOracle, MpfrConfirmsComplexRotations) {
  int64_t compared = 0;
  for (const Case& c : op().cases(Tier::nightly)) {
    if (c.word("domain") != "complex") continue;
    const Problem problem(op(), c);
    const std::vector<Reference> all = problem.oracle();
    for (int64_t i = 0; i < c.integer("n"); ++i) {
      const double ar = problem.at(0, 2 * i), ai = problem.at(0, 2 * i + 1);
      const double br = problem.at(1, 2 * i), bi = problem.at(1, 2 * i + 1);
      const auto at = static_cast<size_t>(i);
      if (!std::isfinite(ar + ai + br + bi) || (ar == 0 && ai == 0) || (br == 0 && bi == 0)) continue;
      if (!std::isfinite(all[1].e_ref[at])) continue;
      const Big a2 = Big(ar) * Big(ar) + Big(ai) * Big(ai), b2 = Big(br) * Big(br) + Big(bi) * Big(bi);
      const Big size = a2.sqrt(), h = (a2 + b2).sqrt();
      const Big want[5] = {Big(ar) * h / size, Big(ai) * h / size, size / h,
                           (Big(ar) * Big(br) + Big(ai) * Big(bi)) / (size * h),
                           (Big(ai) * Big(br) - Big(ar) * Big(bi)) / (size * h)};
      const size_t of[5] = {0, 0, 1, 2, 2}, where[5] = {2 * at, 2 * at + 1, at, 2 * at, 2 * at + 1};
      for (size_t k = 0; k < 5; ++k) {
        const Reference& r = all[of[k]];
        const Big difference = (want[k] - Big(DoubleDouble(r.hi[where[k]], r.lo[where[k]]))).abs();
        ASSERT_FALSE(Big(r.e_ref[where[k]]) < difference) << c.id() << " " << r.tensor << " " << i;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 20000);
}

// The classic way overflows where |a| + |b| does, though r does not: the reference BLAS no longer does, and so it is
// not asked of what the op asks.
bool is_for(const Case& c, Way way) { return way != Way::classic || c.word("fill") != "huge"; }

TEST(RotgBounds, BothWaysNeverFail) {
  const uint64_t seed = 2017;
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 random(seed);
  int64_t judged = 0;
  for (const Case& listed : op().cases(Tier::nightly)) {
    for (int round = 0; round < 3; ++round) {
      const Case c = listed.with({{"seed", std::to_string(random() % 1000000 + 1)}});
      const Problem problem(op(), c);
      for (const Way way : {Way::classic, Way::safe, Way::in_f64}) {
        if (!is_for(c, way)) continue;
        if (way == Way::in_f64 && c.word("dtype") == "f64") continue;
        std::string first;
        ASSERT_EQ(failures_of(problem, way, Fault::none, &first), 0)
            << c.id() << " way " << static_cast<int>(way) << ": " << first;
        judged += c.integer("n");
      }
    }
  }
  EXPECT_GT(judged, 100000);
}

TEST(RotgBounds, FaultsFailOnTheSmokeTier) {
  const auto failures = [](Fault fault) {
    int64_t sum = 0;
    for (const Case& c : op().cases(Tier::smoke)) {
      const Way way = fault == Fault::unscaled ? Way::classic : Way::safe;
      sum += failures_of(Problem(op(), c), way, fault);
    }
    return sum;
  };
  EXPECT_EQ(failures(Fault::none), 0);
  for (const Fault fault :
       {Fault::unscaled, Fault::positive, Fault::z_is_one, Fault::c_and_s_swapped, Fault::not_conjugated}) {
    EXPECT_GT(failures(fault), 0) << "fault " << static_cast<int>(fault) << " is not seen";
  }
}

TEST(RotgCases, TiersNest) {
  const auto smoke = op().cases(Tier::smoke), ci = op().cases(Tier::ci), nightly = op().cases(Tier::nightly);
  EXPECT_GE(ci.size(), 60u);
  EXPECT_GE(nightly.size(), 2 * ci.size());
  for (const Case& c : smoke) EXPECT_EQ(std::count(ci.begin(), ci.end(), c), 1) << c.id();
  for (const Case& c : ci) EXPECT_EQ(std::count(nightly.begin(), nightly.end(), c), 1) << c.id();
  EXPECT_EQ(testing::mistrusted(op(), nightly), std::vector<std::string>{});
}

}  // namespace
}  // namespace assay
