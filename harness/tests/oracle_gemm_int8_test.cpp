// The gemm_int8 oracle and its bounds: MPFR confirms value and E_ref; correct requantizations in
// any order never fail; faulty ones fail on a case of the smoke tier.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/error.h"
#include "mpfr_value.h"
#include "oracle_problem.h"
#include "oracle_suite.h"
#include "reference/gemm_int8/gemm_int8.h"
#include "reference/gemm_int8/oracle.h"
#include "scratch.h"

namespace assay {
namespace {

using testing::Big;
using testing::plain_contract;
using testing::Problem;
using namespace gemm_int8;

const Op& op() { return testing::registry().named("gemm_int8"); }
Case parse(const std::string& fields) { return testing::registry().parse_case("gemm_int8:" + fields); }

enum class Fault {
  none,
  drops_last_k,
  wraps,      // no saturation
  truncates,  // toward zero
  half_away,  // ties away from zero
  za_sign,
  zb_ignored,
  zy_ignored,
  one_scale,  // the first of scale_b for every column
  scale_a_ignored,
  scale_y_ignored,
  pairs_in_16_bits,  // as instructions before VNNI add them: saturating
  float_sum,         // loses bits of long sums
  tb_ignored,
};

// Elements by index, whatever the layout, and the exact sum.
struct Matrices {
  explicit Matrices(const Problem& p)
      : problem(&p),
        m(p.c.integer("m")),
        n(p.c.integer("n")),
        k(p.c.integer("k")),
        tb(p.c.word("tb") == "t"),
        channel(p.c.word("scales") == "channel") {}
  int64_t a(int64_t i, int64_t p) const { return static_cast<int64_t>(problem->at(kA, {i, p})); }
  int64_t b(int64_t p, int64_t j, bool turned) const {
    return static_cast<int64_t>(turned ? problem->at(kB, {j, p}) : problem->at(kB, {p, j}));
  }
  double scale_b(int64_t j) const { return problem->at(kScaleB, channel ? j : 0); }

  double sum(int64_t i, int64_t j, Fault fault) const {
    const int64_t za = problem->c.integer("za") * (fault == Fault::za_sign ? -1 : 1);
    const int64_t zb = fault == Fault::zb_ignored ? 0 : problem->c.integer("zb");
    const int64_t depth = fault == Fault::drops_last_k && k > 0 ? k - 1 : k;
    const bool turned = tb != (fault == Fault::tb_ignored && k == n);
    int64_t exact = 0, pair = 0;
    float single = 0;
    for (int64_t p = 0; p < depth; ++p) {
      const int64_t product = (a(i, p) - za) * (b(p, j, turned) - zb);
      single += static_cast<float>(product);
      pair += product;
      if (fault != Fault::pairs_in_16_bits) {
        exact += product;
      } else if (p % 2 == 1 || p + 1 == depth) {
        exact += std::clamp<int64_t>(pair, -32768, 32767);
        pair = 0;
      }
    }
    return fault == Fault::float_sum ? single : static_cast<double>(exact);
  }

