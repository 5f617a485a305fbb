// The oracles and bounds of BLAS level 1 and omatcopy: MPFR confirms values and E_ref, naive implementations in several
// orders and by both ways of scaling never fail, faulty ones fail on a case of the smoke tier.
#include <gtest/gtest.h>

#include <iostream>
#include <random>

#include "core/error.h"
#include "mpfr_value.h"
#include "naive_blas.h"
#include "oracle_suite.h"
#include "reference/gemm/oracle.h"

namespace assay {
namespace {

using testing::Big;
using testing::Fault;
using testing::kWays;
using testing::Problem;
using testing::Way;

const std::vector<std::string> kOps{"dot", "nrm2", "asum", "scal", "axpy", "copy", "rot", "iamax", "omatcopy"};

const Op& op_named(const std::string& name) { return testing::registry().named("blas_" + name); }
Case parse(const std::string& id) { return testing::registry().parse_case("blas_" + id); }

int64_t size_of_case(const Problem& p) {
  int64_t most = 0;
  for (const TensorSpec& spec : p.specs) most = std::max(most, spec.elements());
  return most;
}

Contract contract_for(const Case& c, Way way = Way::lanes) {
  const bool wide = c.word("dtype") == "f64" || (c.has("out") && c.word("out") == "f64");
  Contract contract = testing::plain_contract(wide ? ASSAY_ACC_F64 : ASSAY_ACC_F32, 0, 0);
  contract.arithmetic.rescales_online = way == Way::forward ? 1 : 0;
  return contract;
}

// ---- MPFR ----

// The products that element `at` of the output is the sum of, found through the tensors' logical elements alone.
std::vector<std::pair<double, double>> products_of(const Problem& p, size_t tensor, int64_t at) {
  const Case& c = p.c;
  const std::string op = c.op().substr(5);
  const int64_t parts = c.word("domain") == "complex" ? 2 : 1;
  const int64_t i = at / parts, part = at % parts;
  const auto logical = [&](size_t t, int64_t place, int64_t q) { return p.at(t, place * parts + q); };
  const auto turned = [&](const char* inc, int64_t k, int64_t n) {
    const int64_t step = c.integer(inc);
    return step == 0 ? 0 : step < 0 ? n - 1 - k : k;
  };
  std::vector<std::pair<double, double>> all;
  const auto add_complex = [&](double are, double aim, double xre, double xim) {
    all.emplace_back(are, part == 0 ? xre : xim);
    all.emplace_back(part == 0 ? -aim : aim, part == 0 ? xim : xre);
  };
  if (op == "dot" || op == "asum") {
    const int64_t n = c.integer("n");
    if (op == "asum" && c.integer("incx") <= 0) return all;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t in_x = c.integer("incx") == 0 ? i : i * n + turned("incx", k, n);
      if (op == "asum") {
        for (int64_t q = 0; q < parts; ++q) all.emplace_back(1, std::fabs(p.at(0, (at * n + k) * parts + q)));
        continue;
      }
      const int64_t in_y = c.integer("incy") == 0 ? i : i * n + turned("incy", k, n);
      if (parts == 1) {
        all.emplace_back(logical(0, in_x, 0), logical(1, in_y, 0));
      } else {
        add_complex(logical(0, in_x, 0), (c.word("conj") == "y" ? -1 : 1) * logical(0, in_x, 1), logical(1, in_y, 0),
                    logical(1, in_y, 1));
      }
    }
    return all;
  }
  if (op == "omatcopy") {
    const int64_t cols = c.integer("cols"), rows = c.integer("rows");
    const bool flips = c.word("trans") == "t" || c.word("trans") == "c";
    const double sign = c.word("trans") == "r" || c.word("trans") == "c" ? -1 : 1;
    const int64_t from = flips ? i % rows * cols + i / rows : i;
    if (parts == 1) {
      all.emplace_back(c.real("alpha"), p.at(0, from));
    } else {
      add_complex(c.real("alpha"), c.real("alpha_im"), logical(0, from, 0), sign * logical(0, from, 1));
    }
    return all;
  }
  const int64_t n = c.integer("n");
  if (op == "rot") {
    const int64_t k = turned(tensor == 0 ? "incx" : "incy", i, n);  // its own inverse
    const double x = logical(0, turned("incx", k, n), part), y = logical(1, turned("incy", k, n), part);
    all.emplace_back(c.real("c"), tensor == 0 ? x : y);
    all.emplace_back(c.real("s"), tensor == 0 ? y : -x);
    return all;
  }
  const bool adds = op == "axpy";
  if (!adds && c.integer("incx") <= 0) return {{1, logical(0, i, part)}};
  if (adds) all.emplace_back(1, logical(1, i, part));
  if (c.real("alpha") == 0 && c.real("alpha_im") == 0) return all;
  const int64_t from = adds ? turned("incx", turned("incy", i, n), n) : i;
  if (parts == 1) {
    all.emplace_back(c.real("alpha"), logical(0, from, 0));
  } else {
    add_complex(c.real("alpha"), c.real("alpha_im"), logical(0, from, 0), logical(0, from, 1));
  }
  return all;
}

TEST(Blas1Oracle, MpfrConfirmsSumsOfProducts) {
  for (const std::string op : {"dot", "asum", "scal", "axpy", "rot", "omatcopy"}) {
    int64_t exact = 0, rounded = 0;
    for (const Case& c : op_named(op).cases(Tier::nightly)) {
      const Problem problem(op_named(op), c);
      if (size_of_case(problem) > 600) continue;
      for (const Reference& r : problem.oracle()) {
        const size_t tensor = r.tensor == "y" ? 1 : 0;
        for (size_t at = 0; at < r.size(); ++at) {
          if (!std::isfinite(r.hi[at]) || !std::isfinite(r.e_ref[at])) continue;
          if (std::signbit(r.conditions[gemm::kLargest][at])) continue;  // a product left out
          Big sum, magnitude;
          for (const auto& [a, b] : products_of(problem, tensor, static_cast<int64_t>(at))) {
            const Big product = Big(a) * Big(b);
            sum = sum + product;
            magnitude = magnitude + product.abs();
          }
          const Big difference = (sum - Big(DoubleDouble(r.hi[at], r.lo[at]))).abs();
          ASSERT_FALSE(Big(r.e_ref[at]) < difference) << c.id() << " " << r.tensor << " " << at;
          ASSERT_FALSE(Big(r.conditions[gemm::kTerms][at]) < magnitude) << c.id() << " " << at;
          (r.e_ref[at] == 0 ? exact : rounded) += 1;
        }
      }
    }
    EXPECT_GT(exact, 200) << op;
    EXPECT_GT(rounded, 100) << op;
  }
}

TEST(Blas1Oracle, MpfrConfirmsNorms) {
  int64_t compared = 0;
  for (const Case& c : op_named("nrm2").cases(Tier::nightly)) {
    const Problem problem(op_named("nrm2"), c);
    if (size_of_case(problem) > 2000 || c.integer("incx") <= 0 || c.integer("n") == 0) continue;
    const Reference r = problem.oracle()[0];
    const int64_t parts = problem.specs[0].elements() / static_cast<int64_t>(r.size());
    for (size_t at = 0; at < r.size(); ++at) {
      if (!std::isfinite(r.hi[at]) || !std::isfinite(r.e_ref[at])) continue;
      Big squares;
      for (int64_t i = 0; i < parts; ++i) {
        const Big x(problem.at(0, static_cast<int64_t>(at) * parts + i));
        squares = squares + x * x;
      }
      const Big difference = (squares.sqrt() - Big(DoubleDouble(r.hi[at], r.lo[at]))).abs();
      ASSERT_FALSE(Big(r.e_ref[at]) < difference) << c.id() << " " << at;
      ++compared;
    }
  }
  EXPECT_GT(compared, 500);
}

// ---- naive implementations ----

TEST(Blas1Bounds, NaiveImplementationsNeverFail) {
  const uint64_t seed = 1979;
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 random(seed);
  for (const std::string& name : kOps) {
    const Op& op = op_named(name);
    int64_t elements = 0, judged = 0;
    for (const Case& listed : op.cases(Tier::nightly)) {
      for (int round = 0; round < 2; ++round) {
        const Case c = round == 0 ? listed : listed.with({{"seed", std::to_string(random() % 1000000 + 2)}});
        const Problem problem(op, c);
        if (size_of_case(problem) > 3000) continue;
        for (const Way way : kWays) {
          std::string first;
          const int64_t failures =
              testing::naive_failures(problem, way, Fault::none, contract_for(c, way), &first, &elements);
          ASSERT_EQ(failures, 0) << c.id() << " way " << static_cast<int>(way) << ": " << first;
          ++judged;
        }
      }
    }
    std::cout << "  " << name << ": " << judged << " runs, " << elements << " elements\n";
    EXPECT_GT(judged, 1500) << name;
  }
}

int64_t failures_on_smoke(const std::string& name, Fault fault) {
  int64_t failures = 0;
  for (const Case& c : op_named(name).cases(Tier::smoke)) {
    const Problem problem(op_named(name), c);
    if (c.has("n") && c.integer("n") == 0) continue;
    failures += testing::naive_failures(problem, Way::forward, fault, contract_for(c, Way::forward));
  }
  return failures;
}

TEST(Blas1Bounds, FaultsFailOnTheSmokeTier) {
  const std::vector<std::pair<std::string, std::vector<Fault>>> faults{
      {"dot", {Fault::drops_last, Fault::ignores_direction, Fault::ignores_conj, Fault::half_accumulator}},
      {"nrm2", {Fault::drops_last, Fault::skips_imaginary, Fault::unscaled}},
      {"asum", {Fault::drops_last, Fault::skips_imaginary, Fault::half_accumulator}},
      {"scal", {Fault::drops_last, Fault::ignores_alpha, Fault::ignores_alpha_im}},
      {"axpy",
       {Fault::drops_last, Fault::ignores_direction, Fault::ignores_alpha, Fault::ignores_alpha_im,
        Fault::multiplies_by_zero}},
      {"copy", {Fault::drops_last, Fault::ignores_direction, Fault::skips_imaginary}},
      {"rot", {Fault::drops_last, Fault::ignores_direction, Fault::skips_imaginary, Fault::swaps}},
      {"iamax", {Fault::drops_last, Fault::skips_imaginary, Fault::last_of_equal, Fault::signed_largest}},
      {"omatcopy", {Fault::drops_last, Fault::ignores_conj, Fault::ignores_alpha, Fault::swaps}}};
  for (const auto& [name, wrong] : faults) {
    EXPECT_EQ(failures_on_smoke(name, Fault::none), 0) << name;
    for (const Fault fault : wrong) {
      EXPECT_GT(failures_on_smoke(name, fault), 0) << name << ": fault " << static_cast<int>(fault) << " is not seen";
    }
  }
}

TEST(Blas1Cases, TiersNestAndCasesParseBack) {
  for (const std::string& name : kOps) {
    const Op& op = op_named(name);
    const auto smoke = op.cases(Tier::smoke), ci = op.cases(Tier::ci), nightly = op.cases(Tier::nightly);
    EXPECT_GE(smoke.size(), 7u) << name;
    EXPECT_GE(ci.size(), 60u) << name;
    EXPECT_GE(nightly.size(), 2 * ci.size()) << name;
    for (const Case& c : smoke) EXPECT_EQ(std::count(ci.begin(), ci.end(), c), 1) << c.id();
    for (const Case& c : ci) EXPECT_EQ(std::count(nightly.begin(), nightly.end(), c), 1) << c.id();
    for (const Case& c : nightly) EXPECT_EQ(testing::registry().parse_case(c.id()), c) << c.id();
    EXPECT_EQ(testing::mistrusted(op, nightly), std::vector<std::string>{});
  }
}

// ---- what is asked where implementations differ ----

// The evidence of the first output's first element, and what comes of values there.
struct Ruling {
  Evidence evidence = Evidence::exact;
  std::function<bool(double)> allows;
};
Ruling ruling(const std::string& id, const std::function<void(Problem&)>& change, size_t output = 0, int64_t at = 0) {
  const auto problem =
      std::make_shared<Problem>(testing::registry().named("blas_" + id.substr(0, id.find(':'))), parse(id));
  change(*problem);
  const auto reference = std::make_shared<Reference>(problem->oracle()[output]);
  const Contract contract = contract_for(problem->c);
  const Bounds bounds = problem->op->bounds(problem->c, contract, *reference);
  return {bounds.evidence[static_cast<size_t>(at)], [=](double got) {
            std::vector<double> all = reference->hi;
            for (size_t i = 0; i < all.size(); ++i) {
              if (!std::isfinite(all[i]) || !std::isfinite(reference->e_ref[i])) all[i] = std::nan("");
            }
            const auto before = problem->judge(*reference, contract, [&](int64_t i) { return all[size_t(i)]; });
            all[static_cast<size_t>(at)] = got;
            const auto after = problem->judge(*reference, contract, [&](int64_t i) { return all[size_t(i)]; });
            return after.failures <= before.failures && (after.failures == 0 || after.worst_index != at);
          }};
}
const auto kNothing = [](Problem&) {};

TEST(Blas1Semantics, ZeroTimesNanIsNanOrLeftOut) {
  const auto nan_first = [](Problem& p) { p.put(0, 0, NAN); };
  const Ruling scal = ruling("scal:n=1,alpha=0,dtype=f32", nan_first);
  EXPECT_EQ(scal.evidence, Evidence::or_nan);
  EXPECT_TRUE(scal.allows(0) && scal.allows(NAN));
  EXPECT_FALSE(scal.allows(1) || scal.allows(INFINITY));
  const Ruling real_part = ruling("scal:n=1,alpha=2,domain=complex,dtype=f64", nan_first, 0, 0);
  EXPECT_TRUE(real_part.allows(NAN));
  EXPECT_FALSE(real_part.allows(0));
  const Ruling imaginary = ruling(
      "scal:n=1,alpha=2,domain=complex,dtype=f64",
      [](Problem& p) {
        p.put(0, 0, NAN);
        p.put(0, 1, 3);
      },
      0, 1);
  EXPECT_TRUE(imaginary.allows(6) && imaginary.allows(NAN));
  EXPECT_FALSE(imaginary.allows(5));
  EXPECT_FALSE(ruling("scal:n=1,alpha=2,dtype=f64", nan_first).allows(0));
}

TEST(Blas1Semantics, WhatIsNotReadDoesNotCount) {
  EXPECT_EQ(ruling("axpy:n=3,alpha=0,dtype=f32", [](Problem& p) { p.put(0, 0, NAN); }).evidence, Evidence::exact);
  EXPECT_FALSE(ruling("scal:n=3,alpha=2,incx=-1,dtype=f32", [](Problem& p) { p.put(0, 0, 5); }).allows(10));
  EXPECT_TRUE(ruling("scal:n=3,alpha=2,incx=-1,dtype=f32", [](Problem& p) { p.put(0, 0, 5); }).allows(5));
  for (const char* op : {"asum", "nrm2", "iamax"}) {
    for (const char* rest : {":n=0,dtype=f32", ":n=3,incx=-2,dtype=f64", ":n=3,incx=0,domain=complex,dtype=f32"}) {
      EXPECT_TRUE(ruling(std::string(op) + rest, kNothing).allows(0)) << op << rest;
      EXPECT_FALSE(ruling(std::string(op) + rest, kNothing).allows(100)) << op << rest;
    }
  }
}

TEST(Blas1Semantics, NormsOfSpecialValues) {
  const auto with = [](std::vector<double> values) {
    return [values](Problem& p) {
      for (size_t i = 0; i < values.size(); ++i) p.put(0, static_cast<int64_t>(i), values[i]);
    };
  };
  const Ruling one = ruling("nrm2:n=3,dtype=f32", with({1, INFINITY, 2}));
  EXPECT_TRUE(one.allows(INFINITY));
  EXPECT_FALSE(one.allows(NAN) || one.allows(2));
  const Ruling two = ruling("nrm2:n=3,dtype=f32", with({-INFINITY, INFINITY, 2}));
  EXPECT_TRUE(two.allows(INFINITY) && two.allows(NAN));
  EXPECT_FALSE(two.allows(2) || two.allows(-INFINITY));
  EXPECT_FALSE(ruling("nrm2:n=3,dtype=f64", with({NAN, INFINITY, 2})).allows(INFINITY));
  const Ruling large = ruling("nrm2:n=2,dtype=f64", with({3e300, 4e300}));
  EXPECT_TRUE(large.allows(5e300));
  EXPECT_FALSE(large.allows(INFINITY));
  const Ruling backwards = ruling("nrm2:n=2,incx=-1,dtype=f64", with({3, 4}));
  EXPECT_TRUE(backwards.allows(5) && backwards.allows(0));
  EXPECT_FALSE(backwards.allows(6) || backwards.allows(NAN));
  const Ruling small = ruling("nrm2:n=2,dtype=f64", with({3e-300, 4e-300}));
  EXPECT_TRUE(small.allows(5e-300));
  EXPECT_FALSE(small.allows(0));
}

TEST(Blas1Semantics, AnyIndexOfAVectorWithNan) {
  const auto nan_at = [](int64_t i) { return [i](Problem& p) { p.put(0, i, NAN); }; };
  const Ruling ruled = ruling("iamax:n=5,dtype=f32", nan_at(2));
  EXPECT_EQ(ruled.evidence, Evidence::no_evidence);
  EXPECT_TRUE(ruled.allows(0) && ruled.allows(4));
  EXPECT_FALSE(ruled.allows(5) || ruled.allows(-1));
  // Two sums of magnitudes that round to one f32 and differ: by rounding the first, in exact arithmetic the second.
  const Ruling close = ruling("iamax:n=3,domain=complex,dtype=f32", [](Problem& p) {
    for (int64_t i = 0; i < 6; ++i) p.put(0, i, 0);
    p.put(0, 2, 1);
    p.put(0, 4, 1);
    p.put(0, 5, 0x1p-30);
  });
  EXPECT_TRUE(close.allows(1) && close.allows(2));
  EXPECT_FALSE(close.allows(0));
}

TEST(Blas1Semantics, FieldsThatDoNotGoTogetherAreRefused) {
  for (const char* id :
       {"dot:n=3,conj=y,dtype=f32", "dot:n=3,out=f64,dtype=f64", "scal:n=3,alpha_im=1,dtype=f32",
        "scal:n=3,alpha=0.1,dtype=f32", "scal:n=3,by=real,dtype=f32", "axpy:n=3,incy=0,dtype=f32",
        "copy:n=3,incy=0,dtype=f64", "rot:n=3,c=1,s=0,incx=0,dtype=f32", "omatcopy:rows=2,cols=3,trans=c,dtype=f32"}) {
    const Case c = parse(id);
    EXPECT_THROW(testing::registry().named(c.op()).tensors(c), UsageError) << id;
  }
}

}  // namespace
}  // namespace assay