  const Problem* problem;
  int64_t m, n, k;
  bool tb, channel;
};

// Correct ways to requantize: the value that is then rounded and saturated.
double requantized(int variant, double sum, double scale_a, double scale_b, double scale_y, double zy) {
  const auto s = static_cast<float>(sum), a = static_cast<float>(scale_a), b = static_cast<float>(scale_b),
             y = static_cast<float>(scale_y), z = static_cast<float>(zy);
  switch (variant) {
    case 0:
      return s * (a * b / y) + z;
    case 1:
      return s * a * b / y + z;
    case 2:
      return std::fmaf(s, a * (b * (1.0f / y)), z);
    case 3:
      return (s * (1.0f / y)) * a * b + z;
    default:
      return sum * (scale_a * scale_b / scale_y) + zy;
  }
}
constexpr int kVariants = 5;

ErrorSummary run(const Problem& problem, const Reference& reference, int variant, Fault fault,
                 int32_t intermediate = ASSAY_ACC_NONE) {
  const Matrices x(problem);
  Contract contract = plain_contract(ASSAY_ACC_I32, 0, 0);
  contract.arithmetic.intermediate = intermediate;
  return problem.judge(reference, contract, [&](int64_t at) {
    const int64_t i = at / x.n, j = at % x.n;
    const double zy = fault == Fault::zy_ignored ? 0 : problem.c.real("zy");
    const double scale_a = fault == Fault::scale_a_ignored ? 1 : problem.at(kScaleA, 0);
    const double scale_y = fault == Fault::scale_y_ignored ? 1 : problem.at(kScaleY, 0);
    const double r =
        requantized(variant, x.sum(i, j, fault), scale_a, x.scale_b(fault == Fault::one_scale ? 0 : j), scale_y, zy);
    if (fault == Fault::truncates) return std::trunc(r);
    if (fault == Fault::half_away) return std::round(r);
    if (fault == Fault::wraps) return static_cast<double>(static_cast<int8_t>(std::llrint(r)));
    return r;
  });
}

TEST(GemmInt8Oracle, MpfrConfirmsValueAndBound) {
  int64_t exact = 0, rounded = 0;
  for (const char* fill : {"normal", "int8_full", "int8_extreme", "integers", "ones", "onehot", "index", "ties"}) {
    for (const char* rest : {"", ",tb=t,scales=channel,za=5,zb=-3,zy=7", ",pad_a=3,pad_b=1,pad_c=5,za=-128,zb=127"}) {
      const Problem problem(op(), parse("m=7,n=9,k=23,fill=" + std::string(fill) + rest));
      const Reference r = problem.oracle()[0];
      const Matrices x(problem);
      for (int64_t at = 0; at < 63; ++at) {
        const auto element = static_cast<size_t>(at);
        const Big scaled = Big(x.sum(at / 9, at % 9, Fault::none)) * Big(problem.at(kScaleA, 0)) *
                           Big(x.scale_b(at % 9)) / Big(problem.at(kScaleY, 0));
        const Big want = scaled + Big(problem.c.real("zy"));
        const Big terms = scaled.abs() + Big(std::fabs(problem.c.real("zy")));
        EXPECT_FALSE(Big(r.e_ref[element]) < (want - Big(r.hi[element])).abs()) << problem.c.id() << " " << at;
        EXPECT_FALSE(Big(r.conditions[kTerms][element]) < terms) << problem.c.id() << " " << at;
        (r.e_ref[element] == 0 ? exact : rounded) += 1;
      }
    }
  }
  EXPECT_GT(exact, 300);
  EXPECT_GT(rounded, 300);
}

TEST(GemmInt8Oracle, SameBitsForAnyThreadCount) {
  const Problem problem(op(), parse("m=70,n=150,k=131,tb=t,scales=channel,za=3,fill=int8_full"));
  const std::vector<Reference> all = problem.oracle(1);
  EXPECT_TRUE(testing::same_bits(all, problem.oracle(2)));
  EXPECT_TRUE(testing::same_bits(all, problem.oracle(3)));
}

TEST(GemmInt8Oracle, RefusesWhatInt32CannotHold) {
  const auto error = [](const std::string& fields) { return message_of([&] { op().tensors(parse(fields)); }); };
  EXPECT_EQ(error("m=1,n=1,k=131071,fill=int8_full"), "no UsageError");
  EXPECT_NE(error("m=1,n=1,k=131072,fill=int8_full").find("give at most 131071"), std::string::npos);
  EXPECT_EQ(error("m=1,n=1,k=33025,za=-128,zb=127,fill=int8_full"), "no UsageError");
  EXPECT_NE(error("m=1,n=1,k=33026,za=-128,zb=127,fill=int8_full").find("give at most 33025"), std::string::npos);
  EXPECT_NE(error("m=1,n=1,k=1,za=128").find("field 'za' = 128 is above 127"), std::string::npos);
  EXPECT_NE(error("m=1,n=1,k=1,fill=special").find("no meaning for int8"), std::string::npos);
  // The longest sums that are allowed are right.
  const Problem longest(op(), parse("m=2,n=2,k=33025,za=-128,zb=127,fill=int8_extreme"));
  const Reference r = longest.oracle()[0];
  EXPECT_EQ(run(longest, r, 4, Fault::none).failures, 0);
}

TEST(GemmInt8Bounds, CorrectKernelsNeverFail) {
  const uint64_t seed = 815;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::vector<std::string> fills{"normal", "int8_full", "int8_extreme", "integers",
                                       "ones",   "index",     "negative",     "ties"};
  int64_t elements = 0, exact = 0;
  for (int i = 0; i < 400; ++i) {
    const auto draw = [&](uint64_t end) { return static_cast<int64_t>(random() % end); };
    const Case c =
        parse("m=" + std::to_string(1 + draw(9)) + ",n=" + std::to_string(1 + draw(9)) +
              ",k=" + std::to_string(draw(i % 8 == 0 ? 3000 : 60)) + ",za=" + std::to_string(draw(256) - 128) +
              ",zb=" + std::to_string(draw(256) - 128) + ",zy=" + std::to_string(draw(256) - 128) +
              (draw(2) ? ",tb=t" : "") + (draw(2) ? ",scales=channel" : "") +
              ",fill=" + fills[static_cast<size_t>(draw(fills.size()))] + ",seed=" + std::to_string(draw(9999)));
    const Problem problem(op(), c);
    const Reference reference = problem.oracle()[0];
    for (int variant = 0; variant < kVariants; ++variant) {
      const ErrorSummary s = run(problem, reference, variant, Fault::none);
      EXPECT_EQ(s.failures, 0) << c.id() << " variant " << variant << ": element " << s.worst_index << " got "
                               << s.worst_got << ", want " << s.worst_want << " +- " << s.worst_bound;
      elements += s.elements;
      exact += s.exact;
    }
  }
  EXPECT_GT(elements, 30000);
  EXPECT_GT(exact, 5000);
}

// Who says f64 is held to it: beside ties, where sums are beyond what a float holds, f32 rounds another way.
TEST(GemmInt8Bounds, TheContractsIntermediateTypeSetsTheBound) {
  for (const char* fields : {"m=2,n=257,k=4100,fill=ties", "m=1,n=65,k=20000,tb=t,zy=-7,fill=ties"}) {
    const Problem problem(op(), parse(fields));
    const Reference reference = problem.oracle()[0];
    for (int variant = 0; variant < kVariants; ++variant) {
      const bool in_f64 = variant == kVariants - 1;
      for (const int32_t said : {ASSAY_ACC_NONE, ASSAY_ACC_F32}) {
        EXPECT_EQ(run(problem, reference, variant, Fault::none, said).failures, 0) << fields << " " << variant;
      }
      const ErrorSummary s = run(problem, reference, variant, Fault::none, ASSAY_ACC_F64);
      EXPECT_EQ(s.exact, s.elements);
      EXPECT_EQ(s.failures > 0, !in_f64) << fields << " variant " << variant << ": " << s.failures;
    }
  }
  const Problem plain(op(), parse("m=7,n=9,k=23,zy=5,fill=int8_full"));  // scales that are no powers of two
  const Reference reference = plain.oracle()[0];
  const ErrorSummary s = run(plain, reference, kVariants - 1, Fault::none, ASSAY_ACC_F64);
  EXPECT_EQ(s.failures, 0);
  EXPECT_EQ(s.exact, 0);
}

TEST(GemmInt8Bounds, FaultsFailOnTheSmokeTier) {
  const auto failures = [](Fault fault) {
    int64_t sum = 0;
    for (const Case& c : op().cases(Tier::smoke)) {
      const Problem problem(op(), c);
      sum += run(problem, problem.oracle()[0], 0, fault).failures;
    }
    return sum;
  };
  EXPECT_EQ(failures(Fault::none), 0);
  for (const Fault fault : {Fault::drops_last_k, Fault::wraps, Fault::truncates, Fault::half_away, Fault::za_sign,
                            Fault::zb_ignored, Fault::zy_ignored, Fault::one_scale, Fault::scale_a_ignored,
                            Fault::scale_y_ignored, Fault::pairs_in_16_bits, Fault::tb_ignored}) {
    EXPECT_GT(failures(fault), 0) << "fault " << static_cast<int>(fault) << " is not seen";
  }
}

TEST(GemmInt8Bounds, CapsRefuseTooMuch) {
  const auto violation = [](auto change) {
    Contract contract = plain_contract(ASSAY_ACC_I32, 0, 0);
    contract.domain = "dtype in i8";
    change(contract.arithmetic);
    return op().cap_violation(contract);
  };
  EXPECT_EQ(violation([](auto&) {}), "");
  EXPECT_NE(violation([](auto& a) { a.accumulator = ASSAY_ACC_F32; }), "");
  EXPECT_NE(violation([](auto& a) { a.intermediate = ASSAY_ACC_F16; }), "");
  EXPECT_NE(violation([](auto& a) { a.split_k = 4; }), "");
}

TEST(GemmInt8Cases, TiersNestAndAreLargeEnough) { testing::expect_tiers_nest(op(), 180, 6); }

TEST(GemmInt8Cases, OutputsProveSomething) {
  EXPECT_EQ(testing::mistrusted(op(), op().cases(Tier::ci)), std::vector<std::string>{});
}

}  // namespace
}  // namespace assay
